/** What an answer and the usage say is left: the least of all that binds the reader. */
import { afterEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Nano } from '../../src/core/money.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  USD,
} from './harness.ts'

/** What the harness's vendor bills: ten tokens in, five out. */
const COST = 60_000n
/** A credit is a cent. */
const credits = (amount: Nano): number => Number(amount) / 1e7
const least = (amounts: readonly Nano[]): Nano => amounts.reduce((a, b) => (a < b ? a : b))

/** Limits in tens of cents, above what the calls of a test cost. */
const cap = fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined })
const caps = fc.record({
  ownCap: cap,
  ownMonth: cap,
  ownStop: cap,
  makerCap: cap,
  makerMonth: cap,
  makerStop: cap,
  sub: cap,
  daily: cap,
})
const nano = (tenths: number | undefined): Nano => BigInt(tenths ?? 0) * (USD / 10n)
const limitsOf = (spendCap?: number, monthlyCap?: number, stopAt?: number) => ({
  ...(spendCap === undefined ? {} : { spendCap: nano(spendCap) }),
  ...(monthlyCap === undefined ? {} : { monthlyCap: nano(monthlyCap) }),
  ...(stopAt === undefined ? {} : { stopAt: nano(stopAt) }),
})

for (const engine of serverEngines)
  describe(`what is left, on ${engine.name}`, () => {
    let stops: (() => Promise<unknown>)[] = []
    const start = async (fund: Nano): Promise<TestServer> => {
      const database = await engine.fresh()
      const server = await startTestServer({ url: database.url, fund })
      server.answerWith(() => completion('x'))
      stops.push(() => stopSound(server, database))
      return server
    }
    const stopAll = async () => {
      const ending = stops
      stops = []
      for (const stop of ending) await stop()
    }
    afterEach(stopAll)

    const call = (server: TestServer, token: string, more: object = {}, headers = {}) =>
      server.post('/v1/chat/completions', chat({ max_tokens: 5, ...more }), headers, token)
    const usageOf = async (server: TestServer, token: string) =>
      (await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))).data

    test('nothing is left where the wallet has less than a call needs', async () => {
      const server = await start(USD / 100n - 1n)
      const { token } = await server.newKey()
      expect((await call(server, token)).status).toBe(402)
      const { data } = await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))
      expect(data).toMatchObject({ remaining_usd: 0, limited_by: { limit: 'wallet', of: 'account' } })
    })

    test('the least that binds, whatever limits there are', async () => {
      const fund = 7n * USD
      await fc.assert(
        fc.asyncProperty(caps, async (it) => {
          const server = await start(fund)
          const maker = await server.newKey(limitsOf(it.makerCap, it.makerMonth, it.makerStop))
          const own = await server.newKey(limitsOf(it.ownCap, it.ownMonth, it.ownStop), {
            parentId: maker.id,
            canManage: true,
          })
          if (it.daily !== undefined)
            await server.send('PUT', '/api/wallet/rules', { daily_limit_usd: it.daily / 10 })
          const sub =
            it.sub === undefined
              ? undefined
              : (
                  await jsonOf(
                    await server.send(
                      'POST',
                      '/api/wallet/sub-wallets',
                      { budget_usd: it.sub / 10 },
                      own.token,
                    ),
                  )
                ).id
          const limits = [it.ownCap, it.ownMonth, it.makerCap, it.makerMonth, it.daily, it.sub]
            .filter((limit) => limit !== undefined)
            .map(nano)
          const stops = [it.ownStop, it.makerStop].filter((stop) => stop !== undefined).map(nano)
          const bound = (spent: Nano) =>
            least([fund, ...limits, ...stops.map((stop) => fund - stop)].map((limit) => limit - spent))
          const headers = sub === undefined ? {} : { 'x-sub-wallet': sub }
          for (let calls = 1n; calls <= 3n; calls++) {
            const body = await jsonOf(await call(server, own.token, {}, headers))
            const left = bound(calls * COST)
            expect(body._remaining_credits).toBe(credits(left))
            expect(body._balance_warning).toBe(left < USD / 10n)
          }
          await stopAll()
        }),
        { numRuns: engine.name === 'PostgreSQL' ? 4 : 40 },
      )
    })

    test('a tenant under its own cap never sees the wallet of its reseller', async () => {
      const server = await start(5_000n * USD)
      const reseller = await server.newKey()
      const tenant = await server.newKey({ spendCap: 5n * USD }, { parentId: reseller.id })
      const body = await jsonOf(await call(server, tenant.token))
      expect(body._remaining_credits).toBe(499.994)
      server.answerWith(() => streaming(streamEvents(['x'])))
      const streamed = await call(server, tenant.token, {
        stream: true,
        stream_options: { include_usage: true },
      })
      const last = JSON.parse(eventsOf(await streamed.text()).at(-2) ?? '')
      expect(last._remaining_credits).toBe(499.988)
      expect(await usageOf(server, tenant.token)).toMatchObject({
        remaining_usd: 4.99988,
        limited_by: { limit: 'spend_cap_usd', of: 'key' },
      })
      expect(await usageOf(server, reseller.token)).toMatchObject({
        remaining_usd: 4999.99988,
        limited_by: { limit: 'wallet', of: 'account' },
      })
    })

    test('a child under the spent cap of its reseller learns it, and the warning comes in time', async () => {
      const server = await start(5_000n * USD)
      const reseller = await server.newKey({ spendCap: 12n * COST })
      const child = await server.newKey({ spendCap: USD }, { parentId: reseller.id })
      const first = await jsonOf(await call(server, child.token))
      expect([first._remaining_credits, first._balance_warning]).toEqual([credits(11n * COST), true])
      let spent = COST
      while ((await call(server, child.token)).status === 200) spent += COST
      expect(await usageOf(server, child.token)).toMatchObject({
        spent_usd: Number(spent) / 1e9,
        remaining_usd: Number(12n * COST - spent) / 1e9,
        limited_by: { limit: 'spend_cap_usd', of: 'parent' },
      })
    })

    test('what others spend under a shared limit counts, and so does a raised one', async () => {
      const server = await start(5_000n * USD)
      const reseller = await server.newKey({ monthlyCap: 10n * USD })
      const [one, other] = [
        await server.newKey({}, { parentId: reseller.id }),
        await server.newKey({}, { parentId: reseller.id }),
      ]
      await call(server, one.token)
      const answer = await jsonOf(await call(server, other.token))
      expect(answer._remaining_credits).toBe(credits(10n * USD - 2n * COST))
      expect(await usageOf(server, one.token)).toMatchObject({
        remaining_usd: 9.99988,
        limited_by: { limit: 'monthly_cap_usd', of: 'parent' },
      })
      await server.send('PUT', '/v1/key/wholesale/me/limits', { monthly_cap_usd: 9 }, reseller.token)
      const after = await jsonOf(await call(server, other.token))
      expect(after._remaining_credits).toBe(credits(9n * USD - 3n * COST))
    })

    test('open calls are not spent in answers, and are not free in the usage; other days and months are other', async () => {
      const server = await start(50n * USD)
      const { token } = await server.newKey({ monthlyCap: 4n * USD })
      await server.send('PUT', '/api/wallet/rules', { daily_limit_usd: 3 })
      const bound = await jsonOf(await server.send('POST', '/api/wallet/sub-wallets', { budget_usd: 2 }))
      const tied = await server.newKey({ spendCap: 20n * USD }, { subWallet: bound.id })
      expect(await usageOf(server, token)).toMatchObject({
        remaining_usd: 3,
        limited_by: { limit: 'daily_limit_usd', of: 'account' },
      })
      expect(await usageOf(server, tied.token)).toMatchObject({
        remaining_usd: 2,
        limited_by: { limit: 'sub_wallet', of: 'account' },
      })
      server.answerWith(() => streaming(streamEvents(['x']), 'hang'))
      const open = await call(server, token, { stream: true })
      const during = await usageOf(server, token)
      expect(during.held_usd).toBeGreaterThan(0)
      expect(during.remaining_usd).toBeCloseTo(3 - during.held_usd, 9)
      await open.body?.cancel()
    })
  })
