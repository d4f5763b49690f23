/**
 * A vendor that dies in mid-stream: every kind of caller is charged what was delivered, the last event says exactly
 * that, and a repeat gets the same answer at no further cost.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano } from '../../src/core/money.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  chunk,
  eventsOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  USD,
} from './harness.ts'

const body = chat({ stream: true })
const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4)
/** Two words of two letters: an event is at least a token. */
const COST = BigInt(inputTokens) * 1_000n + 2n * 10_000n

const broken = () => streaming(streamEvents(['a ', 'b ']).slice(0, 3), 'break')

const lastEvent = (text: string): any => JSON.parse(eventsOf(text).at(-1) ?? '{}')

for (const engine of serverEngines)
  describe(`a broken stream, ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
      await server.store.credit.grantCredit({ walletId: server.wallet, limit: USD, netDays: 14 }, byTest)
    })
    afterAll(() => stopSound(server, database))

    const spentBy = async (id: string) => (await server.store.keys.spend(id)).spent

    const callers = [false, true].flatMap((keyed) =>
      ['wallet', 'mpp'].map((mode): [string, Record<string, string>, boolean] => [
        `${mode}${keyed ? ' with an Idempotency-Key' : ''}`,
        { 'x-payment-protocol': mode },
        keyed,
      ]),
    )
    test.each(callers)(
      '%s: the delivered part is charged, and the error says so',
      async (_who, headers, keyed) => {
        const { id, token } = await server.newKey()
        server.answerWith(broken)
        const all = { ...headers, ...(keyed ? { 'idempotency-key': crypto.randomUUID() } : {}) }
        const text = await (await server.post('/v1/chat/completions', body, all, token)).text()
        while (server.openCalls() > 0) await Bun.sleep(1)
        expect(await spentBy(id)).toBe(COST)
        const { error } = lastEvent(text)
        expect(error).toMatchObject({
          code: 'upstream_error',
          provider: 'mock',
          cost_usd: Number(COST) / 1e9,
          estimated: true,
        })
        expect(error.message).toContain(`${decimalFromNano(COST)} USD`)
        expect(text).not.toContain('Nothing was charged')
        expect(text).not.toContain('[DONE]')
      },
    )

    test('what a tool of free text gets is delivered too', async () => {
      const { id, token } = await server.newKey()
      const [start = ''] = streamEvents([])
      const custom = { name: 'f', input: 'ab' }
      const delta = { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom }] }
      server.answerWith(() => streaming([start, chunk([{ index: 0, delta }])], 'break'))
      const text = await (await server.post('/v1/chat/completions', body, {}, token)).text()
      while (server.openCalls() > 0) await Bun.sleep(1)
      expect(text).not.toContain('Nothing was charged')
      expect(await spentBy(id)).toBe(COST - 10_000n)
    })

    test('of two answers one of which had not ended, it is broken; cut for want of money, each has an end', async () => {
      const asked = { ...body, n: 2 }
      const ended = (text: string) =>
        eventsOf(text).flatMap((data) => {
          const { choices } = data === '[DONE]' ? {} : JSON.parse(data)
          return (choices ?? []).flatMap((one: any) =>
            one.finish_reason ? [[one.index, one.finish_reason]] : [],
          )
        })
      const delta = (index: number, content: string, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [{ index, delta: { content }, finish_reason }] })}\n\n`
      const first = [delta(0, 'a '), delta(1, 'b '), delta(0, 'c', 'stop')]
      server.answerWith(() => streaming([...first, delta(1, 'd ')], 'break'))
      const text = await (await server.post('/v1/chat/completions', asked)).text()
      expect(lastEvent(text).error?.code).toBe('upstream_error')
      server.answerWith(() => streaming([...first, ...Array.from({ length: 400 }, () => delta(1, 'word '))]))
      const cut = await server.post('/v1/chat/completions', asked, { 'x-max-cost-usd': '0.002' })
      expect(ended(await cut.text())).toEqual([
        [0, 'stop'],
        [1, 'length'],
      ])
    })

    test('under an Idempotency-Key a repeat gets the same broken answer, and neither asks nor pays again', async () => {
      const { id, token } = await server.newKey()
      const header = { 'idempotency-key': crypto.randomUUID() }
      const asked = server.asked.length
      server.answerWith(broken)
      const [first, joined] = await Promise.all(
        [1, 2].map(() => server.post('/v1/chat/completions', body, header, token)),
      )
      const text = (await first?.text()) ?? ''
      expect(await joined?.text()).toBe(text)
      server.answerWith(() => streaming(streamEvents(['a ', 'b '])))
      const again = await server.post('/v1/chat/completions', body, header, token)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.text()).toBe(text)
      expect(lastEvent(text).error.message).toContain('as a new call')
      expect(server.asked.length - asked).toBe(1)
      expect(await spentBy(id)).toBe(COST)
    })

    test('a stream that breaks off before any content is free, and runs again under its key', async () => {
      const { id, token } = await server.newKey()
      const header = { 'idempotency-key': crypto.randomUUID() }
      server.answerWith(() => streaming(streamEvents([]).slice(0, 1), 'break'))
      const nothing = await (await server.post('/v1/chat/completions', body, header, token)).text()
      expect(lastEvent(nothing).error.message).toContain('Nothing was charged')
      expect(lastEvent(nothing).error.cost_usd).toBeUndefined()
      server.answerWith(() => streaming(streamEvents(['a ', 'b '])))
      let whole = ''
      while (!whole.endsWith('[DONE]\n\n'))
        whole = await (await server.post('/v1/chat/completions', body, header, token)).text()
      expect(await spentBy(id)).toBe(60_000n)
    })

    test('of all streams under one key, of two processes, one has content, and it alone is charged', async () => {
      const { id, token } = await server.newKey()
      const header = { 'idempotency-key': crypto.randomUUID() }
      const other = engine.name === 'PostgreSQL' ? await startTestServer({ url: database.url }) : server
      // Two that break off before any content, one after two words, and only sound ones from then on.
      const early = () => streaming(streamEvents([]).slice(0, 1), 'break')
      const turns = [early, early, broken]
      const vendor = () => (turns.shift() ?? (() => streaming(streamEvents(['a ', 'c ']))))()
      server.answerWith(vendor)
      other.answerWith(vendor)
      const ask = async (from: TestServer) =>
        (await from.post('/v1/chat/completions', body, header, token)).text()
      const texts: string[] = []
      for (let round = 0; round < 3; round++) {
        texts.push(...(await Promise.all([ask(server), ask(server), ask(other)])))
        texts.push(await ask(round % 2 === 0 ? other : server))
      }
      if (other !== server) await other.stop()
      const free = texts.filter((text) => text.includes('Nothing was charged'))
      const said = texts.filter((text) => !text.includes('Nothing was charged'))
      expect(free.length).toBeGreaterThan(1)
      for (const text of free) expect(text).not.toContain('"content":"a "')
      expect(new Set(said).size).toBe(1)
      expect(said[0]).toContain(`${decimalFromNano(COST)} USD`)
      expect(turns).toEqual([])
      while (server.openCalls() > 0) await Bun.sleep(1)
      expect(await spentBy(id)).toBe(COST)
    })

    test('copies that arrive together are one broken answer and one charge for each key', async () => {
      const { id, token } = await server.newKey()
      server.answerWith(broken)
      const texts = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const header = { 'idempotency-key': `crowd-${index % 4}` }
          return (await server.post('/v1/chat/completions', body, header, token)).text()
        }),
      )
      expect(new Set(texts).size).toBe(4)
      while (server.openCalls() > 0) await Bun.sleep(1)
      expect(await spentBy(id)).toBe(4n * COST)
    })
  })
