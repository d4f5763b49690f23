/**
 * PostgreSQL falls silent in the middle of a commit of charges. Whoever waits for a charge is answered within the
 * promised time: with the answer, because the charge is in the journal, or with a refusal. When PostgreSQL is back,
 * each answered call is charged once and nothing else is.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { chat, completion, streamEvents, testModel } from './harness.ts'
import { BOUND_MS, inTime, silentServer, startTimer } from './silent-rig.ts'

const journal = mkdtempSync(join(tmpdir(), 'turnpike-silent-'))
afterAll(() => rmSync(journal, { recursive: true }))
const it = silentServer({
  journal,
  models: [testModel('small'), testModel('long', { maxOutputTokens: 20_000 })],
  options: { ledgerPatienceMs: 1_000 },
})

const backAgain = () => it.backAgain(() => readdirSync(journal).length === 0)

const charged = async (callId: string): Promise<boolean> =>
  (await it.store.ledger.transfersOf(callId)).length > 0

const LATE = { status: 0, callId: '', text: '', tookMs: Number.POSITIVE_INFINITY }

const ask = async (body: object) => {
  const tookMs = startTimer()
  const answered = it.server.post('/v1/chat/completions', body).then(async (answer) => {
    const text = await answer.text()
    const callId = answer.headers.get('x-request-id') ?? ''
    return { status: answer.status, callId, text, tookMs: tookMs() }
  })
  return inTime(answered, LATE)
}

test('calls whose charges were sent and are not answered', async () => {
  it.server.answerWith(() => completion('hello'))
  expect((await ask(chat())).status).toBe(200)
  it.proxy.silenceAfter('"m":"mock/small"')
  const answers = await Promise.all(Array.from({ length: 40 }, () => ask(chat())))
  await backAgain()
  expect(answers.filter(({ tookMs }) => tookMs > BOUND_MS)).toEqual([])
  for (const { status, callId } of answers)
    expect([status, await charged(callId)]).toEqual(status === 200 ? [200, true] : [503, false])
  // The charges of the commit that was lost were in the journal.
  expect(answers.some(({ status }) => status === 200)).toBe(true)
  expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})

test('a stream that asks for more money is cut in time, and charged for what it gave', async () => {
  // More than a stream holds at its start.
  const words = streamEvents(Array.from({ length: 6_000 }, () => ' word'))
  const gate = Promise.withResolvers<void>()
  it.server.answerWith(
    () =>
      new Response(
        (async function* () {
          yield words.slice(0, 100).join('')
          await gate.promise
          for (let from = 100; from < words.length; from += 100) yield words.slice(from, from + 100).join('')
        })() as never,
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  await until(async () => {
    const again = await it.server.post('/v1/chat/completions', chat({ model: 'mock/long', stream: true }))
    if (again.status !== 200) return false
    it.proxy.silence(true)
    gate.resolve()
    const tookMs = startTimer()
    const ending = (await again.text()).slice(-3_000)
    expect(tookMs()).toBeLessThan(2 * BOUND_MS)
    const { error } = JSON.parse(ending.split('data: ').at(-1) ?? '')
    expect(error).toMatchObject({ code: 'service_unavailable', retry_after: 2 })
    expect(error.message).toContain('The ledger has been away for 1 s')
    await backAgain()
    const [charge] = await it.store.ledger.transfersOf(again.headers.get('x-request-id') ?? '')
    expect(error.cost_usd).toBe(Number(charge?.amount) / 1e9)
    return true
  })
})
