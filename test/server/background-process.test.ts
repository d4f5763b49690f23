/**
 * Responses in the background with real processes on one ledger: one is killed with -9 while it makes two of them, one leaves
 * in order. What was said is charged once, the caller reads why the rest is missing at the process that lives.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { endPrograms, startProgram } from '../program.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-background-'))
let database: TestDatabase
/** Sends words, and then nothing more until it is told to end. */
let vendor: ReturnType<typeof Bun.serve>
const goOn = Promise.withResolvers<void>()
let asked = 0

/** Long enough that what was said is noted while the stream goes on. */
const PIECES = 100
const PIECE = 'word '.repeat(80)

const event = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
async function* words() {
  const bytes = new TextEncoder()
  for (let word = 0; word < PIECES; word++) yield bytes.encode(event({ content: PIECE }))
  await goOn.promise
  yield bytes.encode(`${event({ content: 'end' })}${event({}, 'stop')}data: [DONE]\n\n`)
}

beforeAll(async () => {
  database = await postgresForTests()
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      asked++
      const { stream } = (await request.json()) as any
      if (stream === true)
        return new Response(words() as never, { headers: { 'content-type': 'text/event-stream' } })
      await goOn.promise
      const choices = [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }]
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
  startProgram(home, { DATABASE_URL: database.url, DRAIN_SECONDS: '60', PLAN_RPM: '100000', LOG: 'error' })

const asking = { model: 'mock/m', input: 'hi', background: true } as const
test('a process that is killed, and one that leaves: each response ends once, and is charged what it said', async () => {
  const dying = await start()
  const living = await start()
  const at = ({ address }: typeof dying) =>
    new OpenAI({ apiKey: dying.token, baseURL: `${address}/v1`, maxRetries: 0 })
  const [one, other] = [at(dying), at(living)]
  const store = await openStore({ url: database.url })
  const revenue = () => store.ledger.balance('revenue')
  let id = ''
  let seen = -1
  let letters = 0
  for await (const it of await one.responses.create({ ...asking, stream: true })) {
    if (it.type === 'response.created') id = it.response.id
    if (it.type === 'response.output_text.delta') letters += it.delta.length
    seen = it.sequence_number
    if (letters >= PIECES * PIECE.length) break
  }
  const whole = await one.responses.create(asking)
  await until(() => asked === 2)
  // What the stream said is noted in the ledger by now and then.
  const sql = new Bun.SQL(database.url)
  await until(async () => (await sql`select 1 from inflight where spent > 0`).length > 0)
  await sql.close()
  dying.child.kill('SIGKILL')

  for (const each of [id, whole.id]) {
    await until(async () => (await other.responses.retrieve(each)).status === 'failed')
    const { error } = await other.responses.retrieve(each)
    expect(error?.message).toStartWith('The process that made the response ended.')
  }
  const rest: string[] = []
  for await (const it of await other.responses.retrieve(id, { stream: true, starting_after: seen }))
    rest.push(it.type)
  expect(rest.at(-1)).toBe('response.failed')
  // The reaper charges what was noted once its time has come, as for any stream (test/simulation).
  const before = await revenue()

  // A process that leaves makes its response to the end first.
  const last = await other.responses.create(asking)
  await until(() => asked === 3)
  const third = await start()
  living.child.kill('SIGTERM')
  goOn.resolve()
  expect(await living.child.exited).toBe(0)
  expect((await at(third).responses.retrieve(last.id)).output_text).toBe('whole')
  expect((await revenue()) - before).toBe(60_000n)
  expect(await brokenLaws(store)).toEqual([])
  await store.close()
})
