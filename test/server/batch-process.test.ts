/**
 * Batches with real processes on one ledger: one is killed with -9 in the middle of a batch, another goes on. Each line has
 * one result, is charged once, and the books hold.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { endPrograms, startProgram } from '../program.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'
import { chatLine, jsonLines } from './batch-rig.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-batches-'))
let database: TestDatabase
let vendor: ReturnType<typeof Bun.serve>
/** How often each line was heard. */
const heard = new Map<string, number>()
/** From so many lines on, the vendor waits for this. */
let goOn = Promise.withResolvers<void>()
/** Told by the first process on the ledger. */
let apiKey = ''
const FIRST = 100
const LINES = 300

beforeAll(async () => {
  database = await postgresForTests()
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { messages } = (await request.json()) as any
      heard.set(messages[0].content, (heard.get(messages[0].content) ?? 0) + 1)
      if (heard.size > FIRST) await goOn.promise
      const choices = [
        { index: 0, message: { role: 'assistant', content: messages[0].content }, finish_reason: 'stop' },
      ]
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 50000 }\n`,
  )
})
afterAll(async () => {
  await endPrograms()
  await vendor.stop(true)
  await database.stop()
  rmSync(home, { recursive: true })
})

const start = () =>
  startProgram(home, {
    DATABASE_URL: database.url,
    ASSETS: join(home, 'assets'),
    DRAIN_SECONDS: '60',
    PLAN_RPM: '100000',
    LOG: 'error',
  })

test('a process that is killed in the middle of a batch: another ends it, and each line is charged once', async () => {
  const dying = await start()
  apiKey = dying.token
  const living = await start()
  const at = ({ address }: typeof dying) => new OpenAI({ apiKey, baseURL: `${address}/v1`, maxRetries: 0 })
  const other = at(living)
  const store = await openStore({ url: database.url })
  const before = await store.ledger.balance('revenue')
  const lines = Array.from({ length: LINES }, (_, n) => chatLine(n, {}, 'mock/m'))
  const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
  const { id: input_file_id } = await at(dying).files.create({ file, purpose: 'batch' })
  const { id } = await at(dying).batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  // The vendor has lines that it does not answer yet.
  await until(() => heard.size > FIRST)
  dying.child.kill('SIGKILL')
  await dying.child.exited
  expect(await brokenLaws(store)).toEqual([])
  const atDeath = new Set(heard.keys())
  goOn.resolve()
  let batch = await other.batches.retrieve(id)
  await until(async () => {
    batch = await other.batches.retrieve(id)
    return batch.status === 'completed'
  })
  expect(batch.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 })
  const text = await (await other.files.content(batch.output_file_id ?? '')).text()
  const results = text
    .trimEnd()
    .split('\n')
    .map((line): any => JSON.parse(line))
  expect(results.map(({ custom_id }) => custom_id)).toEqual(lines.map(({ custom_id }) => custom_id))
  for (const { custom_id, response } of results)
    expect(response.body.choices[0].message.content).toBe(`say ${custom_id.slice(5)}`)
  // Only lines that the dead process had at the vendor were heard twice, and each line was charged once.
  const twice = [...heard].filter(([, count]) => count > 1).map(([said]) => said)
  expect(twice.length).toBeGreaterThan(0)
  expect(twice.length).toBeLessThanOrEqual(32)
  expect(twice.filter((said) => !atDeath.has(said))).toEqual([])
  expect((await store.ledger.balance('revenue')) - before).toBe(BigInt(LINES) * 60_000n)
  const sql = new Bun.SQL(database.url)
  await until(
    async () =>
      (await sql`select 1 from lease where instance like 'job:%' and state <> 'closed'`).length === 0,
  )
  expect(await sql`select 1 from inflight where lease_id like 'job:%'`).toHaveLength(0)
  await sql.close()
  expect(await brokenLaws(store)).toEqual([])
  await store.close()
})

test('a process that leaves in order ends the lines that it sent, and another sends the rest: none is heard twice', async () => {
  heard.clear()
  goOn = Promise.withResolvers<void>()
  const leaving = await start()
  const client = new OpenAI({ apiKey, baseURL: `${leaving.address}/v1`, maxRetries: 0 })
  const lines = Array.from({ length: LINES }, (_, n) => chatLine(n, {}, 'mock/m'))
  const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
  const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' })
  const begins = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
  const { id } = await client.batches.create(begins)
  await until(() => heard.size > FIRST)
  leaving.child.kill('SIGTERM')
  goOn.resolve()
  expect(await leaving.child.exited).toBe(0)
  const other = await start()
  const reader = new OpenAI({ apiKey, baseURL: `${other.address}/v1`, maxRetries: 0 })
  await until(async () => (await reader.batches.retrieve(id)).status === 'completed')
  expect((await reader.batches.retrieve(id)).request_counts).toEqual({
    total: LINES,
    completed: LINES,
    failed: 0,
  })
  expect([heard.size, Math.max(...heard.values())]).toEqual([LINES, 1])
})
