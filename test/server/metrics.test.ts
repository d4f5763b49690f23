/** GET /metrics, read by a parser of the field: what it says of calls, to whom, and how large it may get. */
import { expect, test } from 'bun:test'
import parsePrometheus from 'parse-prometheus-text-format'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { newTrace } from '../../src/gateway/parts/trace.ts'
import { families, sampleNames } from '../../src/metrics/families.ts'
import { newMeters } from '../../src/metrics/meters.ts'
import { SERIES_MAX } from '../../src/metrics/registry.ts'
import { render } from '../../src/metrics/render.ts'
import { merged, snapshotOf } from '../../src/metrics/snapshot.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  METRICS_TOKEN,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
} from './harness.ts'

const scrape = async (server: TestServer): Promise<string> =>
  (await server.get('/metrics', METRICS_TOKEN)).text()

type Labels = Readonly<Record<string, string>>

/**
 * The samples as the parser reads them. It joins the series of a histogram into one and does not say which those are.
 */
const read = (text: string) => parsePrometheus(text.replaceAll(/^(# TYPE .*) histogram$/gm, '$1 untyped'))

/** The value of the one sample of this name that has these labels. */
const valueIn = (text: string, name: string, labels: Labels = {}): number | undefined => {
  const has = (of: Labels = {}) => Object.entries(labels).every(([label, value]) => of[label] === value)
  const found = read(text)
    .filter((family) => family.name === name)
    .flatMap(({ metrics }) => metrics)
    .filter((one) => has(one.labels))
  expect(found.length).toBeLessThan(2)
  return found[0] === undefined ? undefined : Number(found[0].value)
}

const model = 'mock/small'
const endpoint = '/v1/chat/completions'
const line = { vendor: 'mock', model, endpoint }

test('the time that a call adds is told with its log line, which its caller waits for too', async () => {
  let passedMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs }
  const log = {
    ...silentLog,
    call: () => {
      passedMs += 7_000
    },
  }
  const server = await startTestServer({ clock, log })
  expect((await server.post(endpoint, chat())).status).toBe(200)
  expect(
    valueIn(await scrape(server), 'turnpike_added_latency_seconds_sum', { endpoint }),
  ).toBeGreaterThanOrEqual(7)
  await server.stop()
})

for (const { name, fresh } of serverEngines)
  test(`a whole call and a stream are counted with tokens, charge and times on ${name}`, async () => {
    const database = await fresh()
    const server = await startTestServer({ url: database.url })
    expect((await server.post(endpoint, chat())).status).toBe(200)
    server.answerWith(() => streaming(streamEvents(['a', 'b', 'c'])))
    await (await server.post(endpoint, chat({ stream: true }))).text()
    const text = await scrape(server)
    expect(valueIn(text, 'turnpike_calls_total', { ...line, outcome: 'ok' })).toBe(2)
    expect(valueIn(text, 'turnpike_tokens_total', { ...line, class: 'input' })).toBe(20)
    expect(valueIn(text, 'turnpike_tokens_total', { ...line, class: 'output' })).toBe(10)
    // 10 input tokens at 1 USD a million and 5 output tokens at 10 USD a million, twice.
    expect(valueIn(text, 'turnpike_charge_usd_total', line)).toBe(0.000_12)
    expect(valueIn(text, 'turnpike_call_duration_seconds_count', { vendor: 'mock', endpoint })).toBe(2)
    expect(valueIn(text, 'turnpike_added_latency_seconds_count', { endpoint })).toBe(2)
    expect(valueIn(text, 'turnpike_added_first_token_seconds_count', { endpoint })).toBe(1)
    expect(valueIn(text, 'turnpike_first_token_seconds_count', { vendor: 'mock' })).toBe(1)
    expect(valueIn(text, 'turnpike_time_per_output_token_seconds_count', { vendor: 'mock' })).toBe(1)
    expect(valueIn(text, 'turnpike_vendor_attempts_total', { vendor: 'mock', outcome: 'ok' })).toBe(2)
    expect(valueIn(text, 'turnpike_gate_wait_seconds_count', { gate: 'settle' })).toBe(2)
    expect(valueIn(text, 'turnpike_gate_wait_seconds_count', { gate: 'intent' })).toBe(1)
    expect(valueIn(text, 'turnpike_in_touch')).toBe(1)
    expect(valueIn(text, 'turnpike_open_calls')).toBe(0)
    expect(valueIn(text, 'turnpike_open_streams')).toBe(0)
    expect(valueIn(text, 'turnpike_leases')).toBe(1)
    expect(valueIn(text, 'turnpike_vendor_keys', { vendor: 'mock' })).toBe(1)
    await stopSound(server, database)
  })

for (const { name, fresh } of serverEngines)
  test(`a stream that is kept for repeats is counted once, with its charge, on ${name}`, async () => {
    const database = await fresh()
    const server = await startTestServer({ url: database.url })
    // All of it comes at once, so it is being charged when its answer begins.
    server.answerWith(() => streaming([streamEvents(['a']).join('')]))
    const stream = chat({ stream: true })
    const ask = async () => (await server.post(endpoint, stream, { 'idempotency-key': 'one' })).text()
    await Promise.all([ask(), ask()])
    await ask()
    const text = await scrape(server)
    for (const outcome of ['ok', 'joined', 'replayed'])
      expect([outcome, valueIn(text, 'turnpike_calls_total', { model, outcome })]).toEqual([outcome, 1])
    expect(valueIn(text, 'turnpike_tokens_total', { model, class: 'input' })).toBe(10)
    // 10 input tokens at 1 USD a million and 5 output tokens at 10 USD a million.
    expect(valueIn(text, 'turnpike_charge_usd_total', { model })).toBe(0.000_06)
    expect(valueIn(text, 'turnpike_added_latency_seconds_count', { endpoint })).toBe(1)
    expect(valueIn(text, 'turnpike_open_calls')).toBe(0)
    await stopSound(server, database)
  })

test('refusals by code; a vendor that failed rests, and the time it took is not ours', async () => {
  const server = await startTestServer({ secrets: ['one', 'two'] })
  await server.post(endpoint, chat({ model: 'mock/none' }))
  await server.post(endpoint, chat(), {}, 'sk-of-nobody-at-all-1234')
  server.answerWith(() => new Response('{}', { status: 500 }))
  await server.post(endpoint, chat())
  const text = await scrape(server)
  expect(valueIn(text, 'turnpike_refusals_total', { code: 'model_not_found' })).toBe(1)
  expect(valueIn(text, 'turnpike_refusals_total', { code: 'invalid_api_key' })).toBe(1)
  expect(valueIn(text, 'turnpike_refusals_total', { vendor: 'mock', model, endpoint })).toBe(1)
  expect(valueIn(text, 'turnpike_vendor_attempts_total', { vendor: 'mock', outcome: 'failed' })).toBe(3)
  expect(valueIn(text, 'turnpike_vendor_keys_resting', { vendor: 'mock' })).toBe(2)
  expect(valueIn(text, 'turnpike_vendor_key_rest_seconds', { vendor: 'mock', key: '0' })).toBeGreaterThan(0)
  expect(valueIn(text, 'turnpike_added_latency_seconds_count', { endpoint })).toBeUndefined()
  await server.stop()
})

test('no key, wallet, caller or content is in it', async () => {
  const server = await startTestServer()
  const { id, token } = await server.newKey()
  server.answerWith(() => completion('the-words-of-the-answer'))
  const answer = await server.post(
    endpoint,
    chat({ messages: [{ role: 'user', content: 'the-words-asked' }] }),
    {},
    token,
  )
  const callId = answer.headers.get('x-request-id') ?? ''
  await server.get(`/v1/${id}`, token)
  const text = await scrape(server)
  for (const secret of [id, token, server.wallet, callId, 'the-words', 'house-key'])
    expect([secret, text.includes(secret)]).toEqual([secret, false])
  await server.stop()
})

test('only a caller with its token gets it, and nobody if there is none', async () => {
  const server = await startTestServer()
  const ask = async (token?: string) => (await server.get('/metrics', token)).status
  expect([await ask(METRICS_TOKEN), await ask(''), await ask(), await ask('wrong')]).toEqual([
    200, 401, 401, 401,
  ])
  Object.assign(server.gateway.watch.metrics ?? {}, { tokenHash: undefined })
  expect(await ask(METRICS_TOKEN)).toBe(404)
  await server.stop()
})

test('who likes OpenMetrics better gets it', async () => {
  const server = await startTestServer()
  const ask = (accept: string) =>
    server.fetch(
      new Request('http://turnpike.test/metrics', {
        headers: { accept, authorization: `Bearer ${METRICS_TOKEN}` },
      }),
    )
  await server.post(endpoint, chat())
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1'
  const open = await ask(prometheus)
  expect(open.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  const text = await open.text()
  expect(text).toEndWith('# EOF\n')
  expect(text).toContain('# TYPE turnpike_calls counter\n')
  expect(text).toContain('turnpike_calls_total{')
  const plain = await ask('text/plain, application/openmetrics-text;q=0.1')
  expect(plain.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await plain.text()).not.toContain('# EOF')
  await server.stop()
})

const samplesOf = (text: string): readonly string[] => text.split('\n').filter((one) => /^turnpike/.test(one))

const endedCall = (name: string, at: string) => ({
  ...newTrace('call', 0),
  endpoint: at,
  vendor: `vendor-${name}`,
  model: name,
  usage: { input: 1, output: 1, reasoning: 1 },
  charged: 5n,
})

test('a process has 2,000 series at most; what finds no place is counted under `other`, and that is told', () => {
  const meters = newMeters()
  for (let index = 0; index < 3_000; index++) meters.called(endedCall(`m${index}`, endpoint), 200, 5)
  for (let index = 0; index < 3_000; index++) {
    const refused = {
      ...newTrace('call', 0),
      endpoint: `/v${index}`,
      ended: `code-${index % 100}`,
      model: `m${index}`,
    }
    meters.called(refused, 400, 5)
  }
  const readings = Array.from({ length: 900 }, (_, at) => ['keyRest', 1, ['v', String(at)]] as const)
  const text = render(snapshotOf(meters.registry, readings), 'prometheus')
  const samples = samplesOf(text)
  expect(samples.length).toBeLessThanOrEqual(SERIES_MAX)
  expect(valueIn(text, 'turnpike_metrics_series')).toBe(samples.length)
  expect(valueIn(text, 'turnpike_metrics_cut_total')).toBeGreaterThan(0)
  const sum = (name: string) =>
    samples
      .filter((one) => one.startsWith(`${name}{`))
      .map((one) => Number(one.split(' ').at(-1)))
      .reduce((a, b) => a + b, 0)
  expect(sum('turnpike_calls_total')).toBe(3_000)
  expect(sum('turnpike_tokens_total')).toBe(9_000)
  expect(sum('turnpike_refusals_total')).toBe(3_000)
  expect(sum('turnpike_call_duration_seconds_count')).toBe(3_000)
  // Strangers who ask for anything do not use up the series of calls.
  const later = newMeters()
  for (let index = 0; index < 3_000; index++)
    later.called({ ...newTrace('call', 0), endpoint: `/v${index}`, ended: 'no', model: `m${index}` }, 404, 5)
  later.called(endedCall('m1', endpoint), 200, 5)
  expect(render(snapshotOf(later.registry, []), 'prometheus')).toContain(
    'turnpike_calls_total{vendor="vendor-m1"',
  )
})

test('several processes are one answer: sums add up, a gauge is what it says', () => {
  const [one, two] = [newMeters(), newMeters()]
  one.called(endedCall('a', endpoint), 200, 5)
  two.called(endedCall('a', endpoint), 200, 50)
  two.called(endedCall('b', endpoint), 200, 5)
  const all = merged([
    snapshotOf(one.registry, [
      ['inTouch', 1],
      ['queueAge', 3],
      ['leased', 2n],
      ['processes', 1],
    ]),
    snapshotOf(two.registry, [
      ['inTouch', 0],
      ['queueAge', 1],
      ['leased', 3n],
      ['processes', 1],
    ]),
  ])
  const text = render(JSON.parse(JSON.stringify(all)), 'prometheus')
  expect(valueIn(text, 'turnpike_calls_total', { model: 'a' })).toBe(2)
  expect(valueIn(text, 'turnpike_calls_total', { model: 'b' })).toBe(1)
  expect(valueIn(text, 'turnpike_charge_usd_total', { model: 'a' })).toBe(0.000_000_01)
  expect(valueIn(text, 'turnpike_call_duration_seconds_count', { vendor: 'vendor-a', endpoint })).toBe(2)
  expect(valueIn(text, 'turnpike_in_touch')).toBe(0)
  expect(valueIn(text, 'turnpike_queue_age_seconds')).toBe(3)
  expect(valueIn(text, 'turnpike_leased_usd')).toBe(0.000_000_005)
  expect(valueIn(text, 'turnpike_processes')).toBe(2)
})

test('the buckets of a histogram are sums from the smallest to all of it', async () => {
  const meters = newMeters()
  for (const ms of [1, 30, 30, 400, 10_000_000]) meters.called(endedCall('a', endpoint), 200, ms)
  const text = render(snapshotOf(meters.registry, []), 'prometheus')
  const name = 'turnpike_call_duration_seconds'
  const upTo = (le: string) => valueIn(text, `${name}_bucket`, { le })
  expect(['0.01', '0.025', '0.05', '0.25', '0.5', '300', '+Inf'].map(upTo)).toEqual([1, 1, 3, 3, 4, 4, 5])
  expect(valueIn(text, `${name}_count`)).toBe(5)
  expect(valueIn(text, `${name}_sum`)).toBeCloseTo(10_000.461, 6)
})

test('labels are written whole, whatever letters they have', () => {
  const meters = newMeters()
  meters.called(endedCall('a"b\\c\nd', endpoint), 200, 5)
  const text = render(snapshotOf(meters.registry, []), 'prometheus')
  expect(text).toContain('model="a\\"b\\\\c\\nd"')
})

test('each family has a name of its own, within the rules of the field', () => {
  const names = Object.values(families).flatMap(sampleNames)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^turnpike_[a-z_]+$/.test(name))).toEqual([])
})
