/**
 * `JOURNAL=off`, and PostgreSQL falls silent in the middle of a commit of charges: whoever waits for one is told within the
 * promised time that it is in doubt, and when the database is back each call is charged once or not at all.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { silentProxy } from '../store/silent-proxy.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer, streamEvents, type TestServer, testModel } from './harness.ts'

/** Two seconds are promised; a machine that is busy gets four times that. */
const BOUND_MS = 8_000

let database: TestDatabase
let proxy: Awaited<ReturnType<typeof silentProxy>>
let server: TestServer
/** Past the proxy. */
let store: Store

beforeAll(async () => {
  database = await postgresForTests()
  const url = new URL(database.url)
  url.port ||= '5432'
  url.hostname = '127.0.0.1'
  proxy = await silentProxy(url)
  store = await openStore({ url: database.url })
  server = await startTestServer({ url: proxy.url, models: [testModel('small')], ledgerFails: true })
})
afterAll(async () => {
  proxy.silenceAfter(undefined)
  proxy.silence(false)
  await server.stop()
  await store.close()
  proxy.stop()
  await database.stop()
})

const backAgain = async () => {
  proxy.silenceAfter(undefined)
  proxy.silence(false)
  const { book } = server.gateway
  await until(() => book.health().fresh && book.health().queued === 0 && book.health().openCalls === 0)
}

const chargesOf = async (callId: string) => (await store.ledger.transfersOf(callId)).map(({ kind }) => kind)

/** What does not come within twice the bound counts as never. */
const inTime = <T>(answer: Promise<T>): Promise<T | 'late'> =>
  Promise.race([answer, Bun.sleep(2 * BOUND_MS).then(() => 'late' as const)])

const ask = (headers: Record<string, string> = {}) => {
  const startedMs = performance.now()
  return inTime(
    server.post('/v1/chat/completions', chat(), headers).then(async (answer) => {
      const text = await answer.text()
      const callId = answer.headers.get('x-request-id') ?? ''
      return { status: answer.status, callId, text, tookMs: performance.now() - startedMs }
    }),
  )
}

test('calls whose charges were sent and are not answered end in doubt, and a repeat has the answer', async () => {
  server.answerWith(() => completion('hello'))
  expect(await ask()).toMatchObject({ status: 200 })
  proxy.silenceAfter('"m":"mock/small"')
  const keys = Array.from({ length: 20 }, (_, at) => `repeat-${at}`)
  const answers = await Promise.all(keys.map((key) => ask({ 'idempotency-key': key })))
  await backAgain()
  const ended = answers.filter((answer) => answer !== 'late')
  expect(ended.length).toBe(keys.length)
  expect(ended.filter(({ tookMs }) => tookMs > BOUND_MS)).toEqual([])
  expect(ended.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  expect(ended.some(({ status, text }) => status === 503 && text.includes('may have been charged'))).toBe(
    true,
  )
  for (const [at, key] of keys.entries()) {
    const again = await ask({ 'idempotency-key': key })
    expect(again).toMatchObject({ status: 200, text: expect.stringContaining('hello') })
    const callIds = new Set([ended[at]?.callId ?? '', again === 'late' ? '' : again.callId])
    const kinds = await Promise.all([...callIds].map(chargesOf))
    expect([key, kinds.flat()]).toEqual([key, ['usage']])
  }
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})

test('a stream whose charge is not answered ends in time with an error, and is charged for what it gave', async () => {
  const words = streamEvents(['one', ' two', ' three'])
  const gate = Promise.withResolvers<void>()
  server.answerWith(
    () =>
      new Response(
        (async function* () {
          yield words[0]
          await gate.promise
          yield words.slice(1).join('')
        })() as never,
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  const answer = await server.post('/v1/chat/completions', chat({ stream: true }))
  expect(answer.status).toBe(200)
  proxy.silence(true)
  gate.resolve()
  const startedMs = performance.now()
  const text = await inTime(answer.text())
  expect(performance.now() - startedMs).toBeLessThan(BOUND_MS)
  expect(text).toContain(' three')
  expect(text).toContain('may have been charged')
  await backAgain()
  expect(await chargesOf(answer.headers.get('x-request-id') ?? '')).toEqual(['usage'])
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})
