/** Top-ups by real servers: several on one database charge a low wallet once, even when one is killed meanwhile. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { fetchAgain } from '../late-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { runProgram, startProgram } from '../program.ts'
import { eventOf, paymentOf, signatureOf, startFakeStripe, WEBHOOK_SECRET } from '../server/stripe-fake.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-top-up-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('top-ups by servers', () => {
  let database: Awaited<ReturnType<typeof postgresForTests>>
  let stripe: ReturnType<typeof startFakeStripe>
  let running: Awaited<ReturnType<typeof startProgram>>[] = []

  beforeEach(async () => {
    database = await postgresForTests()
    stripe = startFakeStripe()
  })
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGTERM')
    for (const { child } of running) await child.exited
    running = []
    await stripe.stop()
    await database.stop()
  })

  const settings = () => ({
    DATABASE_URL: database.url,
    STRIPE_SECRET_KEY: 'sk_test_key',
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_BASE_URL: stripe.settings.baseUrl,
  })
  const start = async () => {
    const server = await startProgram(folder, settings())
    running.push(server)
    return server
  }
  const deliver = async (address: string, payment: object) => {
    const body = eventOf('payment_intent.succeeded', payment)
    const headers = { 'stripe-signature': await signatureOf(body), 'content-type': 'application/json' }
    const response = await fetchAgain(`${address}/api/webhooks/stripe`, { method: 'POST', headers, body })
    expect(response.status).toBe(200)
  }
  /**
   * The operator's wallet of 100 USD, 5 USD more by the checkout that saves the card, and a rule whose limit is above
   * that.
   */
  const setRule = async ({ address, token }: { address: string; token: string }) => {
    const send = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetchAgain(`${address}${path}`, { method, headers, body: JSON.stringify(body) })
      expect([path, response.ok]).toEqual([path, true])
      return response.json() as Promise<{ id: string }>
    }
    const asked = { amount_usd: 5, save_payment_method: true }
    const { id } = await send('POST', '/api/wallet/checkout', asked)
    const card = { customer: 'cus_1', payment_method: 'pm_1', setup_future_usage: 'off_session' }
    await deliver(address, paymentOf(id, 'pi_saving', 500, card))
    await send('PUT', '/api/wallet/rules', { auto_top_up: { below_usd: 110, amount_usd: 20 } })
  }
  const asked = (times: number) => until(() => stripe.asked() >= times)
  /** The state of the only charge when its event has reached all servers. */
  const paidOnce = async () => {
    expect(stripe.charges).toHaveLength(1)
    const charge = stripe.charges[0]
    for (const { address } of [...running, ...running])
      await deliver(address, paymentOf(charge?.key ?? '', charge?.id ?? '', 2000))
    const { out } = await runProgram(folder, settings(), 'wallet', 'show', '--json')
    expect(JSON.parse(out)).toMatchObject({
      balance_usd: 125,
      auto_top_up: '20 USD when below 110 USD',
      topped_up_today_usd: 20,
    })
    expect([stripe.charges.length, (await runProgram(folder, settings(), 'audit')).code]).toEqual([1, 0])
  }

  test('two of them charge a saved card once, and credit it by the event', async () => {
    const first = await start()
    await start()
    await setRule(first)
    await asked(1)
    await paidOnce()
  })

  test.each(['before', 'after'] as const)(
    'one that is killed %s Stripe took its payment is followed by another, which asks for the same one',
    async (when) => {
      const first = await start()
      stripe.hang(when)
      await setRule(first)
      await asked(1)
      first.child.kill('SIGKILL')
      await first.child.exited
      expect(stripe.charges).toHaveLength(when === 'before' ? 0 : 1)
      stripe.hang(undefined)
      // As if the wait for the lost answer were over.
      const engine = openEngine(database)
      await engine.batch('control', [{ text: 'update top_up set next_at = 0', params: [] }])
      await engine.close()
      running = []
      await start()
      await asked(2)
      await paidOnce()
    },
  )
})
