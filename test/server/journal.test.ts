/**
 * The database is lost in mid-answer: answers end well, and each is charged once when it is back, or at the next start.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { type FaultProxy, startProxy } from '../chaos/proxy.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { startProgram } from '../program.ts'
import { BUSY_MS, until } from '../until.ts'
import { chat, completion, jsonOf, startTestServer, streamEvents } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-journal-'))
let database: TestDatabase
let proxy: FaultProxy
let proxied: string
/** Goes round the proxy. */
let store: Store

beforeAll(async () => {
  database = await postgresForTests()
  const url = new URL(database.url)
  proxy = await startProxy(Number(url.port || '5432'))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  // The product's own time-outs.
  url.search = ''
  proxied = url.href
  store = await openStore({ url: database.url })
})

afterAll(async () => {
  await store.close()
  proxy.stop()
  await database.stop()
  rmSync(folder, { recursive: true })
})

/** A vendor's stream that stops before its last pieces until it may go on. */
const gated = () => {
  const gate = Promise.withResolvers<void>()
  const pieces = streamEvents(['one', ' two'])
  let next = 0
  const encoder = new TextEncoder()
  const response = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          if (next === 2) await gate.promise
          const piece = pieces[next++]
          if (piece === undefined) controller.close()
          else controller.enqueue(encoder.encode(piece))
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  return { response, goOn: gate.resolve }
}

/** Reads the first piece of an answer; the rest comes on demand. */
const begun = async (answer: Response) => {
  const reader = answer.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader.read()).value)
  return {
    callId: answer.headers.get('x-request-id') ?? '',
    rest: async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        text += decoder.decode(piece.value)
      return text
    },
  }
}

const bills = async (callId: string) =>
  (await store.ledger.transfersOf(callId)).map(({ kind, amount, note }) => ({ kind, amount, note }))

const billed = [{ kind: 'usage', amount: 60_000n, note: undefined }] as never

test('a stream ends while the database is away, and is charged once when it is back', async () => {
  const journal = join(folder, 'back')
  const server = await startTestServer({ url: proxied, journal, ledgerFails: true })
  try {
    const vendor = gated()
    server.answerWith(vendor.response)
    const answer = await begun(await server.post('/v1/chat/completions', chat({ stream: true })))
    proxy.set('stall')
    vendor.goOn()
    const text = await answer.rest()
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(text).toContain(': x-cost-usd: 0.00006')
    // Nobody knows the balance now.
    expect(text).not.toContain('_remaining_credits')
    expect(readdirSync(journal)).toHaveLength(1)
    expect(await bills(answer.callId)).toEqual([])
    proxy.set('none')
    await until(() => readdirSync(journal).length === 0)
    expect(await bills(answer.callId)).toEqual(billed)
  } finally {
    proxy.set('none')
    await server.stop()
  }
})

test.each([
  ['after', 2_600],
  ['before', 50],
])(
  'a call is refused and not charged when its intent is not durable in time, and the answer is there %s that',
  async (_when, tookMs) => {
    const server = await startTestServer({
      url: proxied,
      ledgerFails: true,
      journal: join(folder, 'refused'),
      options: { timeouts: { firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 } },
    })
    try {
      // Leases money, so that the next call is admitted without the database.
      await server.post('/v1/chat/completions', chat())
      server.answerWith(async () => {
        await Bun.sleep(tookMs)
        return completion('late')
      })
      proxy.set('stall')
      const started = performance.now()
      const refused = await server.post('/v1/chat/completions', chat())
      expect(performance.now() - started).toBeLessThan(BUSY_MS)
      expect(refused.status).toBe(503)
      expect((await jsonOf(refused)).error.code).toBe('service_unavailable')
      const callId = refused.headers.get('x-request-id') ?? ''
      proxy.set('none')
      server.answerWith(() => completion('well again'))
      await until(async () => (await server.post('/v1/chat/completions', chat())).status === 200)
      expect(await bills(callId)).toEqual([])
    } finally {
      proxy.set('none')
      await server.stop()
    }
  },
)

const serve = (home: string) => startProgram(home, { DATABASE_URL: proxied, LOG: 'error' })

test('an answer that ended without the database outlives kill -9: the next start charges it, once', async () => {
  const home = join(folder, 'killed')
  mkdirSync(home)
  const journal = join(home, 'data', 'journal')
  const vendor = gated()
  const upstream = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: vendor.response })
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:
  mock:
    base_url: http://127.0.0.1:${upstream.port}/v1
    models:
      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
`,
  )
  const first = await serve(home)
  const answer = await begun(
    await fetch(`${first.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat({ model: 'mock/m', stream: true })),
    }),
  )
  proxy.set('stall')
  vendor.goOn()
  expect(await answer.rest()).toEndWith('data: [DONE]\n\n')
  first.child.kill('SIGKILL')
  await first.child.exited
  const [left] = readdirSync(journal)
  // As if it had been killed in the middle of a further write.
  appendFileSync(join(journal, left ?? 'none'), 'cafe0000 {"callId":"')
  proxy.set('none')
  expect(await bills(answer.callId)).toEqual([])
  const second = await serve(home)
  try {
    expect(await bills(answer.callId)).toEqual(billed)
    expect(readdirSync(journal)).toEqual([])
  } finally {
    second.child.kill('SIGTERM')
    await second.child.exited
    await upstream.stop(true)
  }
  const third = await serve(home)
  third.child.kill('SIGTERM')
  expect(await third.child.exited).toBe(0)
  expect(await bills(answer.callId)).toEqual(billed)
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})
