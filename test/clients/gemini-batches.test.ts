/**
 * Batches with Google's official client, against strict vendors of all dialects and the built-in model: results in the order
 * of the requests, each with its metadata, and charged once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type BatchJob, GoogleGenAI, type InlinedRequest, JobState } from '@google/genai'
import OpenAI from 'openai'
import { localFetch } from '../../src/transport/local.ts'
import { localModels } from '../../src/vendors/local/local.ts'
import { startBatchServer } from '../server/batch-rig.ts'
import { mockSetup, USD } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'
import { type FiveVendors, listenWithVendors, modelOf } from './harness.ts'

const LOCAL = 'local/echo-1'
const local = { ...mockSetup({ id: 'local' }, localFetch), baseUrl: 'local:' }
let gate: FiveVendors
beforeAll(async () => {
  gate = await listenWithVendors({}, undefined, ({ models = [], more = [], ...setup } = {}) =>
    startBatchServer({ server: { ...setup, models: [...models, ...localModels], more: [...more, local] } }),
  )
})
afterAll(() => gate.stop())

const google = (apiKey = gate.key, apiVersion = 'v1beta') =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gate.baseURL.replace('/v1', ''), apiVersion } })
const charged = () => gate.server.store.ledger.balance('revenue')
/** What a line was charged, a member beside those of the client. */
const costOf = (response: any): number => response?.usageMetadata?.cost ?? 0
const held = async () => (await gate.server.store.wallets.wallet(gate.server.wallet))?.held

const requests = (count: number): InlinedRequest[] =>
  Array.from({ length: count }, (_, n) => ({
    contents: `say ${n}`,
    config: { maxOutputTokens: 200, systemInstruction: 'Be brief.' },
    metadata: { key: `request-${n}\n"ü"` },
  }))

const ended = async (name = '', ai = google()): Promise<BatchJob> => {
  let job = await ai.batches.get({ name })
  await until(async () => {
    job = await ai.batches.get({ name })
    return job.state !== JobState.JOB_STATE_RUNNING
  })
  return job
}

const callRaw = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${gate.baseURL.replace('/v1', '')}${path}`, {
    ...init,
    headers: { 'x-goog-api-key': gate.key, 'content-type': 'application/json' },
  })
  return { status: response.status, body: (await response.json()) as any }
}
const create = (body: unknown, model: string = modelOf.gemini) =>
  callRaw(`/v1beta/models/${model}:batchGenerateContent`, { method: 'POST', body: JSON.stringify(body) })
const inline = (...all: unknown[]) => ({ batch: { input_config: { requests: { requests: all } } } })

const wholeBatch = async (model: string, ai = google(), count = 120) => {
  const before = await charged()
  const begun = await ai.batches.create({ model, src: requests(count), config: { displayName: 'mine' } })
  expect(begun).toMatchObject({ state: 'JOB_STATE_RUNNING', displayName: 'mine', model: `models/${model}` })
  const job = await ended(begun.name, ai)
  expect(job).toMatchObject({ state: JobState.JOB_STATE_SUCCEEDED, endTime: expect.any(String) })
  const results = job.dest?.inlinedResponses ?? []
  expect(results.map(({ metadata }) => metadata)).toEqual(requests(count).map(({ metadata }) => metadata))
  let cost = 0
  for (const [n, { response }] of results.entries()) {
    const part = response?.candidates?.[0]?.content?.parts?.[0]
    expect([model, typeof part?.text]).toEqual([model, 'string'])
    if (model === LOCAL) expect(part?.text).toContain(`say ${n}`)
    cost += Math.round(costOf(response) * 1e9)
  }
  expect((await charged()) - before).toBe(BigInt(cost))
  await until(async () => (await held()) === 0n)
  return { name: begun.name ?? '', cost }
}

test.each([LOCAL, ...Object.values(modelOf)])('%s: all results in order, sums equal', async (model) => {
  const { name, cost } = await wholeBatch(model)
  const { body } = await callRaw(`/v1beta/${name}`)
  expect(body).toMatchObject({ name, done: true, metadata: { state: 'BATCH_STATE_SUCCEEDED' } })
  expect(body.metadata.cost_usd).toBe(cost / 1e9)
  expect(body.metadata.batchStats).toEqual({
    requestCount: '120',
    successfulRequestCount: '120',
    failedRequestCount: '0',
    pendingRequestCount: '0',
  })
  expect(body.response.inlinedResponses).toEqual(body.metadata.output.inlinedResponses)
  expect(await brokenLaws(gate.server.store)).toEqual([])
})

test('results that are longer than the pieces in which they are read are still one list', async () => {
  const { name } = await wholeBatch(LOCAL, google(), 1_500)
  const response = await fetch(`${gate.baseURL}/${name}`, { headers: { 'x-goog-api-key': gate.key } })
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(4 * 256 * 1024)
})

test('under /v1 too; listed page by page, read in its own form by its own key, and deleted', async () => {
  const { token } = await gate.server.newKey()
  for (const version of ['v1', 'v1beta']) {
    const ai = google(token, version)
    const names = [(await wholeBatch(LOCAL, ai)).name, (await wholeBatch(LOCAL, ai)).name]
    const listed: (string | undefined)[] = []
    for await (const job of await ai.batches.list({ config: { pageSize: 1 } })) listed.push(job.name)
    expect(listed).toEqual(names.toReversed())
    const id = names[0]?.split('/')[1]
    const openai = new OpenAI({ apiKey: token, baseURL: gate.baseURL, maxRetries: 0 })
    for (const other of [id ?? '', `batch_${id}`])
      expect(await openai.batches.retrieve(other).catch((error) => error.status)).toBe(404)
    expect((await openai.batches.list()).data).toEqual([])
    expect(
      await google()
        .batches.get({ name: `batches/${id}` })
        .catch((error) => error.status),
    ).toBe(404)
    for (const name of names) {
      await ai.batches.delete({ name })
      expect(await ai.batches.get({ name }).catch((error) => error.status)).toBe(404)
    }
  }
})

test('a cancelled batch has the results of what was sent, and says of others that they were not', async () => {
  const before = await charged()
  const { name = '' } = await google().batches.create({ model: modelOf.chat, src: requests(400) })
  expect(
    await google()
      .batches.delete({ name })
      .catch((error) => error.status),
  ).toBe(400)
  await google().batches.cancel({ name })
  const job = await ended(name)
  expect(job.state).toBe(JobState.JOB_STATE_CANCELLED)
  const results = job.dest?.inlinedResponses ?? []
  const unsent = results.filter(({ error }) => error !== undefined)
  expect([results.length, unsent.length > 0]).toEqual([400, true])
  expect(unsent[0]?.error).toMatchObject({ code: 1, message: expect.stringContaining('cancelled') })
  expect(unsent.at(-1)?.metadata).toEqual(requests(400).at(-1)?.metadata)
  const cost = results.reduce((sum, { response }) => sum + Math.round(costOf(response) * 1e9), 0)
  expect((await charged()) - before).toBe(BigInt(cost))
  await until(async () => (await held()) === 0n)
})

test('what is wrong is said in the style of Gemini, and names the line and the member', async () => {
  const good = { request: { contents: [{ parts: [{ text: 'x' }] }] } }
  const wrong = async (body: unknown, model?: string) => {
    const answer = await create(body, model)
    const { code, status, message, details } = answer.body.error
    expect([answer.status, code]).toEqual([code, answer.status])
    return [code, status, details[0].metadata.param ?? details[0].reason, message]
  }
  const bad = async (body: unknown, param: string, said = '') =>
    expect(await wrong(body)).toEqual([400, 'INVALID_ARGUMENT', param, expect.stringContaining(said)])
  await bad({}, 'batch')
  await bad(inline(), 'batch.inputConfig.requests.requests')
  await bad(inline(good, { request: 'x' }), 'request', 'Line 2:')
  await bad(inline({ ...good, metadata: 'x' }), 'metadata')
  await bad(inline({ ...good, metadata: { key: 'x'.repeat(600) } }), 'metadata')
  await bad(inline({ request: { ...good.request, model: 'models/other' } }), 'request.model')
  await bad(inline({ request: { contents: 5 } }), 'contents')
  await bad({ batch: { ...inline(good).batch, webhookConfig: {} } }, 'batch.webhookConfig')
  await bad(
    { batch: { inputConfig: { fileName: 'files/x' } } },
    'not_offered',
    "'batch.inputConfig.fileName'",
  )
  expect((await wrong(inline(good), 'none'))[3]).toContain("Line 1: There is no chat model 'none'")
  const poor = await gate.server.newKey({ spendCap: USD / 1000n })
  const refused = google(poor.token).batches.create({ model: modelOf.chat, src: requests(400) })
  expect(await refused.catch((error) => error.status)).toBe(402)
  for (const [path, method] of [
    ['/v1beta/batches/x', 'POST'],
    ['/v1/batches/x:cancel', 'POST'],
    ['/v1/batches/x', 'GET'],
    ['/v1/batches?pageSize=x', 'GET'],
    ['/v1beta/batches?pageToken=x', 'GET'],
  ] as const) {
    const { status, body } = await callRaw(path, { method })
    expect([path, body.error.code, typeof body.error.details]).toEqual([path, status, 'object'])
  }
  const embeddings = google().batches.createEmbeddings({
    model: 'mock/embed',
    src: { inlinedRequests: { contents: ['x'] } },
  })
  expect(await embeddings.catch((error) => error.message)).toContain('/v1/batches with the endpoint')
})

test('a line that its vendor refuses is an error in its place', async () => {
  const saying = (text: string) => ({
    request: { contents: [{ parts: [{ text }] }] },
    metadata: { key: text },
  })
  const { body } = await create(inline(saying('FAIL 400'), saying('y')))
  const job = await ended(body.name)
  expect(job.dest?.inlinedResponses).toMatchObject([
    { error: { code: 3 }, metadata: { key: 'FAIL 400' } },
    { response: {}, metadata: { key: 'y' } },
  ])
})
