/**
 * A server is killed when Stripe has charged a card and before it wrote that down: the next server finds the charge, and
 * it buys its answer once.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { startProgram } from '../program.ts'
import { completion } from '../server/harness.ts'
import { WEBHOOK_SECRET } from '../server/stripe-fake.ts'
import { until } from '../until.ts'
import { cardOptions, checkCards, newToken, PROFILE, startCards } from './card-rig.ts'
import { payerBy, receiptIn, stripeOf } from './mpp-payer.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-cards-'))
afterAll(() => rmSync(folder, { recursive: true }))

test.each(['the payer sends it again', 'nobody sends it again at first'] as const)(
  'kill -9 between charge and record, %s',
  async (how) => {
    const stripe = startCards()
    let calls = 0
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => {
        calls++
        return completion('hello')
      },
    })
    const file = join(folder, 'turnpike.yaml')
    writeFileSync(
      file,
      `vendors:
  mock:
    base_url: http://127.0.0.1:${vendor.port}/v1
    models:
      small: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
x402:
  facilitator: ${cardOptions.facilitatorUrl}
  pay_to: "${cardOptions.offers[0]?.payTo}"
  accept: [base-sepolia]
  settle_seconds: 1
`,
    )
    const database = `sqlite:${join(folder, `${how.slice(0, 3)}.db`)}`
    const start = () =>
      startProgram(folder, {
        DATABASE_URL: database,
        TURNPIKE_CONFIG: file,
        STRIPE_SECRET_KEY: 'sk_test_key',
        STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
        STRIPE_BASE_URL: stripe.settings.baseUrl,
        STRIPE_NETWORK_ID: PROFILE,
      })
    const first = await start()
    const { pay, sent } = payerBy(stripeOf(newToken), (request) => fetch(request))
    const ask = (address: string, headers = {}) =>
      new Request(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] }),
      })
    stripe.hang('after')
    const unanswered = pay(ask(first.address)).catch(() => undefined)
    await until(() => stripe.charges.length === 1)
    first.child.kill('SIGKILL')
    await first.child.exited
    await unanswered
    expect(calls).toBe(0)

    stripe.hang(undefined)
    // A server may ask before it says that it has started.
    const asked = stripe.asked()
    const second = await start()
    // The rounds of the server ask Stripe for it by themselves.
    if (how === 'nobody sends it again at first') await until(() => stripe.asked() > asked)
    const authorization = sent[1]?.headers.get('authorization') ?? ''
    const response = await fetch(ask(second.address, { authorization }))
    expect([response.status, receiptIn(response)?.reference]).toEqual([200, stripe.charges[0]?.id as string])
    expect(await response.text()).toContain('hello')
    second.child.kill('SIGTERM')
    await second.child.exited
    expect([stripe.charges.length, calls]).toEqual([1, 1])

    const store = await openStore({ url: database })
    await checkCards({ store }, stripe)
    await store.close()
    await vendor.stop(true)
    await stripe.stop()
  },
)
