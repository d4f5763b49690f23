/** Alerts of many wallets at once: whoever does not answer keeps nobody else waiting. */

import { expect, test } from 'bun:test'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { keepAlerting } from '../../src/gateway/jobs/wallet-alerts.ts'
import { newMeters } from '../../src/metrics/meters.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { startTestServer, USD } from './harness.ts'

for (const engine of serverEngines)
  test(`a receiver that is silent delays no other on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const server = await startTestServer({ url: database.url })
    const { store, hash } = server
    const got: string[] = []
    const released = Promise.withResolvers<void>()
    const webhooks = {
      resolve: async () => ['93.184.215.14'],
      fetch: async (url: string) => {
        const { pathname } = new URL(url)
        got.push(pathname)
        if (pathname.startsWith('/silent')) await released.promise
        return new Response(null, { status: pathname.startsWith('/refuses') ? 500 : 204 })
      },
    }
    const low = async (name: string) => {
      await store.wallets.createWallet({ id: name, orgId: 'org_test', name }, byTest)
      await store.wallets.changeWalletRules(
        name,
        {
          alertBelow: USD,
          alertWebhookUrl: `https://hooks.example.com/${name}`,
        },
        byTest,
      )
    }
    const clock = { ...systemClock, sleep: () => Bun.sleep(10) }
    const meters = newMeters()
    const parts = { store: store.wallets, clock, log: silentLog, hash, webhooks, meters }
    const stop = keepAlerting(parts, () => 0)
    const counted = (outcome: string) => meters.registry.counter('webhooks', ['alert', outcome]).value
    try {
      await low('silent')
      await until(async () => got.includes('/silent'))
      await low('late')
      await until(async () => got.includes('/late'))
      expect(got).toEqual(['/silent', '/late'])
      await until(() => counted('accepted') === 1)
      expect(counted('failed')).toBe(0)
      await low('refuses')
      await until(() => counted('failed') === 1)
      stop()
      // Those that were never tried come first, and each is given out once.
      await low('one')
      await low('two')
      const taken = [await store.wallets.takeAlerts(1), await store.wallets.takeAlerts(1)]
      expect(taken.map((alerts) => alerts.map(({ walletId }) => walletId)).toSorted()).toEqual([
        ['one'],
        ['two'],
      ])
      expect(await store.wallets.takeAlerts(1)).toEqual([])
    } finally {
      stop()
      released.resolve()
    }
    await stopSound(server, database)
  })
