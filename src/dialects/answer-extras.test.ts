/**
 * What comes beside an answer's text, its sources and its sound: callers whose dialect has a place for it get it,
 * others get its name.
 */
import { expect, test } from 'bun:test'
import {
  type CallerId,
  type ClientView,
  callerIds,
  clients,
  firstRequest,
} from '../../test/dialects/clients.ts'
import { billed, closing, context, type WrittenId } from '../../test/dialects/steps.ts'
import { testModel } from '../../test/server/harness.ts'
import type { Call } from '../core/call.ts'
import { bodyOf } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { codecFor } from './call-codec.ts'
import type { VendorTraits } from './dialect.ts'
import { decodeMessagesCall } from './messages/call.ts'

const formOf = (caller: CallerId, vendor: WrittenId, stream: boolean, listed = false) => {
  const call: Call = {
    kind: 'chat',
    dialect: caller,
    modelName: 'a/b',
    body: bodyOf(firstRequest(caller, 'hi')),
    stream,
    showUsage: true,
    choices: 1,
    size: { textBytes: 1, images: 0, audioBytes: 0 },
    // Callers of the vendor's own dialect are translated for here, too.
    foreign: true,
    listed,
  }
  const traits: VendorTraits = {
    outputBound: 'max_tokens',
    takesStreamOptions: true,
    ...(vendor === 'chat' ? {} : { speaks: vendor }),
  }
  const target = { model: testModel('m'), quirks: traits, outputBound: undefined, stream }
  const codec = codecFor({ call, target, traits, context: () => context() })
  if (codec instanceof Refusal) throw new Error(codec.message)
  return codec
}

type CallerAnswer = {
  readonly caller: CallerId
  readonly seen: ClientView
  readonly notCarried: readonly string[]
}

const whole = (vendor: WrittenId, answer: object): readonly CallerAnswer[] =>
  callerIds.map((caller) => {
    const reply = formOf(caller, vendor, false).readWhole(bodyOf(JSON.parse(JSON.stringify(answer))).bytes)
    if (reply === undefined) throw new Error('not read')
    const written = JSON.parse(new TextDecoder().decode(reply.addBill(billed)))
    return { caller, seen: clients[caller].whole(written), notCarried: reply.notCarried }
  })

const streamText = (
  caller: CallerId,
  vendor: WrittenId,
  events: readonly object[],
  listed = false,
): Uint8Array => {
  const relay = formOf(caller, vendor, true, listed).relay()
  const out = events.map((event) => {
    const data = JSON.stringify(event)
    return relay.follow({ data, bytes: new TextEncoder().encode(data) }) ?? new Uint8Array()
  })
  return Buffer.concat([...out, closing(relay.end(billed))])
}

const streamed = (vendor: WrittenId, events: readonly object[]): readonly CallerAnswer[] =>
  callerIds.map((caller) => {
    const bytes = streamText(caller, vendor, events)
    const pattern =
      caller === 'gemini' || caller === 'ollama' ? /"_not_carried":"(.*?)"/ : /^: x-not-carried: (.*)$/m
    const names = pattern.exec(new TextDecoder().decode(bytes))?.[1]
    return { caller, seen: clients[caller].stream(bytes), notCarried: names?.split(', ') ?? [] }
  })

const text = 'Zürich liegt am 湖. Rome does not.'
const url = 'https://example.com/zh'
const cited = text.slice(0, 17)
const source = { url, title: 'Lake' }

const inMessages = [
  {
    type: 'text',
    text: cited,
    citations: [{ type: 'web_search_result_location', cited_text: 'q', encrypted_index: 'e', ...source }],
  },
  { type: 'text', text: text.slice(17) },
]
const messagesEvents = [
  { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
  ...inMessages.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text.slice(0, 3) } },
    ...(block.citations ?? []).map((citation) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'citations_delta', citation },
    })),
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text.slice(3) } },
    { type: 'content_block_stop', index },
  ]),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
const annotations = [{ type: 'url_citation', url_citation: { ...source, start_index: 0, end_index: 17 } }]
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
})
const message = (more: object, beside: object = {}) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: text, ...more }, finish_reason: 'stop' }],
  ...beside,
})
const grounding = {
  groundingMetadata: {
    groundingChunks: [{ web: { uri: url, title: 'Lake' } }],
    groundingSupports: [
      { segment: { endIndex: Buffer.byteLength(cited), text: cited }, groundingChunkIndices: [0] },
    ],
  },
}
const recitation = {
  citationMetadata: { citationSources: [{ startIndex: 0, endIndex: Buffer.byteLength(cited), uri: url }] },
}
const candidate = (parts: object[], more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
})
const geminiEvents = (more: object) => [
  candidate([{ text: text.slice(0, 9) }], { groundingMetadata: {} }),
  candidate([{ text: text.slice(9) }], { finishReason: 'STOP', ...more }),
]

const cases: readonly (readonly [string, () => readonly CallerAnswer[], string])[] = [
  [
    'messages, whole',
    () => whole('messages', { id: 'm', model: 'm', content: inMessages, stop_reason: 'end_turn' }),
    'Lake',
  ],
  ['messages, streamed', () => streamed('messages', messagesEvents), 'Lake'],
  ['chat, whole', () => whole('chat', message({ annotations })), 'Lake'],
  [
    'chat, streamed',
    () => streamed('chat', [chunk({ content: text }), chunk({ annotations }), chunk({}, 'stop')]),
    'Lake',
  ],
  [
    'gemini grounding, whole',
    () => whole('gemini', candidate([{ text }], { finishReason: 'STOP', ...grounding })),
    'Lake',
  ],
  ['gemini grounding, streamed', () => streamed('gemini', geminiEvents(grounding)), 'Lake'],
  [
    'gemini citation, whole',
    () => whole('gemini', candidate([{ text }], { finishReason: 'STOP', ...recitation })),
    url,
  ],
  ['gemini citation, streamed', () => streamed('gemini', geminiEvents(recitation)), url],
]

test.each(cases)('%s: every caller gets its source', (_what, ask, title) => {
  for (const { caller, seen, notCarried } of ask()) {
    if (caller === 'ollama') {
      expect([seen.text, seen.cited, notCarried]).toEqual([text, [], ['citations']])
      continue
    }
    expect([caller, seen.text, notCarried]).toEqual([caller, text, []])
    expect(seen.cited.map((one) => [one.url, one.title ?? url])).toEqual([[url, title]])
    // Messages put citations on whole blocks of text.
    if (caller !== 'messages') expect([caller, seen.cited[0]?.said]).toEqual([caller, cited])
    else expect(seen.cited[0]?.said.startsWith(cited)).toBe(true)
  }
})

test('sources that a vendor lists beside its answer are sources of all of it, sent once', () => {
  const beside = { citations: [url], search_results: [{ url, title: 'Lake' }] }
  const answers = [
    ...whole('chat', message({}, beside)),
    ...streamed('chat', [chunk({ content: text }, null, beside), chunk({}, 'stop', beside)]),
  ]
  for (const { caller, seen } of answers)
    expect([caller, seen.cited]).toEqual([
      caller,
      caller === 'ollama' ? [] : [{ url, title: 'Lake', said: text }],
    ])
})

test('a source without an address is named as not carried', () => {
  const citations = [{ type: 'char_location', cited_text: 'q', document_index: 0, document_title: 'd' }]
  const block = { type: 'text', text, citations }
  const file = [{ type: 'file_citation', file_citation: { file_id: 'f' } }]
  const chunks = { groundingMetadata: { groundingChunks: [{ retrievedContext: { text: 'q' } }] } }
  const answers = [
    whole('messages', { content: [block], stop_reason: 'end_turn' }),
    streamed(
      'messages',
      messagesEvents.with(1, {
        type: 'content_block_start',
        index: 0,
        content_block: { ...block, text: '' },
      }),
    ),
    whole('chat', message({ annotations: file })),
    streamed('chat', [chunk({ content: text, annotations: file }), chunk({}, 'stop')]),
    whole('gemini', candidate([{ text }], { finishReason: 'STOP', ...chunks })),
    streamed('gemini', geminiEvents(chunks)),
  ]
  for (const { caller, seen, notCarried } of answers.flat())
    expect([caller, seen.text, notCarried]).toEqual([caller, text, ['citations']])
  const location = { documentChar: { documentIndex: 0, start: 0, end: 1 } }
  const content = [{ citationsContent: { content: [{ text }], citations: [{ location }] } }]
  const delta = (contentBlockIndex: number, said: object) => ({
    contentBlockDelta: { contentBlockIndex, delta: said },
  })
  const converse = [
    whole('converse', { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' }),
    streamed('converse', [
      { messageStart: { role: 'assistant' } },
      delta(0, { text }),
      delta(0, { citation: { location } }),
      { messageStop: { stopReason: 'end_turn' } },
      { metadata: { usage: { inputTokens: 1, outputTokens: 1 } } },
    ]),
  ]
  for (const { caller, seen, notCarried } of converse.flat())
    expect([caller, seen.text, notCarried]).toEqual([caller, text, ['citations']])
})

test('sound reaches the callers that know sound, and is named to the others', () => {
  const sound = (data: string) => ({ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data } })
  const answers = [
    ...whole('gemini', candidate([sound('AAAA'), sound('BBBB')], { finishReason: 'STOP' })),
    ...streamed('gemini', [candidate([sound('AAAA')]), candidate([sound('BBBB')], { finishReason: 'STOP' })]),
  ]
  for (const { caller, seen, notCarried } of answers) {
    const knows = !['messages', 'responses', 'cohere', 'ollama'].includes(caller)
    expect([caller, seen.sound, seen.images]).toEqual([caller, knows ? 'AAAABBBB' : '', []])
    expect(notCarried).toEqual(knows ? [] : ['audio'])
  }
})

test('media of other kinds is named, and not passed on as a picture', () => {
  const film = { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }
  const answers = [
    ...whole('gemini', candidate([{ text }, film], { finishReason: 'STOP' })),
    ...streamed('gemini', [candidate([{ text }]), candidate([film], { finishReason: 'STOP' })]),
  ]
  for (const { caller, seen, notCarried } of answers)
    expect([caller, seen.text, seen.images, notCarried]).toEqual([caller, text, [], ['media']])
})

test('a stream as one JSON list has no comments, and stays one', () => {
  const file = [{ type: 'file_citation', file_citation: { file_id: 'f' } }]
  const bytes = streamText(
    'gemini',
    'chat',
    [chunk({ content: text, annotations: file }), chunk({}, 'stop')],
    true,
  )
  expect(JSON.parse(new TextDecoder().decode(bytes)).length).toBe(2)
})

test('a citation that was written here is known again as foreign when it comes back', () => {
  const [, forMessages] = whole('chat', message({ annotations }))
  const request = {
    ...firstRequest('messages', 'hi'),
    messages: [
      { role: 'user', content: 'hi' },
      ...(forMessages?.seen.turn ?? []),
      { role: 'user', content: 'and?' },
    ],
  }
  const call = decodeMessagesCall(bodyOf(request))
  if (call instanceof Refusal) throw new Error(call.message)
  expect(call.foreign).toBe(true)
})
