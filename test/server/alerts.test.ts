/**
 * The alert that a wallet's own rules ask for: its webhook has the form that it always had, is told once until the wallet
 * was above again, and belongs to the rules alone. Whoever does not answer keeps nobody else waiting.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { keepWatching, lookAtRules, sendDue } from '../../src/gateway/alerts/keep-watching.ts'
import { webhookSecret } from '../../src/gateway/jobs/signed-webhook.ts'
import { newMeters } from '../../src/metrics/meters.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { jsonOf, startTestServer, type TestServer, USD } from './harness.ts'

const path = '/api/wallet/rules'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let ahead = 0
    const now = () => Date.now() + ahead
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    let token: string
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url, now })
      token = (await server.newKey({}, { canManage: true })).token
    })
    afterAll(() => stopSound(server, database))

    /** A receiver that answers by the first part of the path; what it got, and the parts that send to it. */
    const receiver = (answer: (pathname: string) => Promise<number> | number) => {
      const got: { url: string; headers: Headers; body: string }[] = []
      const webhooks = {
        resolve: async () => ['93.184.215.14'],
        fetch: async (url: string, init: BunFetchRequestInit) => {
          got.push({ url, headers: new Headers(init.headers), body: String(init.body) })
          return new Response(null, { status: await answer(new URL(url).pathname) })
        },
      }
      const { store, hash } = server
      return { got, parts: { store, clock: { ...systemClock, now }, log: silentLog, hash, webhooks } }
    }
    const move = (amount: bigint) =>
      server.store.ledger.post({
        kind: 'adjust',
        ref: crypto.randomUUID(),
        debit: amount < 0n ? server.wallet : 'cash',
        credit: amount < 0n ? 'revenue' : server.wallet,
        amount: amount < 0n ? -amount : amount,
      })
    const put = async (rules: object) => jsonOf(await server.send('PUT', path, rules, token))

    test('a signed webhook warns once when the wallet falls under an amount, and again after it was above', async () => {
      let status = 500
      const { got, parts } = receiver(() => status)
      const heard = async () => {
        ahead += 20 * 60_000
        const before = got.length
        await Promise.all([lookAtRules(parts), lookAtRules(parts)])
        const sent = await Promise.all([sendDue(parts), sendDue(parts)])
        await Promise.all(sent.flat())
        return got.length - before
      }
      const alert_webhook_url = 'https://hooks.example.com/low?team=1'
      const set = await put({ alert_below_usd: 50, alert_webhook_url })
      expect(set.alert_webhook_secret).toBe(webhookSecret(server, server.wallet))
      expect(await heard()).toBe(0)
      await move(-60n * USD)
      // Refused at first, so it comes again.
      expect([await heard(), await heard()]).toEqual([1, 1])
      status = 204
      expect([await heard(), await heard()]).toEqual([1, 0])
      const [first, again, last] = got
      expect(first?.url).toBe('https://93.184.215.14/low?team=1')
      expect(first?.headers.get('host')).toBe('hooks.example.com')
      const { type, timestamp, data } = JSON.parse(first?.body ?? '')
      expect([type, timestamp]).toEqual(['wallet.below', new Date(timestamp).toISOString()])
      expect(data).toEqual({ wallet_id: server.wallet, alert_below_usd: 50, balance_usd: 40 })
      const ids = [first, again, last].map((one) => one?.headers.get('webhook-id'))
      expect(new Set(ids).size).toBe(1)
      const key = Buffer.from(set.alert_webhook_secret.slice('whsec_'.length), 'base64')
      const signed = `${ids[0]}.${first?.headers.get('webhook-timestamp')}.${first?.body}`
      expect(first?.headers.get('webhook-signature')).toBe(
        `v1,${new Bun.CryptoHasher('sha256', key).update(signed).digest('base64')}`,
      )
      // Nothing is told of its end, and on the same day it warns again.
      await move(60n * USD)
      expect(await heard()).toBe(0)
      await move(-60n * USD)
      expect([await heard(), await heard()]).toEqual([1, 0])
      // Another amount begins anew.
      await put({ alert_below_usd: 45 })
      expect([await heard(), await heard()]).toEqual([1, 0])
      await put({ alert_below_usd: null, alert_webhook_url: null })
      await move(60n * USD)
      await move(-60n * USD)
      expect(await heard()).toBe(0)
      expect(await server.store.alerts.rules('org_test')).toEqual([])
      expect(await server.store.alerts.channels('org_test')).toEqual([])
    })

    test('the alert and the channel of a wallet are listed, and changed by its rules alone', async () => {
      await put({ alert_below_usd: 1, alert_webhook_url: 'https://hooks.example.com/own' })
      const [rule] = (await jsonOf(await server.get('/v1/alerts', token))).data
      expect(rule).toMatchObject({
        id: server.wallet,
        kind: 'balance',
        subject: server.wallet,
        amount_usd: 1,
      })
      const [channel] = (await jsonOf(await server.get('/v1/alert-channels', token))).data
      expect(channel).toMatchObject({ id: server.wallet, target: 'https://hooks.example.com/own' })
      const change = { name: 'x', kind: 'balance', amount_usd: 2, steps: [50], channels: [] }
      const statuses = [
        await server.send('PUT', `/v1/alerts/${rule.id}`, change, token),
        await server.send('DELETE', `/v1/alerts/${rule.id}`, undefined, token),
        await server.send('DELETE', `/v1/alert-channels/${channel.id}`, undefined, token),
      ].map(({ status }) => status)
      expect(statuses).toEqual([404, 404, 404])
      expect(await server.store.alerts.rules('org_test')).toMatchObject([{ amount: USD }])
      await put({ alert_below_usd: null, alert_webhook_url: null })
    })

    test('a receiver that is silent delays no other', async () => {
      const released = Promise.withResolvers<void>()
      const { got, parts } = receiver(async (pathname) => {
        if (pathname.startsWith('/silent')) await released.promise
        return pathname.startsWith('/refuses') ? 500 : 204
      })
      const low = async (name: string) => {
        await server.store.wallets.createWallet({ id: name, orgId: 'org_test', name }, byTest)
        const rules = { alertBelow: USD, alertWebhookUrl: `https://hooks.example.com/${name}` }
        await server.store.wallets.changeWalletRules(name, rules, byTest)
      }
      const meters = newMeters()
      const clock = { ...systemClock, sleep: () => Bun.sleep(10) }
      const stop = keepWatching({ ...parts, clock, meters }, () => 0)
      const counted = (outcome: string) => meters.registry.counter('webhooks', ['alert', outcome]).value
      const heard = () => got.map(({ url }) => new URL(url).pathname)
      try {
        await low('silent')
        await until(async () => heard().includes('/silent'))
        await low('late')
        await until(async () => heard().includes('/late'))
        expect(heard()).toEqual(['/silent', '/late'])
        await until(() => counted('accepted') === 1)
        expect(counted('failed')).toBe(0)
        await low('refuses')
        await until(() => counted('failed') === 1)
      } finally {
        stop()
        released.resolve()
      }
    })
  })
