/**
 * Three turns of a tool loop, for every dialect of callers and of vendors: the vendor gets its thoughts, signatures and
 * ids back as it gave them.
 */
import { expect, test } from 'bun:test'
import {
  type CallerId,
  type ClientView,
  callerIds,
  clients,
  firstRequest,
} from '../../test/dialects/clients.ts'
import {
  callItem,
  messageItem,
  reasoningItem,
  response,
  responseEvents,
} from '../../test/dialects/responses-vendor.ts'
import { billed, closing, context, type SharedDialectId } from '../../test/dialects/steps.ts'
import { testModel } from '../../test/server/harness.ts'
import type { Call } from '../core/call.ts'
import { bodyOf, type JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { codecFor } from './call-codec.ts'
import { decodeChatCall } from './chat/call.ts'
import type { CallCodec } from './codec.ts'
import { decodeCohereCall } from './cohere/call.ts'
import type { VendorTraits } from './dialect.ts'
import { decodeGeminiCall } from './gemini/call.ts'
import { decodeInteractionsCall } from './interactions/call.ts'
import { decodeMessagesCall } from './messages/call.ts'
import { decodeOllamaChat } from './ollama/call.ts'
import { objectsOf } from './request/json-members.ts'
import { decodeResponsesCall } from './responses/call.ts'

const traitsOf: Readonly<Record<SharedDialectId, VendorTraits>> = {
  chat: { outputBound: 'max_tokens', takesStreamOptions: true, reasoningBack: 'needed' },
  messages: { outputBound: 'max_tokens', takesStreamOptions: false, speaks: 'messages' },
  gemini: { outputBound: 'max_tokens', takesStreamOptions: false, speaks: 'gemini' },
  responses: { outputBound: 'max_tokens', takesStreamOptions: false, speaks: 'responses' },
  interactions: { outputBound: 'max_tokens', takesStreamOptions: false, speaks: 'interactions' },
}
const upstreamNames = {
  chat: 'm',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro',
  responses: 'gpt-5.6',
  interactions: 'gemini-3.8-flash',
} as const

const decode = (caller: CallerId, request: JsonObject, stream: boolean): Call => {
  const body = bodyOf(caller === 'gemini' || !stream ? request : { ...request, stream: true })
  const call = {
    chat: () => decodeChatCall(body),
    messages: () => decodeMessagesCall(body),
    gemini: () => decodeGeminiCall(body, { modelName: 'a/b', stream, listed: false }),
    responses: () => decodeResponsesCall(body),
    interactions: () => decodeInteractionsCall(body),
    cohere: () => decodeCohereCall(body),
    ollama: () => decodeOllamaChat(body),
  }[caller]()
  if (call instanceof Refusal) throw new Error(call.message)
  return call
}

const codecOf = (
  caller: CallerId,
  vendor: SharedDialectId,
  request: JsonObject,
  turn: number,
  stream: boolean,
): CallCodec => {
  const codec = codecFor({
    call: decode(caller, request, stream),
    target: {
      model: testModel('m', { upstreamName: upstreamNames[vendor] }),
      quirks: traitsOf[vendor],
      outputBound: undefined,
      stream,
    },
    traits: traitsOf[vendor],
    context: () => context(request, `019aaaaa-0000-7000-8000-00000000000${turn}`),
  })
  if (codec instanceof Refusal) throw new Error(codec.message)
  return codec
}

/** The vendor's answer in each turn, in its own dialect: a thought, a text, two calls of one tool. */
const signed = (turn: number, what: string) => Buffer.from(`${what} ${turn} ~?>`).toString('base64')
const answers: Readonly<
  Record<SharedDialectId, (turn: number) => { whole: JsonObject; events: readonly string[] }>
> = {
  chat: (turn) => {
    const calls = ['x', 'y'].map((city, at) => ({
      index: at,
      id: `call_${turn}_${at}`,
      type: 'function',
      function: { name: 'weather', arguments: JSON.stringify({ city }) },
    }))
    const head = { id: `chatcmpl-${turn}`, created: 1, model: 'm' }
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    return {
      whole: {
        ...head,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: `say ${turn}`,
              reasoning_content: `think ${turn}`,
              tool_calls: calls.map(({ index: _index, ...call }) => call),
            },
            finish_reason: 'tool_calls',
          },
        ],
      },
      events: [
        chunk({ role: 'assistant', content: '' }),
        chunk({ reasoning_content: 'think ' }),
        chunk({ reasoning_content: String(turn) }),
        chunk({ content: `say ${turn}` }),
        ...calls.flatMap(({ function: called, ...call }) => [
          chunk({ tool_calls: [{ ...call, function: { ...called, arguments: '' } }] }),
          chunk({
            tool_calls: [{ index: call.index, function: { arguments: called.arguments.slice(0, 4) } }],
          }),
          chunk({ tool_calls: [{ index: call.index, function: { arguments: called.arguments.slice(4) } }] }),
        ]),
        chunk({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ],
    }
  },
  messages: (turn) => {
    const blocks: JsonObject[] = [
      { type: 'redacted_thinking', data: signed(turn, 'hidden') },
      { type: 'thinking', thinking: `think ${turn}`, signature: signed(turn, 'seen') },
      { type: 'text', text: `say ${turn}` },
      { type: 'tool_use', id: `toolu_${turn}_0`, name: 'weather', input: { city: 'x' } },
      { type: 'tool_use', id: `toolu_${turn}_1`, name: 'weather', input: { city: 'y' } },
    ]
    const event = (value: { type: string; [name: string]: unknown }) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
    const deltas: Record<string, (block: any) => object[]> = {
      redacted_thinking: () => [],
      thinking: ({ thinking, signature }) => [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
      text: ({ text }) => [{ type: 'text_delta', text }],
      tool_use: ({ input }) => [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
    }
    const emptied: Record<string, object> = {
      redacted_thinking: {},
      thinking: { thinking: '', signature: '' },
      text: { text: '' },
      tool_use: { input: {} },
    }
    const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: 'claude' }
    const usage = { input_tokens: 5, output_tokens: 7 }
    return {
      whole: { ...message, content: blocks, stop_reason: 'tool_use', stop_sequence: null, usage },
      events: [
        event({ type: 'message_start', message: { ...message, content: [], usage } }),
        ...blocks.flatMap((block, index) => [
          event({
            type: 'content_block_start',
            index,
            content_block: { ...block, ...emptied[String(block.type)] },
          }),
          ...(deltas[String(block.type)]?.(block) ?? []).map((delta) =>
            event({ type: 'content_block_delta', index, delta }),
          ),
          event({ type: 'content_block_stop', index }),
        ]),
        event({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage }),
        event({ type: 'message_stop' }),
      ],
    }
  },
  gemini: (turn) => {
    const parts = [
      { text: `think ${turn}`, thought: true },
      { text: `say ${turn}` },
      { functionCall: { name: 'weather', args: { city: 'x' } }, thoughtSignature: signed(turn, 'call') },
      { functionCall: { name: 'weather', args: { city: 'y' } } },
    ]
    const head = { modelVersion: 'gemini', responseId: `r${turn}` }
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 }
    const event = (own: readonly object[], more: object = {}) =>
      `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: own }, index: 0, ...more }], usageMetadata, ...head })}\r\n\r\n`
    return {
      whole: {
        candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
        usageMetadata,
        ...head,
      },
      events: [
        ...parts.map((part) => event([part])),
        event([{ text: '', thoughtSignature: signed(turn, 'end') }], { finishReason: 'STOP' }),
      ],
    }
  },
  responses: (turn) => {
    const whole = response([
      reasoningItem('', signed(turn, 'hidden'), `rs_${turn}_0`),
      reasoningItem(`think ${turn}`, signed(turn, 'seen'), `rs_${turn}_1`),
      messageItem(`say ${turn}`, `msg_${turn}`),
      callItem('weather', '{"city":"x"}', `call_${turn}_0`),
      callItem('weather', '{"city":"y"}', `call_${turn}_1`),
    ])
    return { whole: JSON.parse(JSON.stringify(whole)), events: responseEvents(whole) }
  },
  interactions: (turn) => {
    const steps = [
      { type: 'thought', signature: signed(turn, 'hidden') },
      {
        type: 'thought',
        summary: [{ type: 'text', text: `think ${turn}` }],
        signature: signed(turn, 'seen'),
      },
      { type: 'model_output', content: [{ type: 'text', text: `say ${turn}` }] },
      ...['x', 'y'].map((city, at) => ({
        type: 'function_call',
        id: `call_${turn}_${at}`,
        name: 'weather',
        arguments: { city },
      })),
    ]
    // As Google names what it does not store.
    const head = { id: '', object: 'interaction', model: 'gemini-3.8-flash' }
    const say = (event_type: string, more: object) =>
      `event: ${event_type}\ndata: ${JSON.stringify({ event_type, ...more })}\n\n`
    const deltasOf = (step: any): object[] => [
      ...(step.summary ?? []).map((content: object) => ({ type: 'thought_summary', content })),
      ...(step.content ?? []),
      ...(step.signature === undefined ? [] : [{ type: 'thought_signature', signature: step.signature }]),
      ...(step.arguments === undefined
        ? []
        : [
            { type: 'arguments_delta', arguments: JSON.stringify(step.arguments).slice(0, 4) },
            { type: 'arguments_delta', arguments: JSON.stringify(step.arguments).slice(4) },
          ]),
    ]
    return {
      whole: { ...head, status: 'requires_action', steps },
      events: [
        say('interaction.created', { interaction: { ...head, status: 'in_progress' } }),
        say('interaction.status_update', { interaction_id: '', status: 'in_progress' }),
        ...steps.flatMap((step: any, index) => {
          const { type, id, name } = step
          return [
            say('step.start', {
              index,
              step: type === 'function_call' ? { type, id, name, arguments: {} } : { type },
            }),
            ...deltasOf(step).map((delta) => say('step.delta', { index, delta })),
            say('step.stop', { index }),
          ]
        }),
        say('interaction.completed', { interaction: { ...head, status: 'requires_action' } }),
        'event: done\ndata: [DONE]\n\n',
      ],
    }
  },
}

const answeredBy = (
  caller: CallerId,
  vendor: SharedDialectId,
  codec: CallCodec,
  turn: number,
  stream: boolean,
): ClientView => {
  const { whole, events } = answers[vendor](turn)
  const usage = { input: 5, output: 7 }
  if (!stream) {
    const reply = codec.readWhole(bodyOf(whole).bytes)
    if (reply === undefined) throw new Error('not read')
    return clients[caller].whole(JSON.parse(new TextDecoder().decode(reply.addBill({ ...billed, usage }))))
  }
  const relay = codec.relay()
  const out = eventSplitter()
    .feed(new TextEncoder().encode(events.join('')))
    .flatMap((event) => relay.follow(event) ?? [])
  return clients[caller].stream(Buffer.concat([...out, closing(relay.end({ ...billed, usage }))]))
}

type How = {
  readonly streamed: boolean
  /** The caller's dialect has a place for signatures of thoughts. */
  readonly signs: boolean
}

/** What the vendor must find in its next request: its own thoughts, and results under the right calls. */
const checks: Readonly<Record<SharedDialectId, (body: any, turns: number, how: How) => void>> = {
  chat: ({ messages }, turns) => {
    const assistant = messages.filter((one: any) => one.role === 'assistant')
    expect(assistant.map((one: any) => one.reasoning_content)).toEqual(
      Array.from({ length: turns }, (_, turn) => `think ${turn}`),
    )
    const ids = Array.from({ length: turns }, (_, turn) => [`call_${turn}_0`, `call_${turn}_1`]).flat()
    expect(assistant.flatMap((one: any) => one.tool_calls.map((call: any) => call.id))).toEqual(ids)
    const results = messages.filter((one: any) => one.role === 'tool')
    expect(results.map((one: any) => [one.tool_call_id, one.content])).toEqual(
      ids.map((id, at) => [id, `result ${Math.floor(at / 2)} ${at % 2}`]),
    )
  },
  messages: ({ messages }, turns, { signs }) => {
    const assistant = messages.filter((one: any) => one.role === 'assistant')
    for (let turn = 0; turn < turns; turn++) {
      const { whole } = answers.messages(turn)
      const blocks = assistant[turn].content.map(({ citations: _citations, ...block }: any) => block)
      const thought = ({ type }: any) => /thinking/.test(type)
      expect(blocks).toEqual(objectsOf(whole.content as any).filter((block) => signs || !thought(block)))
    }
    const results = messages.flatMap((one: any) =>
      one.role === 'user' && Array.isArray(one.content)
        ? one.content.filter((block: any) => block.type === 'tool_result')
        : [],
    )
    expect(results.map((one: any) => one.tool_use_id)).toEqual(
      Array.from({ length: turns }, (_, turn) => [`toolu_${turn}_0`, `toolu_${turn}_1`]).flat(),
    )
  },
  gemini: ({ contents }, turns, { streamed, signs }) => {
    const said = contents.filter((one: any) => one.role === 'model').flatMap((one: any) => one.parts)
    const calls = said.filter((part: any) => part.functionCall)
    expect(calls.map((part: any) => [part.functionCall.args.city, part.thoughtSignature])).toEqual(
      Array.from({ length: turns }, (_, turn) => [
        ['x', signed(turn, 'call')],
        ['y', undefined],
      ]).flat(),
    )
    const signatures = said.map((part: any) => part.thoughtSignature)
    if (streamed && signs)
      for (let turn = 0; turn < turns; turn++) expect(signatures).toContain(signed(turn, 'end'))
    const results = contents.flatMap((one: any) => one.parts).filter((part: any) => part.functionResponse)
    expect(results.map((part: any) => Object.values(part.functionResponse.response)[0])).toEqual(
      Array.from({ length: turns }, (_, turn) => [`result ${turn} 0`, `result ${turn} 1`]).flat(),
    )
  },
  interactions: ({ input, store }, turns, { signs }) => {
    expect(store).toBe(false)
    const of = (type: string) => input.filter((one: any) => one.type === type)
    const made = Array.from({ length: turns }, (_, turn) => objectsOf(answers.interactions(turn).whole.steps))
    expect(of('thought')).toEqual(made.flat().filter(({ type }) => signs && type === 'thought'))
    const ids = Array.from({ length: turns }, (_, turn) => [`call_${turn}_0`, `call_${turn}_1`]).flat()
    expect(of('function_call').map((one: any) => one.id)).toEqual(ids)
    expect(of('function_result').map((one: any) => [one.call_id, one.name, one.result])).toEqual(
      ids.map((id, at) => [id, 'weather', `result ${Math.floor(at / 2)} ${at % 2}`]),
    )
  },
  responses: ({ input }, turns, { signs }) => {
    const of = (type: string) => input.filter((one: any) => one.type === type)
    const thoughts = Array.from({ length: turns }, (_, turn) =>
      objectsOf(answers.responses(turn).whole.output).filter(({ type }) => type === 'reasoning'),
    ).flat()
    expect(of('reasoning')).toEqual(signs ? thoughts : [])
    const ids = Array.from({ length: turns }, (_, turn) => [`call_${turn}_0`, `call_${turn}_1`]).flat()
    expect(of('function_call').map((one: any) => one.call_id)).toEqual(ids)
    expect(of('function_call_output').map((one: any) => [one.call_id, one.output])).toEqual(
      ids.map((id, at) => [id, `result ${Math.floor(at / 2)} ${at % 2}`]),
    )
  },
}

const ways = callerIds.flatMap((caller) =>
  (['chat', 'messages', 'gemini', 'responses', 'interactions'] as const).flatMap((vendor) =>
    [false, true].map((stream) => ({ caller, vendor, stream })),
  ),
)

test.each(ways)(
  'three turns of $caller to a $vendor vendor, stream $stream',
  ({ caller, vendor, stream }) => {
    let request = firstRequest(caller, 'hi')
    for (let turn = 0; turn < 3; turn++) {
      const codec = codecOf(caller, vendor, request, turn, stream)
      const sent = new TextDecoder().decode(codec.body)
      expect(sent).not.toContain('turnpike.')
      expect(sent).not.toContain('__sig')
      const signs = caller !== 'cohere' && caller !== 'ollama'
      checks[vendor](JSON.parse(sent), turn, { streamed: stream, signs })
      const seen = answeredBy(caller, vendor, codec, turn, stream)
      expect([seen.text, seen.thinking]).toEqual([`say ${turn}`, `think ${turn}`])
      expect(seen.tools.map(({ args }) => args)).toEqual([{ city: 'x' }, { city: 'y' }])
      // Every dialect allows these letters in an id; generate-content to generate-content passes calls without one.
      for (const { id } of seen.tools) expect(id ?? 'none').toMatch(/^[A-Za-z0-9_-]+$/)
      request = clients[caller].next(request, seen, [`result ${turn} 0`, `result ${turn} 1`])
    }
  },
)

test.each(callerIds)(
  '%s: a conversation that moves from vendor to vendor reaches each in its own words',
  (caller) => {
    let request = firstRequest(caller, 'hi')
    for (const [turn, vendor] of (['gemini', 'messages', 'chat', 'gemini', 'messages'] as const).entries()) {
      const codec = codecOf(caller, vendor, request, turn, turn % 2 === 0)
      const sent = new TextDecoder().decode(codec.body)
      expect(sent).not.toContain('turnpike.')
      expect(sent).not.toContain('__sig')
      const own = {
        gemini: [signed(0, 'call')],
        // The small dialects have no place for the signature of a thought.
        messages:
          turn > 1 && caller !== 'cohere' && caller !== 'ollama'
            ? [signed(1, 'seen'), signed(1, 'hidden')]
            : [],
        chat: [],
      }[vendor]
      if (turn > 0) for (const signature of own) expect(sent).toContain(signature)
      const seen = answeredBy(caller, vendor, codec, turn, turn % 2 === 0)
      request = clients[caller].next(request, seen, [`result ${turn} 0`, `result ${turn} 1`])
    }
  },
)
