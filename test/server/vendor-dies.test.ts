/**
 * A vendor that dies at every moment of its answer, in each dialect of vendors, for callers of each dialect. The caller
 * gets an answer or an error of its own dialect, is charged what was delivered, and nothing stays held.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type CallerId, type ClientView, callerIds, clients, firstRequest } from '../dialects/clients.ts'
import { messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import type { SharedDialectId } from '../dialects/steps.ts'
import { until } from '../until.ts'
import { startTestServer, streaming, type TestServer, testModel } from './harness.ts'

const vendorIds = ['chat', 'responses', 'messages', 'gemini', 'interactions'] as const
const words = ['one ', 'two ', 'three'] as const
/** At least one token an event, and one for three characters. */
const tokensOf = [0, 2, 3, 5] as const

/** What each event brings: words are counted; after `finish` the answer is whole; `usage` is the vendor's bill. */
type Brings = 'start' | 'opens' | 'word' | 'finish' | 'usage' | 'end'
type Scripted = { readonly text: string; readonly brings: readonly Brings[] }

const chatChunk = (choices: readonly object[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
const messagesEvent = (value: { type: string; [name: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const interactionsEvent = (event_type: string, more: object = {}) =>
  `event: ${event_type}\ndata: ${JSON.stringify({ event_type, ...more })}\n\n`
const geminiEvent = (text: string, tokens: number, more: object = {}) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: tokens, totalTokenCount: 10 + tokens },
    modelVersion: 'm',
    responseId: 'r1',
  })}\r\n\r\n`

const response3 = response([messageItem('one two three')])
const bringsOf = (event: string): readonly Brings[] => {
  if (event.includes('response.created')) return ['start']
  if (event.includes('output_item.added')) return ['opens']
  if (event.includes('output_text.delta')) return ['word']
  return event.includes('response.completed') ? ['finish', 'usage', 'end'] : []
}

/**
 * Each vendor says the same three words and bills 10 and 5 tokens; messages and gemini report low counts on the way.
 */
const streams: Readonly<Record<SharedDialectId, readonly Scripted[]>> = {
  chat: [
    {
      text: chatChunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
      brings: ['start'],
    },
    ...words.map(
      (content): Scripted => ({
        text: chatChunk([{ index: 0, delta: { content }, finish_reason: null }]),
        brings: ['word'],
      }),
    ),
    { text: chatChunk([{ index: 0, delta: {}, finish_reason: 'stop' }]), brings: ['finish'] },
    {
      text: chatChunk([], { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
      brings: ['usage'],
    },
    { text: 'data: [DONE]\n\n', brings: ['end'] },
  ],
  responses: responseEvents(response3, (text) => text.split(/(?<= )/)).map(
    (text): Scripted => ({ text, brings: bringsOf(text) }),
  ),
  messages: [
    {
      text: messagesEvent({
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          content: [],
          model: 'm',
          stop_reason: null,
          usage: { input_tokens: 10, output_tokens: 1 },
        },
      }),
      brings: ['start'],
    },
    {
      text: messagesEvent({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }),
      brings: ['opens'],
    },
    ...words.map(
      (text): Scripted => ({
        text: messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
        brings: ['word'],
      }),
    ),
    { text: messagesEvent({ type: 'content_block_stop', index: 0 }), brings: [] },
    {
      text: messagesEvent({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      }),
      brings: ['finish', 'usage'],
    },
    { text: messagesEvent({ type: 'message_stop' }), brings: ['end'] },
  ],
  gemini: [
    { text: geminiEvent('one ', 1), brings: ['word'] },
    { text: geminiEvent('two ', 1), brings: ['word'] },
    { text: geminiEvent('three', 5, { finishReason: 'STOP' }), brings: ['word', 'finish', 'usage'] },
  ],
  interactions: [
    {
      text: interactionsEvent('interaction.created', {
        interaction: { id: '', status: 'in_progress', model: 'm' },
      }),
      brings: ['start'],
    },
    {
      text: interactionsEvent('step.start', { index: 0, step: { type: 'model_output' } }),
      brings: ['opens'],
    },
    ...words.map(
      (text): Scripted => ({
        text: interactionsEvent('step.delta', { index: 0, delta: { type: 'text', text } }),
        brings: ['word'],
      }),
    ),
    { text: interactionsEvent('step.stop', { index: 0 }), brings: [] },
    {
      text: interactionsEvent('interaction.completed', {
        interaction: {
          id: '',
          status: 'completed',
          model: 'm',
          usage: { total_input_tokens: 10, total_output_tokens: 5 },
        },
      }),
      brings: ['finish', 'usage', 'end'],
    },
  ],
}

const whole: Readonly<Record<SharedDialectId, object>> = {
  chat: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  },
  responses: response3,
  messages: {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'one two three' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  },
  gemini: {
    candidates: [
      { content: { role: 'model', parts: [{ text: 'one two three' }] }, finishReason: 'STOP', index: 0 },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: 'm',
    responseId: 'r1',
  },
  interactions: {
    id: '',
    object: 'interaction',
    status: 'completed',
    model: 'm',
    steps: [{ type: 'model_output', content: [{ type: 'text', text: 'one two three' }] }],
    usage: { total_input_tokens: 10, total_output_tokens: 5, total_tokens: 15 },
  },
}

const servers = new Map<SharedDialectId, TestServer>()
/** The same, which wait for a silent vendor no longer than a test can; a busy machine must not make others silent. */
const impatient = new Map<SharedDialectId, TestServer>()

beforeAll(async () => {
  for (const speaks of vendorIds) {
    const setup = {
      vendor: { speaks },
      models: [testModel('small', { upstreamName: speaks === 'messages' ? 'claude-sonnet-4-5' : 'small' })],
    }
    servers.set(speaks, await startTestServer(setup))
    const timeouts = { firstByteMs: 5_000, idleMs: 600, totalMs: 60_000 }
    impatient.set(speaks, await startTestServer({ ...setup, options: { timeouts } }))
  }
})

afterAll(async () => {
  for (const server of [...servers.values(), ...impatient.values()]) await server.stop()
})

const requestOf = (caller: CallerId, stream: boolean): { path: string; body: any } => {
  const body = { ...firstRequest(caller, 'count'), model: 'mock/small' }
  const { model: _model, ...gemini } = body
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    chat: {
      path: '/v1/chat/completions',
      body: { ...body, stream, ...(stream ? { stream_options: { include_usage: true } } : {}) },
    },
    messages: { path: '/v1/messages', body: { ...body, stream } },
    gemini: { path: `/v1beta/models/mock/small:${method}`, body: gemini },
    responses: { path: '/v1/responses', body: { ...body, stream } },
    interactions: { path: '/v1beta/interactions', body: { ...body, stream } },
    cohere: { path: '/v2/chat', body: { ...body, stream } },
    ollama: { path: '/api/chat', body: { ...body, stream } },
  }[caller]
}

/** Asks once and returns the outcome, once nothing is held any more. */
const ask = async (server: TestServer, caller: CallerId, stream: boolean) => {
  const { path, body } = requestOf(caller, stream)
  const before = await server.balance()
  const response = await server.post(path, body)
  const bytes = await response.bytes()
  await until(() => server.openCalls() === 0, 1)
  const charged = before - (await server.balance())
  const text = new TextDecoder().decode(bytes)
  const streams =
    response.headers.get('content-type')?.match(/^(?:text\/event-stream|application\/x-ndjson)/) != null
  const seen: ClientView | undefined = streams
    ? clients[caller].stream(bytes)
    : response.status === 200
      ? clients[caller].whole(JSON.parse(text))
      : undefined
  return { status: response.status, text, seen, charged, estimate: inputEstimate(body) }
}

/** The meter's estimate of the input when the vendor has not counted: four bytes a token. */
const inputEstimate = (body: object): number => Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4)

/** An error of the caller's dialect: its code and its type or status. */
const shapeOf = (caller: CallerId, text: string): readonly unknown[] => {
  const { type, error, ...rest } = JSON.parse(text)
  if (caller === 'cohere' || caller === 'ollama') return [type, rest.code, typeof rest.request_id]
  if (caller === 'messages') return [type, error.type, error.code, typeof rest.request_id]
  if (caller === 'gemini') return [error.code, error.status, error.details[0].reason]
  return [error.type, error.code, typeof error.request_id]
}
const down: Readonly<Record<CallerId, readonly unknown[]>> = {
  chat: ['service_unavailable', 'upstream_error', 'string'],
  messages: ['error', 'overloaded_error', 'upstream_error', 'string'],
  gemini: [503, 'UNAVAILABLE', 'upstream_error'],
  responses: ['service_unavailable', 'upstream_error', 'string'],
  interactions: ['service_unavailable', 'upstream_error', 'string'],
  cohere: ['service_unavailable', 'upstream_error', 'string'],
  ollama: ['service_unavailable', 'upstream_error', 'string'],
}

/** An error that the caller sees inside a stream. */
const midStream = (caller: CallerId, error: any): readonly unknown[] =>
  caller === 'messages'
    ? [error.type, error.code]
    : caller === 'gemini'
      ? [error.status, error.details[0].reason]
      : caller === 'cohere'
        ? [error.finish_reason, error.details.code]
        : [error.code]
const broken: Readonly<Record<CallerId, readonly unknown[]>> = {
  chat: ['upstream_error'],
  messages: ['api_error', 'upstream_error'],
  gemini: ['UNAVAILABLE', 'upstream_error'],
  responses: ['upstream_error'],
  interactions: ['upstream_error'],
  cohere: ['ERROR', 'upstream_error'],
  ollama: ['upstream_error'],
}

const pairs = vendorIds.flatMap((vendor) => callerIds.map((caller) => ({ vendor, caller })))
const serverOf = (vendor: SharedDialectId, all = servers): TestServer => {
  const server = all.get(vendor)
  if (server === undefined) throw new Error('no server')
  return server
}

type Death = { readonly how: 'close' | 'break'; readonly events: number; readonly half: boolean }

const deathsOf = (vendor: SharedDialectId): readonly Death[] =>
  Array.from({ length: streams[vendor].length + 1 }, (_, events) => events).flatMap((events) =>
    (['close', 'break'] as const).flatMap((how) =>
      [false, true]
        .filter((half) => !half || events < streams[vendor].length)
        .map((half) => ({ how, events, half })),
    ),
  )

test.each(pairs)('a $vendor vendor dies in mid-stream, $caller caller', async ({ vendor, caller }) => {
  const server = serverOf(vendor)
  for (const death of deathsOf(vendor)) {
    const script = streams[vendor]
    const sent = script.slice(0, death.events)
    const next = script[death.events]?.text ?? ''
    const pieces = [...sent.map(({ text }) => text), ...(death.half ? [next.slice(0, next.length / 2)] : [])]
    server.answerWith(() => streaming(pieces, death.how))
    const got = await ask(server, caller, true)
    const brought = sent.flatMap(({ brings }) => brings)
    const said = brought.filter((one) => one === 'word').length
    const label = JSON.stringify({ death, ...got, seen: undefined, charged: String(got.charged) })
    const input = vendor === 'messages' || vendor === 'gemini' ? 10 : got.estimate
    if (brought.includes('finish')) {
      expect([got.status, got.seen?.text, got.seen?.error, got.seen?.ended, label]).toEqual([
        200,
        'one two three',
        undefined,
        true,
        label,
      ])
      const billed = brought.includes('usage') ? 60_000 : input * 1_000 + 50_000
      expect([got.charged, label]).toEqual([BigInt(billed), label])
    } else if (said > 0) {
      expect([got.status, got.seen?.text, got.seen?.ended, label]).toEqual([
        200,
        words.slice(0, said).join(''),
        false,
        label,
      ])
      expect(midStream(caller, got.seen?.error)).toEqual(broken[caller])
      const billed = input * 1_000 + (tokensOf[said] ?? 0) * 10_000
      expect([got.charged, label]).toEqual([BigInt(billed), label])
    } else {
      expect([got.charged, label]).toEqual([0n, label])
      if (got.status === 200) expect(midStream(caller, got.seen?.error)).toEqual(broken[caller])
      else expect([got.status, ...shapeOf(caller, got.text)]).toEqual([503, ...down[caller]])
    }
  }
})

/** A stream that stays open and says no more, until it is given up. */
const silentAfter = (pieces: readonly string[], signal: AbortSignal | undefined): Response => {
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece))
        signal?.addEventListener('abort', () => controller.error(new Error('given up')))
      },
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  )
}

test.each(pairs)(
  'a $vendor vendor falls silent in mid-stream, $caller caller',
  async ({ vendor, caller }) => {
    const server = serverOf(vendor, impatient)
    const script = streams[vendor]
    const said = script.findIndex(({ brings }) => brings.includes('word')) + 1
    const pieces = script.slice(0, said).map(({ text }) => text)
    server.answerWith((asked) => silentAfter(pieces, asked.signal))
    const got = await ask(server, caller, true)
    expect([got.seen?.text, got.seen?.ended]).toEqual(['one ', false])
    expect(midStream(caller, got.seen?.error)).toEqual(broken[caller])
    const input = vendor === 'messages' || vendor === 'gemini' ? 10 : got.estimate
    expect(got.charged).toBe(BigInt(input * 1_000 + 20_000))
  },
)

const refusals: readonly (readonly [string, () => Response | Promise<Response>])[] = [
  ['refuses the connection', () => Promise.reject(new Error('connection refused'))],
  ['answers 500', () => new Response('{"error":{"message":"oops"}}', { status: 500 })],
  ['answers 502 with a page', () => new Response('<html>bad gateway</html>', { status: 502 })],
  ['answers 401', () => Response.json({ error: { message: 'bad key' } }, { status: 401 })],
  [
    'answers 529',
    () => Response.json({ type: 'error', error: { type: 'overloaded_error' } }, { status: 529 }),
  ],
  ['answers 200 with nothing', () => new Response('')],
  ['answers 200 with a page', () => new Response('<html>hello</html>')],
  ['answers 200 with another object', () => Response.json({ hello: 'world' })],
]

test.each(pairs)(
  'a $vendor vendor that gives no answer at all, $caller caller',
  async ({ vendor, caller }) => {
    const server = serverOf(vendor)
    for (const [what, script] of refusals)
      for (const stream of [false, true]) {
        server.answerWith(script)
        const got = await ask(server, caller, stream)
        expect([what, stream, got.status, ...shapeOf(caller, got.text)]).toEqual([
          what,
          stream,
          503,
          ...down[caller],
        ])
        expect(got.charged).toBe(0n)
      }
  },
)

test.each(pairs)(
  'a $vendor vendor that dies in a whole answer, $caller caller',
  async ({ vendor, caller }) => {
    const server = serverOf(vendor)
    const text = JSON.stringify(whole[vendor])
    for (const how of ['close', 'break'] as const)
      for (const at of [0, 1, text.length >> 1, text.length - 1]) {
        server.answerWith(() => streaming([text.slice(0, at)], how))
        const got = await ask(server, caller, false)
        expect([how, at, got.status, ...shapeOf(caller, got.text)]).toEqual([how, at, 503, ...down[caller]])
        expect(got.charged).toBe(0n)
      }
    server.answerWith(() => streaming([text]))
    const got = await ask(server, caller, false)
    expect([got.status, got.seen?.text, got.charged]).toEqual([200, 'one two three', 60_000n])
  },
)

const midErrors: Readonly<Record<SharedDialectId, string>> = {
  chat: 'data: {"error":{"message":"secret sk-live-1234567 failed","code":500}}\n\n',
  responses: `event: error\ndata: {"type":"error","code":"server_error","message":"secret sk-live-1234567","param":null}\n\n`,
  messages: messagesEvent({
    type: 'error',
    error: { type: 'overloaded_error', message: 'secret sk-live-1234567' },
  }),
  interactions: interactionsEvent('error', {
    error: { code: 'internal', message: 'secret sk-live-1234567' },
  }),
  gemini: 'data: {"error":{"code":503,"message":"secret sk-live-1234567","status":"UNAVAILABLE"}}\r\n\r\n',
}

test.each(pairs)('a $vendor vendor that sends an error inside its stream, $caller caller', async (pair) => {
  const { vendor, caller } = pair
  const server = serverOf(vendor)
  const script = streams[vendor]
  for (let events = 0; events < script.length; events++) {
    const sent = script.slice(0, events)
    const brought = sent.flatMap(({ brings }) => brings)
    if (brought.includes('end')) continue
    server.answerWith(() => streaming([...sent.map(({ text }) => text), midErrors[vendor]]))
    const got = await ask(server, caller, true)
    expect(got.text).not.toContain('sk-live')
    const said = brought.filter((one) => one === 'word').length
    if (said === 0) expect([events, got.charged]).toEqual([events, 0n])
    else {
      expect(got.charged).toBeGreaterThan(0n)
      expect(got.charged).toBeLessThanOrEqual(BigInt(got.estimate * 1_000 + 60_000))
    }
    if (got.status === 200) {
      expect(midStream(caller, got.seen?.error)).toEqual(broken[caller])
      expect(got.seen?.text).toBe(words.slice(0, said).join(''))
    } else expect([got.status, ...shapeOf(caller, got.text)]).toEqual([503, ...down[caller]])
  }
})

test('a call that its caller would get whole is not charged when the vendor dies within its arguments', async () => {
  const server = serverOf('chat')
  const tool = (call: object) => chatChunk([{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }])
  const pieces = [
    tool({ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":' } }),
    tool({ index: 0, function: { arguments: '"long text"' } }),
  ]
  server.answerWith(() => streaming(pieces, 'break'))
  expect((await ask(server, 'gemini', true)).charged).toBe(0n)
  // The others get the arguments as they come: some nine characters of name and arguments in at least two events.
  for (const caller of ['chat', 'messages', 'responses'] as const)
    expect((await ask(server, caller, true)).charged).toBeGreaterThan(0n)
})

test('a caller that hangs up pays for the words it got, not for the count the vendor began with', async () => {
  const server = serverOf('messages')
  server.answerWith(({ signal }) =>
    silentAfter(
      streams.messages.slice(0, 5).map(({ text }) => text),
      signal,
    ),
  )
  const before = await server.balance()
  const gone = new AbortController()
  const { path, body } = requestOf('messages', true)
  const response = await server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': (await server.newKey()).token },
      body: JSON.stringify(body),
      signal: gone.signal,
    }),
  )
  const reader = response.body?.getReader()
  let text = ''
  while (!text.includes('three')) text += new TextDecoder().decode((await reader?.read())?.value)
  gone.abort()
  await reader?.cancel().catch(() => undefined)
  while (server.openCalls() > 0) await Bun.sleep(1)
  expect(before - (await server.balance())).toBe(60_000n)
})

test('when all is over nothing is held', async () => {
  for (const server of servers.values()) expect(await server.heldAfterAll()).toBe(0n)
})
