/**
 * Batches with the official clients of Anthropic and OpenAI against strict vendors of both dialects, in the same dialect
 * and across: 1,000 requests, each answered once and charged once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { chatLine, jsonLines, startBatchServer } from '../server/batch-rig.ts'
import { USD } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'
import { type FiveVendors, listenWithVendors, modelOf } from './harness.ts'

let gate: FiveVendors
beforeAll(async () => {
  gate = await listenWithVendors({}, undefined, (setup) => startBatchServer({ server: setup ?? {} }))
})
afterAll(() => gate.stop())

const anthropic = (apiKey = gate.key) =>
  new Anthropic({ apiKey, baseURL: gate.baseURL.replace('/v1', ''), maxRetries: 0 })
const openai = (apiKey = gate.key) => new OpenAI({ apiKey, baseURL: gate.baseURL, maxRetries: 0 })
const charged = () => gate.server.store.ledger.balance('revenue')
const held = async () => (await gate.server.store.wallets.wallet(gate.server.wallet))?.held

const models = [modelOf.messages, modelOf.chat, modelOf.gemini, modelOf.responses] as const
const requests = (count: number): Anthropic.Messages.BatchCreateParams.Request[] =>
  Array.from({ length: count }, (_, n) => ({
    custom_id: `request-${n}`,
    params: {
      model: models[n % 4] ?? '',
      max_tokens: 200,
      messages: [{ role: 'user', content: `say ${n}` }],
    },
  }))

const ended = async (id: string, apiKey?: string) => {
  let batch = await anthropic(apiKey).messages.batches.retrieve(id)
  await until(async () => {
    batch = await anthropic(apiKey).messages.batches.retrieve(id)
    return batch.processing_status === 'ended'
  })
  return batch
}

test('1,000 messages on models of all four dialects: results decoded, sums equal, nothing held', async () => {
  const before = await charged()
  const { messages } = anthropic()
  const begun = await messages.batches.create({ requests: requests(1_000) })
  expect(begun).toMatchObject({ type: 'message_batch', processing_status: 'in_progress', results_url: null })
  const batch: any = await ended(begun.id)
  expect(batch.request_counts).toEqual({
    processing: 0,
    succeeded: 1_000,
    errored: 0,
    canceled: 0,
    expired: 0,
  })
  const seen = new Map<string, string>()
  let cost = 0
  for await (const { custom_id, result } of await messages.batches.results(begun.id)) {
    if (result.type !== 'succeeded') throw new Error(result.type)
    const { message } = result
    expect(message).toMatchObject({ type: 'message', role: 'assistant' })
    expect(message.content.length).toBeGreaterThan(0)
    cost += Math.round((message.usage as any).cost * 1e9)
    seen.set(custom_id, message.model)
  }
  expect(seen.size).toBe(1_000)
  expect((await charged()) - before).toBe(BigInt(cost))
  expect(batch.cost_usd).toBe(cost / 1e9)
  await until(async () => (await held()) === 0n)

  const listed: string[] = []
  for await (const one of messages.batches.list({ limit: 1 })) listed.push(one.id)
  expect(listed).toEqual([begun.id])
  // It is read only in the form in which it was made, and only by its key.
  const id = begun.id.replace('msgbatch_', 'batch_')
  expect(
    await openai()
      .batches.retrieve(id)
      .catch((error) => error.status),
  ).toBe(404)
  const stranger = await gate.server.newKey()
  const other = anthropic(stranger.token).messages.batches
  expect(await other.retrieve(begun.id).catch((error) => error.status)).toBe(404)
  expect(await messages.batches.delete(begun.id)).toEqual({ id: begun.id, type: 'message_batch_deleted' })
  expect(await messages.batches.retrieve(begun.id).catch((error) => error.error)).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error' },
  })
  expect(await brokenLaws(gate.server.store)).toEqual([])
})

test('a file of OpenAI’s form runs on models of all four dialects', async () => {
  const before = await charged()
  const lines = Array.from({ length: 40 }, (_, n) => chatLine(n, {}, models[n % 4]))
  const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
  const { id: input_file_id } = await openai().files.create({ file, purpose: 'batch' })
  const { id } = await openai().batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  let batch: any
  await until(async () => {
    batch = await openai().batches.retrieve(id)
    return batch.status === 'completed'
  })
  expect(batch.request_counts).toEqual({ total: 40, completed: 40, failed: 0 })
  const text = await (await openai().files.content(batch.output_file_id)).text()
  const results = text
    .trimEnd()
    .split('\n')
    .map((line): any => JSON.parse(line))
  for (const { response } of results) expect(response.body.object).toBe('chat.completion')
  expect((await charged()) - before).toBe(BigInt(Math.round(batch.cost_usd * 1e9)))
})

test('what is wrong is said in the style of messages; what does not fit is told, or runs as far as it fits', async () => {
  const { batches } = anthropic().messages
  const wrong = async (all: unknown[]) => {
    const thrown: any = await batches.create({ requests: all as never }).catch((error) => error)
    return [thrown.status, thrown.error?.error?.type, thrown.error?.error?.message]
  }
  const [one] = requests(1)
  expect(await wrong([])).toEqual([400, 'invalid_request_error', expect.stringContaining("'requests'")])
  expect(await wrong([one, one])).toEqual([400, 'invalid_request_error', expect.stringContaining('Line 2:')])
  expect((await wrong([{ ...one, params: { ...one?.params, stream: true } }]))[0]).toBe(400)
  expect((await wrong([{ ...one, params: { ...one?.params, model: 'none' } }]))[0]).toBe(400)
  expect(await batches.delete('msgbatch_nothing').catch((error) => error.status)).toBe(404)

  const poor = await gate.server.newKey({ spendCap: USD / 100n })
  const own = anthropic(poor.token).messages.batches
  expect(await own.create({ requests: requests(400) }).catch((error) => error.status)).toBe(402)
  const { id } = await own.create({ requests: requests(400), on_cap: 'run_what_fits' } as never)
  const { request_counts } = await ended(id, poor.token)
  expect(request_counts.succeeded).toBeGreaterThan(0)
  expect(request_counts.errored).toBeGreaterThan(0)
  expect(request_counts.succeeded + request_counts.errored).toBe(400)
  const errors: any[] = []
  for await (const { result } of await own.results(id))
    if (result.type === 'errored') errors.push(result.error)
  expect(errors[0].error.message).toContain('was used up before this line was sent')
  await until(async () => (await held()) === 0n)
})

test('an Idempotency-Key that was used for other requests gives no results of those', async () => {
  const create = (all: Anthropic.Messages.BatchCreateParams.Request[], more: object = {}) =>
    anthropic().messages.batches.create(
      { requests: all, ...more },
      { headers: { 'Idempotency-Key': 'same' } },
    )
  const { id } = await create(requests(2))
  expect((await create(requests(2))).id).toBe(id)
  const reused = { status: 409, error: { error: { code: 'idempotency_key_reused' } } }
  expect(await create(requests(3)).catch((error) => error)).toMatchObject(reused)
  expect(await create(requests(2), { on_cap: 'run_what_fits' }).catch((error) => error)).toMatchObject(reused)
  await ended(id)
})

test('who deletes batches page by page learns that the place of a deleted one is not known', async () => {
  const { token } = await gate.server.newKey()
  const { batches } = anthropic(token).messages
  for (let batch = 0; batch < 3; batch++) {
    const { id } = await batches.create({ requests: requests(1) })
    await ended(id, token)
  }
  const deleteAll = async () => {
    for await (const { id } of batches.list({ limit: 1 })) await batches.delete(id)
  }
  // An empty page would end the loop as if all were gone.
  expect(await deleteAll().catch((error) => error)).toMatchObject({
    status: 400,
    error: { error: { type: 'invalid_request_error', message: expect.stringContaining("'after_id'") } },
  })
  expect((await batches.list()).data.length).toBe(2)
})

test('cancelled requests are told as such', async () => {
  const { batches } = anthropic().messages
  const { id } = await batches.create({ requests: requests(400) })
  const cancelling = await batches.cancel(id)
  expect(cancelling.cancel_initiated_at).not.toBeNull()
  const { request_counts } = await ended(id)
  expect(request_counts.canceled).toBeGreaterThan(0)
  expect(request_counts.succeeded + request_counts.canceled).toBe(400)
  let canceled = 0
  for await (const { result } of await batches.results(id)) if (result.type === 'canceled') canceled++
  expect(canceled).toBe(request_counts.canceled)
  await until(async () => (await held()) === 0n)
})
