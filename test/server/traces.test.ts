/**
 * Traces as a receiver of OTLP reads them: one span a call with its steps, by the conventions. Calls do not wait for
 * it.
 */
import { afterEach, expect, test } from 'bun:test'
import { createLog, silentLog } from '../../src/core/log.ts'
import { parentOf } from '../../src/gateway/parts/spans.ts'
import { openTraces } from '../../src/transport/open-traces.ts'
import { chat, completion, startTestServer, streamEvents, streaming } from './harness.ts'

type Value = {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
}
type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number }
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
}

const SERVER = 2
const CLIENT = 3
const ERROR = 2

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A receiver of OTLP over HTTP that keeps what it gets. */
const startReceiver = (status = 200) => {
  const bodies: unknown[] = []
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      expect(new URL(request.url).pathname).toBe('/v1/traces')
      expect(request.headers.get('content-type')).toBe('application/json')
      bodies.push(await request.json())
      return Response.json({}, { status })
    },
  })
  stops.push(() => server.stop(true))
  const spans = (): Span[] =>
    (bodies as any[]).flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans.flatMap((one: any) => one.spans)),
    )
  return { endpoint: `http://127.0.0.1:${server.port}`, spans, bodies }
}

const openTo = (endpoint: string, change: Partial<Parameters<typeof openTraces>[0]> = {}) =>
  openTraces({
    endpoint,
    serviceName: 'turnpike-test',
    version: '1',
    instance: 'one',
    sampler: 'parentbased_traceidratio',
    ratio: 1,
    random: () => 0.5,
    log: silentLog,
    ...change,
  })

const attributeOf = ({ attributes }: Span, key: string) => {
  const value = attributes.find((one) => one.key === key)?.value
  return value?.stringValue ?? (value?.intValue === undefined ? value?.doubleValue : Number(value.intValue))
}

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('the parts of the tokens and the time to the first of them have the names of the conventions', async () => {
  const receiver = startReceiver()
  const traces = await openTo(receiver.endpoint)
  const server = await startTestServer({ traces })
  const usage = {
    prompt_tokens: 30,
    completion_tokens: 9,
    total_tokens: 39,
    prompt_tokens_details: { cached_tokens: 12 },
    completion_tokens_details: { reasoning_tokens: 4 },
  }
  server.answerWith(() => streaming(streamEvents(['a'], usage)))
  await (await server.post('/v1/chat/completions', chat({ stream: true }))).text()
  await traces.close()
  const call = receiver.spans().find(({ kind }) => kind === SERVER)
  if (call === undefined) throw new Error('no span of the call')
  const of = (name: string) => attributeOf(call, `gen_ai.${name}`)
  expect(of('usage.input_tokens')).toBe(30)
  expect(of('usage.output_tokens')).toBe(9)
  expect(of('usage.cache_read.input_tokens')).toBe(12)
  expect(of('usage.reasoning.output_tokens')).toBe(4)
  expect(of('usage.audio.input_tokens')).toBeUndefined()
  expect(Number(of('response.time_to_first_chunk'))).toBeGreaterThan(0)
  expect(Number(of('response.time_to_first_chunk'))).toBeLessThan(60)
  await server.stop()
})

test('a stream is a span with its gates, its attempts and its first token, below the span of its caller', async () => {
  const receiver = startReceiver()
  const traces = await openTo(receiver.endpoint)
  const server = await startTestServer({ traces, secrets: ['one', 'two'] })
  let asked = 0
  server.answerWith(() =>
    ++asked === 1 ? new Response('{}', { status: 500 }) : streaming(streamEvents(['a', 'b', 'c'])),
  )
  const secret = 'the-words-of-the-caller'
  const answer = await server.post(
    '/v1/chat/completions',
    chat({ stream: true, messages: [{ role: 'user', content: secret }] }),
    { traceparent: PARENT },
  )
  await answer.text()
  await traces.close()
  const spans = receiver.spans()
  const [call] = spans.filter(({ kind }) => kind === SERVER)
  if (call === undefined) throw new Error('no span of the call')
  expect([call.name, call.traceId, call.parentSpanId]).toEqual([
    'chat mock/small',
    '0af7651916cd43dd8448eb211c80319c',
    'b7ad6b7169203331',
  ])
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'mock',
    'gen_ai.request.model': 'mock/small',
    'gen_ai.response.model': 'small',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'turnpike.attempts': 2,
    'turnpike.charge_usd': '0.00006',
    'turnpike.call.id': answer.headers.get('x-request-id') ?? '',
  }
  expect(Object.fromEntries(Object.keys(attributes).map((key) => [key, attributeOf(call, key)]))).toEqual(
    attributes,
  )
  const children = spans.filter((span) => span !== call)
  expect(children.every((span) => span.parentSpanId === call.spanId && span.traceId === call.traceId)).toBe(
    true,
  )
  expect(children.map(({ name }) => name).sort()).toEqual([
    'attempt mock',
    'attempt mock',
    'first token',
    'gate intent',
    'gate settle',
  ])
  const attempts = children.filter(({ kind }) => kind === CLIENT)
  expect(attempts.map((span) => [attributeOf(span, 'turnpike.outcome'), span.status.code])).toEqual([
    ['failed', ERROR],
    ['ok', 0],
  ])
  for (const { startTimeUnixNano, endTimeUnixNano } of children) {
    expect(BigInt(startTimeUnixNano) >= BigInt(call.startTimeUnixNano)).toBe(true)
    expect(BigInt(endTimeUnixNano) <= BigInt(call.endTimeUnixNano)).toBe(true)
  }
  expect(JSON.stringify(receiver.bodies)).toContain('turnpike-test')
  for (const hidden of [secret, 'Bearer', 'sk-test', 'house-key'])
    expect([hidden, JSON.stringify(receiver.bodies).includes(hidden)]).toEqual([hidden, false])
  // A vendor learns nothing of its caller's trace.
  expect(server.asked.every(({ headers }) => !headers.has('traceparent') && !headers.has('tracestate'))).toBe(
    true,
  )
  await server.stop()
})

test('a whole call without a parent begins a trace of its own; a refusal says its code', async () => {
  const receiver = startReceiver()
  const traces = await openTo(receiver.endpoint)
  const server = await startTestServer({ traces })
  await server.post('/v1/chat/completions', chat())
  await server.post('/v1/chat/completions', chat({ model: 'mock/none' }))
  await server.get('/v1/models')
  await traces.close()
  const calls = receiver.spans().filter(({ kind }) => kind === SERVER)
  expect(calls.map((span) => [span.name, attributeOf(span, 'error.type')])).toEqual([
    ['chat mock/small', undefined],
    ['/v1/chat/completions', 'model_not_found'],
  ])
  expect(calls.every(({ parentSpanId }) => (parentSpanId ?? '') === '')).toBe(true)
  expect(new Set(calls.map(({ traceId }) => traceId)).size).toBe(2)
  await server.stop()
})

const parent = (sampled: boolean, traceId = 'f'.repeat(8) + '0'.repeat(24)) => ({
  traceId,
  spanId: 'b'.repeat(16),
  sampled,
})

test('which calls are traced: by the parent, by chance, all or none', async () => {
  const table = [
    ['parentbased_traceidratio', [false, false, true]],
    ['parentbased_always_on', [true, false, true]],
    ['parentbased_always_off', [false, false, true]],
    ['traceidratio', [false, false, false]],
    ['always_on', [true, true, true]],
    ['always_off', [false, false, false]],
  ] as const
  for (const [sampler, expected] of table) {
    const traces = await openTo('http://127.0.0.1:9', { sampler, ratio: 0.4 })
    const found = [undefined, parent(false), parent(true)].map((one) => traces.isSampled(one))
    expect([sampler, found]).toEqual([sampler, [...expected]])
    await traces.close()
  }
  const likely = await openTo('http://127.0.0.1:9', { sampler: 'traceidratio', ratio: 0.6 })
  // The id decides, so all who take part in a trace decide alike.
  expect([likely.isSampled(undefined), likely.isSampled(parent(false, `${'0'.repeat(31)}1`))]).toEqual([
    true,
    true,
  ])
  await likely.close()
})

test('a traceparent that is not valid counts as none', () => {
  expect(parentOf(PARENT)).toEqual({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    sampled: true,
  })
  expect(parentOf(PARENT.replace(/01$/, '00'))?.sampled).toBe(false)
  expect(parentOf(`${PARENT.replace(/^00/, 'cc')}-more`)?.sampled).toBe(true)
  for (const wrong of [
    null,
    '',
    'x',
    PARENT.replace(/^00/, 'ff'),
    PARENT.toUpperCase(),
    PARENT.replace(/0af7\w+/, '0'.repeat(32)),
    PARENT.replace('b7ad6b7169203331', '0'.repeat(16)),
  ])
    expect([wrong, parentOf(wrong)]).toEqual([wrong, undefined])
})

test('a receiver that refuses, or is not there, shows in the log and touches no call', async () => {
  const lines: string[] = []
  const log = createLog(
    'warn',
    () => 0,
    (line) => lines.push(line),
  )
  const gone = startReceiver()
  await stops.splice(0)[0]?.()
  for (const endpoint of [startReceiver(400).endpoint, gone.endpoint]) {
    const traces = await openTo(endpoint, { log })
    const server = await startTestServer({ traces })
    server.answerWith(() => completion('fine'))
    expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
    await traces.close()
    await server.stop()
  }
  expect(lines.length).toBeGreaterThan(0)
  expect(lines[0]).toContain('spans could not be exported')
})
