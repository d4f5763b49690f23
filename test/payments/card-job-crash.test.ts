/**
 * Servers are killed at each step of a job that is paid by card. Afterwards the card was charged once, the vendor has at most one job, and
 * what the job did not cost of the charge is the payer's.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { startProgram } from '../program.ts'
import { oneOf } from '../sample.ts'
import { png } from '../server/asset-rig.ts'
import { WEBHOOK_SECRET } from '../server/stripe-fake.ts'
import { engines } from '../store/engines.ts'
import { until } from '../until.ts'
import { cardOptions, checkCards, newToken, PROFILE, signedByCard, startCards } from './card-rig.ts'
import { again } from './rig.ts'
import { type Stop, stopAt } from './stop-at.ts'

type Arrow = {
  readonly name: string
  /** Where the server stands when it is killed. */
  readonly at: { readonly sql: Stop } | 'stripe' | 'vendor' | 'poll'
  /** The vendor may have the job and nobody knows its name: it is given up, and costs its payer nothing. */
  readonly lost?: true
}

const sql = (before: string, when = '1 = 1') => ({ sql: { before, when } })
const arrows: readonly Arrow[] = [
  { name: 'a payment that is not recorded', at: sql('insert on x402_payment') },
  { name: 'a card that was charged', at: 'stripe' },
  { name: 'a charge that is not noted', at: sql('update on x402_payment', `new.state = 'settled'`) },
  { name: 'a job that begins', at: sql('insert on run') },
  { name: "the vendor's answer", at: 'vendor', lost: true },
  { name: "the vendor's name of the job", at: sql('update on run', `new.state = 'running'`), lost: true },
  { name: 'a job that runs', at: 'poll' },
  { name: "the job's charge", at: sql('insert on transfer', `new.kind = 'usage'`) },
]

const picture = png(64, 64)
const job = {
  model: 'stability/upscale-creative',
  inputs: { image: `data:image/png;base64,${picture.toString('base64')}`, prompt: 'stripes' },
}

for (const [nth, engine] of engines.filter(({ lasting }) => lasting).entries())
  describe(`kill -9 beside jobs by card on ${engine.name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-card-jobs-'))
    const stripe = startCards()
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: Awaited<ReturnType<typeof startProgram>>
    let token = ''
    let submitted = 0
    /** What the vendor waits for before it answers each request; undefined for nothing. */
    let waits: ((method: string) => Promise<void> | undefined) | undefined
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async ({ method }) => {
        if (method === 'POST') submitted++
        await waits?.(method)
        return method === 'POST'
          ? Response.json({ id: `job-${submitted}` })
          : new Response(picture, { headers: { 'content-type': 'image/png' } })
      },
    })
    const start = async () => {
      server = await startProgram(folder, {
        DATABASE_URL: database.url,
        TURNPIKE_CONFIG: 'turnpike.yaml',
        STABILITY_API_KEY: 'sk-test',
        STABILITY_BASE_URL: `http://127.0.0.1:${vendor.port}`,
        STRIPE_SECRET_KEY: 'sk_test_key',
        STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
        STRIPE_BASE_URL: stripe.settings.baseUrl,
        STRIPE_NETWORK_ID: PROFILE,
      })
      token ||= server.token
    }
    const kill = async () => {
      server.child.kill('SIGKILL')
      await server.child.exited
    }
    beforeAll(async () => {
      database = await engine.fresh()
      writeFileSync(
        join(folder, 'turnpike.yaml'),
        `x402:
  facilitator: ${cardOptions.facilitatorUrl}
  pay_to: "${cardOptions.offers[0]?.payTo}"
  accept: [base-sepolia]
  settle_seconds: 1
`,
      )
      await start()
    })
    afterAll(async () => {
      await kill()
      await vendor.stop(true)
      await stripe.stop()
      await database.stop()
      rmSync(folder, { recursive: true })
    })

    /** Resolves once the server stands there. */
    const standsAt = async (at: Arrow['at']) => {
      const over = async () => undefined
      if (typeof at === 'object') return stopAt(database.url, at.sql)
      if (at === 'stripe') {
        const charges = stripe.charges.length
        stripe.hang('after')
        return { reached: () => until(() => stripe.charges.length > charges), over }
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      waits = (method) => {
        if ((method === 'POST') !== (at === 'vendor')) return undefined
        resolve()
        return new Promise(() => undefined)
      }
      return { reached: () => promise, over }
    }

    const request = () =>
      new Request(`${server.address}/v1/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(job),
      })
    const claim = async (text: string): Promise<number | undefined> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ claim: text })
      const answer = await fetch(`${server.address}/api/wallet/claim`, { method: 'POST', headers, body })
      const { data } = (await answer.json()) as { data?: { credited_usd: number } }
      return data?.credited_usd
    }

    // Each place is on one engine, and in CI on both.
    for (const { name, at, lost } of oneOf(2, arrows, nth))
      test(`at ${name}`, async () => {
        const before = { charges: stripe.charges.length, submitted, used: await used() }
        const signed = await signedByCard({ fetch: (one) => fetch(one) }, request(), newToken())
        const { reached, over } = await standsAt(at)
        const unanswered = fetch(again(signed)).catch(() => undefined)
        await reached()
        await kill()
        await over()
        await unanswered
        stripe.hang(undefined)
        waits = undefined
        await start()
        const headers = Object.fromEntries(signed.headers)
        let credited: number | undefined
        await until(async () => {
          const response = await fetch(request(), { headers })
          if (response.status !== 200 && !(lost && response.status === 503)) return false
          credited = await claim(response.headers.get('x-change-claim') ?? '')
          return credited !== undefined
        }, 500)
        const charged = BigInt(stripe.charges.at(-1)?.form.amount ?? '0') * 10_000_000n
        const cost = (await used()) - before.used
        expect([stripe.charges.length - before.charges, submitted - before.submitted]).toEqual([1, 1])
        expect(cost > 0n).toBe(lost !== true)
        expect(BigInt(Math.round((credited ?? 0) * 1e9))).toBe(charged - cost)
      })

    /** What jobs were charged in all; every law of the ledger holds, and Stripe's book is the ledger. */
    const used = async (): Promise<bigint> => {
      const store = await openStore({ url: database.url })
      await checkCards({ store }, stripe)
      const revenue = await store.ledger.balance('revenue')
      await store.close()
      return revenue
    }
  })
