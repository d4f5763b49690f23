/** Law: whatever way a call goes out, an organisation's own key goes with it, and the house's never in silence. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Secret } from '../../src/core/secret.ts'
import { callerDialects } from '../../src/dialects/index.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { VENDORS } from '../../src/ledger/estimates.ts'
import { byTest } from '../by-test.ts'
import { billed, context, type SharedDialectId, stepsOf, streamOf } from '../dialects/steps.ts'
import { seed } from '../seed.ts'
import { until } from '../until.ts'
import { png } from './asset-rig.ts'
import { startBatchServer } from './batch-rig.ts'
import {
  completion,
  jsonOf,
  mockVendor,
  startTestServer,
  type TestServer,
  testModel,
  type VendorRequest,
} from './harness.ts'
import { jobRecord, startJobServer } from './job-rig.ts'
import { openResponses } from './responses-socket.ts'
import { startSocketVendor } from './socket-vendor.ts'

const OWN = 'sk-own-0123456789abcdef-tail'
const HOUSE = 'house-key'
const speaking: readonly SharedDialectId[] = ['chat', 'messages', 'gemini', 'responses', 'interactions']
const model = 'mock/small'
const messages = [{ role: 'user', content: 'hi' }]

/** Each way by which a call of words goes out, whole and as a stream, and counts of its tokens. */
const ways = (stream: boolean): Readonly<Record<string, readonly [string, object]>> => ({
  chat: ['/v1/chat/completions', { model, stream, max_tokens: 200, messages }],
  messages: ['/v1/messages', { model, stream, max_tokens: 200, messages }],
  gemini: [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  responses: ['/v1/responses', { model, stream, input: 'hi' }],
  kept: ['/v1/responses', { model, stream, input: 'hi', store: true }],
  interactions: ['/v1beta/interactions', { model, stream, input: 'hi' }],
  completions: ['/v1/completions', { model, stream, prompt: 'hi' }],
  cohere: ['/v2/chat', { model, stream, messages }],
  ollama: ['/api/chat', { model, stream, messages }],
  'count of messages': ['/v1/messages/count_tokens', { model, messages }],
  'count of responses': ['/v1/responses/input_tokens', { model, input: 'hi' }],
  'count of gemini': [
    `/v1beta/models/${model}:countTokens`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  idempotent: ['/v1/chat/completions', { model, stream, messages }],
})

const keyIn = ({ headers }: VendorRequest) => headers.get('authorization')?.replace('Bearer ', '')
const keys = (it: TestServer) => new Set(it.asked.splice(0).map(keyIn))

/** The organisation's keys, as they are sealed by whoever adds one, without a vendor that tries them. */
const withOwnKey = async (it: TestServer, fall_back: boolean): Promise<string> => {
  const added = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OWN, untested: true })
  expect(added.status).toBe(201)
  const { id } = await jsonOf(added)
  if (fall_back) await it.send('PUT', `/v1/own-keys/${id}`, { fall_back })
  it.asked.length = 0
  return id
}

const reply = {
  id: 'a1',
  model: 'small',
  choices: [{ parts: [{ type: 'text' as const, text: 'hello' }], finish: 'stop' as const }],
}
const usage = { input: 10, output: 5 }

/** A vendor of a dialect; it answers to these keys. */
const answering =
  (speaks: SharedDialectId, taken: readonly string[]) =>
  (request: VendorRequest): Response => {
    const { writeReply, streamWriter } = callerDialects[speaks]
    if (request.url.endsWith('/models')) return new Response('', { status: 404 })
    if (!taken.includes(keyIn(request) ?? ''))
      return Response.json({ error: { message: 'no' } }, { status: 401 })
    if (/count|input_tokens/i.test(request.url)) return Response.json({ input_tokens: 7, totalTokens: 7 })
    const streams = request.body.stream === true || request.url.includes('stream')
    if (!streams) return Response.json(writeReply({ ...reply, usage }, context()))
    const bytes = streamOf(stepsOf(reply), streamWriter(context(), false), { ...billed, usage })
    return new Response(bytes, { headers: { 'content-type': 'text/event-stream' } })
  }

test.each(speaking)(
  `a vendor that speaks %s hears the own key in every way, SEED=${seed}`,
  async (speaks) => {
    const it = await startTestServer({
      vendor: { speaks },
      options: { responsesKeptMs: 3_600_000, ownKeyRpm: 10_000 },
    })
    const names = Object.keys(ways(false))
    let answered = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.boolean(),
        fc.constantFrom('takes it', 'refuses it', 'refuses it, falls back'),
        async (name, stream, vendor) => {
          it.answerWith(answering(speaks, vendor === 'takes it' ? [OWN, HOUSE] : [HOUSE]))
          const id = await withOwnKey(it, vendor.endsWith('falls back'))
          const [path, body] = ways(stream)[name] ?? ['', {}]
          const headers = name === 'idempotent' ? { 'idempotency-key': crypto.randomUUID() } : undefined
          const response = await it.post(path, body, headers)
          await response.text()
          const [asked, whose] = [keys(it), response.headers.get('x-vendor-key')]
          if (asked.has(HOUSE)) expect([vendor, whose]).toEqual(['refuses it, falls back', 'house'])
          const counts = name.startsWith('count')
          if (!counts) expect(asked.has(OWN) || whose === 'house').toBe(true)
          if (!counts && vendor === 'takes it') expect([response.status, whose]).toEqual([200, 'own'])
          if (!counts && vendor === 'refuses it') expect(response.status).toBe(503)
          if (response.status === 200) answered++
          await it.send('DELETE', `/v1/own-keys/${id}`)
        },
      ),
      {
        seed,
        numRuns: 60,
        examples: names.flatMap((name) => [[name, false, 'refuses it']] as [string, boolean, string][]),
      },
    )
    expect(answered).toBeGreaterThan(10)
    await it.stop()
  },
)

test('embeddings, a response in the background and a job go out by the own key, to the last step', async () => {
  const picture = png(3, 2).toString('base64')
  const models = [testModel('small'), testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 })]
  const it = await startJobServer({
    sells: [jobRecord()],
    server: { models, options: { responsesKeptMs: 3_600_000 } },
  })
  let jobs = 0
  it.answerWith((request) => {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/models')) return new Response('', { status: 404 })
    if (keyIn(request) !== OWN) return Response.json({ error: { message: 'no' } }, { status: 401 })
    if (pathname.endsWith('/embeddings'))
      return Response.json({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.1] }],
        model: 'embed',
        usage: { prompt_tokens: 3, total_tokens: 3 },
      })
    if (pathname.endsWith('/jobs')) return Response.json({ id: 'job-1', cost: 1_000_000_000 })
    if (pathname.includes('/jobs/')) return Response.json(++jobs < 2 ? { is: 'pending' } : { is: 1 })
    return completion(picture.slice(0, 9))
  })
  const id = await withOwnKey(it, false)
  expect((await it.post('/v1/embeddings', { model: 'mock/embed', input: 'hi' })).status).toBe(200)
  const counted = () => it.store.ledger.balance(VENDORS)
  // Three tokens of input at the list price.
  expect(await counted()).toBe(3_000n)
  const background = await jsonOf(
    await it.post('/v1/responses', { model, input: 'hi', background: true, store: true }),
  )
  await until(
    async () => (await jsonOf(await it.get(`/v1/responses/${background.id}`))).status === 'completed',
  )
  const before = await it.balance()
  const ofWords = await counted()
  expect(ofWords).toBeGreaterThan(3_000n)
  expect((await it.post('/v1/run', { model: 'mock/film', inputs: { prompt: 'a fox' } })).status).toBe(200)
  // A picture is a cent at the list price.
  expect((await counted()) - ofWords).toBe(10_000_000n)
  // The vendor bills the organisation, whatever that is: the job is not cancelled, and costs the fee.
  expect(it.asked.filter(({ method }) => method === 'DELETE')).toEqual([])
  expect(await it.balance()).toBe(before)
  expect(keys(it)).toEqual(new Set([OWN]))
  // A job whose key is removed is not asked for by another one, and ends.
  jobs = -1_000_000
  const open = await jsonOf(
    await it.post(
      '/v1/run',
      { model: 'mock/film', inputs: { prompt: 'a fox' } },
      { prefer: 'respond-async' },
    ),
  )
  await it.send('DELETE', `/v1/own-keys/${id}`)
  it.asked.length = 0
  let shown: any
  await until(async () => {
    shown = await jsonOf(await it.get(`/v1/run/${open.id ?? open.run_id}`))
    return shown.status === 'failed'
  })
  expect(JSON.stringify(shown.error)).toContain('own key')
  expect([...keys(it)].filter((one) => one !== undefined)).toEqual([])
  expect(await it.balance()).toBe(before)
  await it.stop()
})

test("a turn of a client's socket goes over a socket of the vendor with the own key", async () => {
  const vendor = startSocketVendor()
  const it = await startTestServer({
    models: [testModel('word', { id: 'real/word', vendor: 'real' })],
    more: [
      {
        vendor: { ...mockVendor, id: 'real', speaks: 'responses', socket: { minutes: 60 } },
        baseUrl: vendor.baseUrl,
        secrets: [new Secret(HOUSE)],
      },
    ],
    options: { vendorSockets: 10 },
  })
  const listening = listen(it, { hostname: '127.0.0.1', port: 0, shared: false })
  // This vendor has no list of models.
  const row = { id: 'vk_socket', orgId: 'org_test', vendor: 'real', lastFour: 'tail' }
  const sealed = await it.gateway.ownKeys.seal('org_test', row, OWN)
  const added = await it.store.ownKeys.add({ ...row, sealed }, byTest)
  await it.gateway.book.untilKnown((added as { at: number }).at)
  const { token } = await it.newKey()
  const socket = await openResponses({ base: `127.0.0.1:${listening.port}/v1`, token }, {})
  await socket.turn({ model: 'real/word', store: false, input: 'hi' })
  expect(vendor.turns.map(({ key }) => key)).toEqual([`Bearer ${OWN}`])
  socket.socket.close()
  listening.stop()
  await until(() => it.gateway.memory.vendorSockets.size === 0)
  await it.stop()
  vendor.stop()
})

describe('lines of a batch', () => {
  const began = startBatchServer({})
  let it: Awaited<typeof began>
  let token: string
  beforeEach(async () => {
    it = await began
    token = (await it.newKey()).token
    it.answerWith(answering('chat', [OWN, HOUSE]))
  })
  afterAll(() => it.stop())
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model, messages } }
  const begin = async () =>
    it.client(token).batches.create({
      input_file_id: await it.upload(token, [line]),
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    })
  const removeAll = async () => {
    for (const { id } of (await jsonOf(await it.send('GET', '/v1/own-keys'))).data)
      await it.send('DELETE', `/v1/own-keys/${id}`)
  }
  /** How the line of a batch ended whose way and hold were those of `before` when it was sent. */
  const endedAs = async (id: string) => {
    const { output_file_id, error_file_id } = await it.ended(token, id)
    const [good, bad] = await Promise.all([
      it.results(token, output_file_id),
      it.results(token, error_file_id),
    ])
    return good.get('a')?.response?.status_code ?? JSON.stringify(bad.get('a'))
  }
  /** The batch is read, and none of its lines is sent before `then`. */
  const changedBetween = async (then: () => Promise<unknown>) => {
    const { take } = it.store.batches
    const open = Promise.withResolvers<void>()
    it.store.batches.take = async (...asked) => {
      await open.promise
      return take(...asked)
    }
    const { id } = await begin()
    await until(async () => (await it.client(token).batches.retrieve(id)).status === 'in_progress')
    await then()
    it.asked.length = 0
    open.resolve()
    it.store.batches.take = take
    return endedAs(id)
  }

  test('go out by the own key, and cost the fee', async () => {
    await withOwnKey(it, false)
    const before = await it.balance()
    expect(await endedAs((await begin()).id)).toBe(200)
    expect([keys(it), await it.balance()]).toEqual([new Set([OWN]), before])
    await removeAll()
  })

  test("that were priced for own keys are not answered by the house's when the last one is removed, or falls back", async () => {
    const id = await withOwnKey(it, false)
    const before = await it.balance()
    expect(await changedBetween(() => it.send('PUT', `/v1/own-keys/${id}`, { fall_back: true }))).toContain(
      'own_keys_not_carried',
    )
    await it.send('PUT', `/v1/own-keys/${id}`, { fall_back: false })
    expect(await changedBetween(removeAll)).toContain('own_keys_not_carried')
    expect([keys(it), await it.balance()]).toEqual([new Set(), before])
  })

  test("that were priced for the house's go out by a key that was added meanwhile", async () => {
    expect(await changedBetween(() => withOwnKey(it, false))).toBe(200)
    expect(keys(it)).toEqual(new Set([OWN]))
    await removeAll()
  })
})
