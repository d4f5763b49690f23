/**
 * One Idempotency-Key and two gateways on one ledger, of which the first loses it in the middle of the call. Whatever
 * they answer, only one answer tells a cost, and that one is charged. The vendor asks another price each time.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { chat, completion, pausedStream, startTestServer, streamEvents, type TestServer } from './harness.ts'
import { silentServer } from './silent-rig.ts'

const journal = await tempFolder('turnpike-two-answers-')
const it = silentServer({ journal })
let other: TestServer
let token: string
beforeAll(async () => {
  other = await startTestServer({ url: it.url, ledgerFails: true })
  token = (await it.server.newKey()).token
})
afterAll(async () => {
  await other.stop()
  await rm(journal, { recursive: true, force: true })
})

/** What an answer told its caller; undefined if it told no cost. */
const told = (headers: Headers, text: string): string | undefined =>
  headers.get('x-cost-usd') ?? /x-cost-usd: ([\d.]+)/.exec(text)?.[1]

const usage = (output: number) => ({
  prompt_tokens: 10,
  completion_tokens: output,
  total_tokens: 10 + output,
})

test.each([true, false])(
  'a call that outlives the ledger of its gateway has one answer (stream: %p)',
  async (stream) => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = chat({ stream, ...(stream ? { stream_options: { include_usage: true } } : {}) })
    const silence = async () => {
      // The ledger knows that the call is open.
      await until(() => it.server.gateway.book.health().queued === 0, 5)
      it.proxy.silence(true)
    }
    it.server.answerWith(async () => {
      if (stream) return pausedStream(streamEvents(['one', ' two'], usage(500)), 2, silence)
      await silence()
      return completion('one two', usage(500))
    })
    other.answerWith(() =>
      stream
        ? pausedStream(streamEvents(['three'], usage(700)), 99, silence)
        : completion('three', usage(700)),
    )
    const first = await it.server.post('/v1/chat/completions', body, headers, token)
    const firstText = await first.text()
    // The first gateway is silent for long enough that the other takes the call over.
    let second: Response
    let secondText = ''
    await until(async () => {
      second = await other.post('/v1/chat/completions', body, headers, token)
      secondText = await second.text()
      return second.status !== 503 && second.status !== 409
    })
    await it.backAgain(() => it.server.gateway.book.health().openCalls === 0)
    const costs = [told(first.headers, firstText), told(second!.headers, secondText)]
    const callId = second!.headers.get('x-request-id') ?? ''
    const charges = (await it.store.ledger.transfersOf(callId)).filter(({ kind }) => kind === 'usage')
    expect(charges).toHaveLength(1)
    const charged = Number(charges[0]?.amount) / 1e9
    expect(costs.filter((cost) => cost !== undefined).map(Number)).toEqual([charged])
    // Whoever asks once more gets the answer that was charged, from either.
    for (const server of [it.server, other]) {
      const again = await server.post('/v1/chat/completions', body, headers, token)
      const text = await again.text()
      expect([again.headers.get('idempotent-replayed'), Number(told(again.headers, text))]).toEqual([
        'true',
        charged,
      ])
    }
    expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  },
)
