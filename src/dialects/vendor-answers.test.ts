/** What vendors send although their references do not describe it, as callers of every dialect get it. */
import { expect, test } from 'bun:test'
import { type ClientView, callerIds, clients } from '../../test/dialects/clients.ts'
import {
  callItem,
  messageItem,
  reasoningItem,
  response,
  responseEvents,
} from '../../test/dialects/responses-vendor.ts'
import { billed, closing, context, type SharedDialectId } from '../../test/dialects/steps.ts'
import type { JsonObject } from '../core/json-body.ts'
import type { VendorTraits } from './dialect.ts'
import { callerDialects, vendorDialects } from './index.ts'
import { toolsInOrder } from './translate/tools-in-order.ts'
import { translatedRelay } from './translate/translate-stream.ts'

const traits: VendorTraits = { outputBound: 'max_tokens', takesStreamOptions: true }
let ids = 0

/** What each dialect's client reads from a whole answer. */
const wholeSeen = (vendor: SharedDialectId, answer: object): readonly (readonly [string, ClientView])[] =>
  callerIds.map((caller) => {
    const value: JsonObject = JSON.parse(JSON.stringify(answer))
    const read = vendorDialects[vendor].readReply(value, () => `new_${++ids}`)
    if (read === undefined) throw new Error('not read')
    const written = callerDialects[caller].writeReply(
      { ...read, id: 'id', model: 'm', usage: billed.usage },
      context(),
    )
    return [caller, clients[caller].whole(JSON.parse(JSON.stringify(written)))]
  })

const streamSeen = (
  vendor: SharedDialectId,
  events: readonly object[],
): readonly (readonly [string, ClientView])[] =>
  callerIds.map((caller) => {
    const read = toolsInOrder(vendorDialects[vendor].streamReader(() => `new_${++ids}`, traits))
    const dialect = callerDialects[caller]
    const relay = translatedRelay(read, dialect.streamWriter(context(), false), dialect)
    const out = events.map((event) => {
      const data = JSON.stringify(event)
      return relay.follow({ data, bytes: new TextEncoder().encode(data) }) ?? new Uint8Array()
    })
    const end =
      relay.progress.error === undefined
        ? relay.end(billed)
        : relay.fail({ code: 'upstream_error', message: '' })
    return [caller, clients[caller].stream(Buffer.concat([...out, closing(end)]))]
  })

const chatAnswer = (message: object, finish_reason = 'stop') => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
})
const chatDelta = (delta: object, finish_reason: string | null = null) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})
const toolDelta = (...calls: object[]) => chatDelta({ tool_calls: calls })
const called = (seen: ClientView) => seen.tools.map(({ name, args }) => [name, args])

test('content as a list with thoughts in it', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] },
    { type: 'text', text: 'yes' },
  ]
  for (const [, seen] of wholeSeen('chat', chatAnswer({ content })))
    expect([seen.thinking, seen.text]).toEqual(['hm ', 'yes'])
  const events = [
    chatDelta({ role: 'assistant', content: '' }),
    chatDelta({ content }),
    chatDelta({ content: '!' }, 'stop'),
  ]
  for (const [, seen] of streamSeen('chat', events))
    expect([seen.thinking, seen.text]).toEqual(['hm ', 'yes!'])
})

test('arguments of several calls sent in turns', () => {
  const events = [
    toolDelta({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }),
    toolDelta({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
    toolDelta(
      { index: 1, function: { arguments: '{"y":' } },
      { index: 2, id: 'c', type: 'function', function: { name: 'h', arguments: '' } },
    ),
    toolDelta({ index: 0, function: { arguments: '1}' } }),
    toolDelta({ index: 1, function: { arguments: '2}' } }),
    chatDelta({}, 'tool_calls'),
  ]
  for (const [, seen] of streamSeen('chat', events)) {
    expect(called(seen)).toEqual([
      ['f', { x: 1 }],
      ['g', { y: 2 }],
      ['h', {}],
    ])
    expect(new Set(seen.tools.map(({ id }) => id)).size).toBe(3)
  }
})

test('calls that are all numbered 0, that have no id, that start at 1, and that come whole', () => {
  const call = (index: number, id: string, name: string, text: string) => ({
    index,
    ...(id === '' ? { id } : { id }),
    type: 'function',
    function: { name, arguments: text },
  })
  const shapes = [
    [toolDelta(call(0, 'a', 'f', '{"x":1}')), toolDelta(call(0, 'b', 'g', '{"y":2}'))],
    [toolDelta(call(0, '', 'f', '{"x":1}')), toolDelta(call(0, '', 'g', '{"y":2}'))],
    [toolDelta(call(1, 'a', 'f', '{"x":1}')), toolDelta(call(2, 'b', 'g', '{"y":2}'))],
    [toolDelta(call(0, 'a', 'f', '{"x":1}'), call(1, 'b', 'g', '{"y":2}'))],
    [
      toolDelta(call(0, 'a', 'f', '{"x"')),
      toolDelta({ index: 0, function: { name: '', arguments: ':1}' } }),
      toolDelta(call(1, 'b', 'g', '{"y"')),
      toolDelta({ index: 1, id: '', function: { name: '', arguments: ':2}' } }),
    ],
  ]
  for (const events of shapes)
    for (const [, seen] of streamSeen('chat', [...events, chatDelta({}, 'stop')]))
      expect(called(seen)).toEqual([
        ['f', { x: 1 }],
        ['g', { y: 2 }],
      ])
})

test('an answer that calls a tool ends for it, whatever the vendor says', () => {
  const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }]
  const finishes = {
    chat: 'tool_calls',
    messages: 'tool_use',
    gemini: 'STOP',
    responses: 'completed',
    interactions: 'requires_action',
    cohere: 'TOOL_CALL',
    ollama: 'stop',
  }
  for (const [caller, seen] of wholeSeen('chat', chatAnswer({ content: null, tool_calls }))) {
    expect([caller, seen.finish]).toEqual([caller, finishes[caller as 'chat']])
    expect(called(seen)).toEqual([['f', {}]])
  }
  const older = chatAnswer(
    { content: null, function_call: { name: 'f', arguments: '{"x":1}' } },
    'function_call',
  )
  for (const [, seen] of wholeSeen('chat', older)) expect(called(seen)).toEqual([['f', { x: 1 }]])
})

test('a tool without arguments is an empty object to everyone', () => {
  const block = { type: 'tool_use', id: 't', name: 'f', input: {} }
  const events = [
    { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  for (const [, seen] of streamSeen('messages', events)) expect(called(seen)).toEqual([['f', {}]])
  const whole = events.with(1, {
    type: 'content_block_start',
    index: 0,
    content_block: { ...block, input: { x: 1 } },
  })
  for (const [, seen] of streamSeen('messages', whole)) expect(called(seen)).toEqual([['f', { x: 1 }]])
})

test('a message that starts twice is one; another message within the stream is a fault', () => {
  const start = (id: string) => ({
    type: 'message_start',
    message: { id, model: 'm', usage: { input_tokens: 1 } },
  })
  const rest = [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  for (const [, seen] of streamSeen('messages', [start('a'), start('a'), ...rest]))
    expect(seen.text).toBe('hi')
  for (const [, seen] of streamSeen('messages', [start('a'), ...rest.slice(0, 2), start('b')]))
    expect(seen.error).toBeDefined()
})

test('an end in several events is one: none takes back what another said', () => {
  const events = [
    { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'stop_sequence', stop_sequence: '###' },
      usage: { output_tokens: 4 },
    },
    { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null, container: { id: 'c' } } },
    { type: 'message_stop' },
  ]
  for (const [, seen] of streamSeen('messages', events)) expect(seen.text).toBe('hi')
  const relay = vendorDialects.messages.pass?.relay(traits, false, 'm', () => context())
  if (relay === undefined) throw new Error('no caller speaks it')
  for (const event of events) relay.follow({ data: JSON.stringify(event), bytes: new Uint8Array() })
  expect(relay.usage()).toMatchObject({ input: 7, output: 4 })
  const [end = ''] = relay.end(billed).split('\n\n')
  const { delta, usage } = JSON.parse(Buffer.from(closing(end)).toString().split('data: ')[1] ?? '')
  expect(delta).toEqual({ stop_reason: 'stop_sequence', stop_sequence: '###', container: { id: 'c' } })
  expect(usage).toMatchObject({ input_tokens: 7, output_tokens: 4 })
})

test('blocks of kinds that are not known are passed over', () => {
  const answer = {
    content: [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'a_new_kind', text: 1 },
      { type: 'text', text: 'hi' },
    ],
    stop_reason: 'pause_turn',
  }
  for (const [, seen] of wholeSeen('messages', answer)) expect(seen.text).toBe('hi')
})

test.each(['chat', 'messages', 'gemini', 'responses', 'interactions'] as const)(
  'a thought that is signed and not shown comes back from a client of %s as what it was',
  (dialect) => {
    const shown = {
      type: 'thinking' as const,
      text: '',
      signature: { origin: 'messages' as const, value: 'c2ln' },
    }
    for (const part of [shown, { ...shown, redacted: true as const }]) {
      const reply = { id: 'i', model: 'm', choices: [{ parts: [part], finish: 'stop' as const }] }
      const written = callerDialects[dialect].writeReply({ ...reply, usage: billed.usage }, context())
      const read = vendorDialects[dialect].readReply(JSON.parse(JSON.stringify(written)), () => 'new')
      expect(read?.choices[0]?.parts).toEqual([part])
    }
  },
)

test('pictures reach every caller', () => {
  const inlineData = { mimeType: 'image/png', data: 'AAAA' }
  const answer = {
    candidates: [{ content: { parts: [{ text: 'see' }, { inlineData }] }, finishReason: 'STOP' }],
  }
  for (const [caller, seen] of [...wholeSeen('gemini', answer), ...streamSeen('gemini', [answer])])
    expect([caller, seen.text, seen.images]).toEqual([
      caller,
      'see',
      caller === 'cohere' ? [] : ['data:image/png;base64,AAAA'],
    ])
  const images = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]
  for (const [caller, seen] of [
    ...wholeSeen('chat', chatAnswer({ content: 'see', images })),
    ...streamSeen('chat', [chatDelta({ content: 'see' }), chatDelta({ images }, 'stop')]),
  ])
    expect([seen.text, seen.images]).toEqual([
      'see',
      caller === 'cohere' ? [] : ['data:image/png;base64,AAAA'],
    ])
})

test.each([
  ['MAX_TOKENS', 'length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens'],
  ['SAFETY', 'content_filter', 'refusal', 'SAFETY', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter', 'refusal', 'SAFETY', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter', 'refusal', 'SAFETY', 'content_filter'],
  ['OTHER', 'stop', 'end_turn', 'STOP', 'completed'],
])('a candidate that ends with %s and has no parts', (finishReason, chat, messages, gemini, responses) => {
  const cohere = { stop: 'COMPLETE', length: 'MAX_TOKENS', content_filter: 'ERROR' }[chat]
  const google = chat === 'stop' ? 'completed' : 'incomplete'
  const expected = [chat, messages, gemini, responses, google, cohere, chat]
  const answer = { candidates: [{ content: { role: 'model' }, finishReason }] }
  expect(wholeSeen('gemini', answer).map(([, seen]) => seen.finish)).toEqual(expected)
  expect(streamSeen('gemini', [answer]).map(([, seen]) => seen.finish)).toEqual(expected)
})

test.each([
  ['gemini', { candidates: [{ content: { role: 'model' }, finishReason: 'MALFORMED_FUNCTION_CALL' }] }],
  ['gemini', { candidates: [{ finishReason: 'UNEXPECTED_TOOL_CALL' }] }],
  ['chat', chatAnswer({ content: '' }, 'error')],
  ['chat', chatAnswer({ content: 'hal' }, 'insufficient_system_resource')],
  ['chat', chatAnswer({ content: 'hal' }, 'network_error')],
] as const)('%s: an answer that its vendor says has failed is none', (vendor, answer) => {
  const value: JsonObject = JSON.parse(JSON.stringify(answer))
  expect(vendorDialects[vendor].readReply(value, () => 'new')?.fault).toBeString()
  const event = JSON.stringify(answer).replace('"message"', '"delta"')
  const steps = vendorDialects[vendor].streamReader(() => 'new', traits)(event)
  expect(steps.at(-1)?.type).toBe('error')
})

test('a call of a tool that was not offered is one', () => {
  const parts = [{ functionCall: { name: 'f', args: { x: 1 } } }]
  const answer = { candidates: [{ content: { parts }, finishReason: 'UNEXPECTED_TOOL_CALL' }] }
  for (const [, seen] of [...wholeSeen('gemini', answer), ...streamSeen('gemini', [answer])])
    expect([called(seen), seen.error]).toEqual([[['f', { x: 1 }]], undefined])
})

test.each([
  ['model_length', 'max_tokens'],
  ['model_context_window_exceeded', 'max_tokens'],
  ['sensitive', 'refusal'],
  ['refusal', 'refusal'],
])('an end that only some vendors of chat completions call %s is one that callers know', (reason, finish) => {
  for (const seen of [
    wholeSeen('chat', chatAnswer({ content: 'hal' }, reason)),
    streamSeen('chat', [chatDelta({ content: 'hal' }, reason)]),
  ])
    expect(seen.find(([caller]) => caller === 'messages')?.[1].finish).toBe(finish)
})

test('of an answer of responses that was cut, the last item is incomplete, whole and streamed', () => {
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":' } }
  for (const [reason, expected] of [
    ['length', ['completed', 'incomplete']],
    ['tool_calls', ['completed', 'completed']],
  ] as const) {
    const answer = chatAnswer({ content: 'hi', tool_calls: [call] }, reason)
    const read = vendorDialects.chat.readReply(JSON.parse(JSON.stringify(answer)), () => 'new')
    if (read === undefined) throw new Error('not read')
    const { output }: any = callerDialects.responses.writeReply({ ...read, usage: billed.usage }, context())
    const event = JSON.stringify(answer).replace('"message"', '"delta"')
    const reader = vendorDialects.chat.streamReader(() => 'new', traits)
    const relay = translatedRelay(reader, callerDialects.responses.streamWriter(context(), false))
    const bytes = relay.follow({ data: event, bytes: new Uint8Array() }) ?? new Uint8Array()
    const text = Buffer.concat([bytes, closing(relay.end(billed))]).toString()
    const streamed = text
      .split('\n')
      .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice('data: '.length))] : []))
    const done = streamed.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
    for (const items of [output, done, streamed.at(-1).response.output])
      expect(items.map(({ status }: any) => status)).toEqual(expected)
  }
})

test('two answers to one call, in the dialects that can say so', () => {
  const chunk = (index: number, content: string, finish_reason: string | null = null) => ({
    id: 'c',
    model: 'm',
    choices: [{ index, delta: { content }, finish_reason }],
  })
  const events = [chunk(0, 'a'), chunk(1, 'x'), chunk(0, 'b', 'stop'), chunk(1, 'y', 'length')]
  const read = vendorDialects.chat.streamReader(() => 'new', traits)
  const relay = translatedRelay(read, callerDialects.gemini.streamWriter(context(), true))
  const out = events.map((event) => relay.follow({ data: JSON.stringify(event), bytes: new Uint8Array() }))
  const text = Buffer.concat([
    ...out.map((one) => one ?? new Uint8Array()),
    closing(relay.end(billed)),
  ]).toString()
  const candidates = JSON.parse(text).flatMap((one: any) => one.candidates)
  const said = (index: number) =>
    candidates
      .filter((one: any) => one.index === index)
      .flatMap((one: any) => one.content.parts.map((part: any) => part.text))
      .join('')
  expect([said(0), said(1)]).toEqual(['ab', 'xy'])
  expect(candidates.slice(-2).map((one: any) => one.finishReason)).toEqual(['STOP', 'MAX_TOKENS'])
  for (const [caller, seen] of streamSeen('chat', events)) expect([caller, seen.text]).toEqual([caller, 'ab'])
})

test('probabilities of tokens go both ways', () => {
  const logprobs = {
    content: [
      { token: 'a', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'b', logprob: -1, bytes: null }] },
    ],
  }
  const reply = {
    id: 'i',
    model: 'm',
    choices: [{ parts: [{ type: 'text' as const, text: 'a' }], finish: 'stop' as const, logprobs }],
    usage: billed.usage,
  }
  const value = JSON.parse(JSON.stringify(callerDialects.gemini.writeReply(reply, context())))
  expect(vendorDialects.gemini.readReply(value, () => 'new')?.choices[0]?.logprobs).toEqual(logprobs)
  const [step] = vendorDialects.gemini
    .streamReader(
      () => 'new',
      traits,
    )(JSON.stringify(value))
    .filter(({ type }) => type === 'logprobs')
  expect(step).toEqual({ type: 'logprobs', choice: 0, logprobs })
})

test('responses: thoughts without a summary, two summaries, items nobody asked for, a call without a done', () => {
  const summaries = ['one', 'two'].map((text) => ({ type: 'summary_text', text }))
  const twice = { id: 'rs_2', type: 'reasoning', summary: summaries, encrypted_content: 'gB' }
  const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' }
  const whole = response([reasoningItem('', 'gA'), twice, search, messageItem('hi'), callItem('f', '')])
  const events = responseEvents(whole).map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''))
  for (const [, seen] of [...wholeSeen('responses', whole), ...streamSeen('responses', events)]) {
    expect([seen.thinking, seen.text]).toEqual(['one\n\ntwo', 'hi'])
    expect(called(seen)).toEqual([['f', {}]])
  }
  const read = vendorDialects.responses.readReply(JSON.parse(JSON.stringify(whole)), () => 'new')
  expect(read?.notCarried).toEqual(['web_search_call'])
})

test('responses: places of sources are counted in the whole text', () => {
  const cited = (text: string, at: number) => {
    const annotation = {
      type: 'url_citation',
      url: `https://a.b/${at}`,
      title: 'A',
      start_index: 1,
      end_index: 3,
    }
    const item = messageItem(text, `msg_${at}`)
    return { ...item, content: [{ type: 'output_text', text, annotations: [annotation], logprobs: [] }] }
  }
  const whole = response([cited('abcd', 0), reasoningItem('hm', 'g'), cited('efgh', 1)])
  const events = responseEvents(whole).map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''))
  const quotes = {
    chat: ['bc', 'fg'],
    gemini: ['bc', 'fg'],
    responses: ['bc', 'fg'],
    interactions: ['bc', 'fg'],
    messages: ['abcd', 'efgh'],
    cohere: ['bc', 'fg'],
    ollama: [],
  }
  for (const [caller, seen] of [...wholeSeen('responses', whole), ...streamSeen('responses', events)])
    expect([caller, seen.cited.map(({ said }) => said)]).toEqual([caller, quotes[caller as 'chat']])
})

test.each([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
  ['max_messages', 'length'],
])('responses: an answer that is incomplete for %s', (reason, finish) => {
  const whole = response([messageItem('hi')], { status: 'incomplete', incomplete_details: { reason } })
  const events = responseEvents(whole).map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''))
  for (const seen of [wholeSeen('responses', whole), streamSeen('responses', events)])
    expect(seen.find(([caller]) => caller === 'chat')?.[1].finish).toBe(finish)
})

test('responses: an answer that declines, and a prompt that was refused', () => {
  const refusal = { type: 'refusal', refusal: 'No.' }
  const whole = response([{ ...messageItem(''), content: [refusal] }])
  const events = responseEvents(whole).map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''))
  for (const seen of [wholeSeen('responses', whole), streamSeen('responses', events)])
    expect(seen.find(([caller]) => caller === 'responses')?.[1].refusal).toBe('No.')
  const failed = response([], { status: 'failed', error: { code: 'invalid_prompt', message: 'x' } })
  const value = JSON.parse(JSON.stringify(failed))
  expect(vendorDialects.responses.readReply(value, () => 'new')?.blocked).toBe(true)
  const read = vendorDialects.responses.streamReader(() => 'new', traits)
  expect(read(JSON.stringify({ type: 'response.failed', response: value })).at(-1)).toEqual({
    type: 'blocked',
  })
})
