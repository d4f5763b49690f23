/**
 * `JOURNAL=off`, and PostgreSQL falls silent in the middle of a commit of charges. Whoever waits for a charge learns
 * within the promised time that it is in doubt. When the database is back, each call is charged once or not at all.
 */
import { expect, test } from 'bun:test'
import { createLog } from '../../src/core/log.ts'
import { until } from '../until.ts'
import { chat, completion, streamEvents, testModel } from './harness.ts'
import { BOUND_MS, inTime, silentServer, startTimer } from './silent-rig.ts'

const lines: Record<string, unknown>[] = []
const log = createLog('call', Date.now, (line) => lines.push(JSON.parse(line)))
const it = silentServer({ models: [testModel('small')], log })

const backAgain = () => it.backAgain(() => it.server.gateway.book.health().openCalls === 0)

const chargesOf = async (callId: string) =>
  (await it.store.ledger.transfersOf(callId)).map(({ kind }) => kind)

const ask = (headers: Record<string, string> = {}) => {
  const tookMs = startTimer()
  return inTime(
    it.server.post('/v1/chat/completions', chat(), headers).then(async (answer) => {
      const text = await answer.text()
      const callId = answer.headers.get('x-request-id') ?? ''
      return { status: answer.status, callId, text, tookMs: tookMs() }
    }),
    'late' as const,
  )
}

test('calls whose charges were sent and are not answered end in doubt, and a repeat has the answer', async () => {
  it.server.answerWith(() => completion('hello'))
  expect(await ask()).toMatchObject({ status: 200 })
  it.proxy.silenceAfter('"m":"mock/small"')
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
  expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})

test('a stream whose charge is not answered ends in time with an error, and is charged for what it gave', async () => {
  const words = streamEvents(['one', ' two', ' three'])
  const gate = Promise.withResolvers<void>()
  it.server.answerWith(
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
  const answer = await it.server.post('/v1/chat/completions', chat({ stream: true }))
  expect(answer.status).toBe(200)
  it.proxy.silence(true)
  gate.resolve()
  const tookMs = startTimer()
  const text = await inTime(answer.text(), 'late' as const)
  expect(tookMs()).toBeLessThan(BOUND_MS)
  expect(text).toContain(' three')
  expect(text).toContain('may have been charged')
  const callId = answer.headers.get('x-request-id') ?? ''
  await until(() => lines.some(({ call }) => call === callId))
  expect(lines.find(({ call }) => call === callId)).toMatchObject({ ended: 'service_unavailable' })
  await backAgain()
  expect(await chargesOf(callId)).toEqual(['usage'])
  expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})
