/**
 * Servers are killed at each step of a call that is paid by a voucher, and of the claims. Afterwards each answer is paid once,
 * the contract's total is the ledger's, and the books hold.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { codes } from '../../src/payment/x402/voucher.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { startProgram } from '../program.ts'
import { oneOf } from '../sample.ts'
import { completion, streamEvents, streaming } from '../server/harness.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { until } from '../until.ts'
import { accountOf, hasChain } from './chain.ts'
import { claimedFor, installChannels, nameOf, newPayer, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { type Stop, stopAt } from './stop-at.ts'

type Arrow = {
  readonly name: string
  /** Where the server stands when it is killed. */
  readonly at:
    | { readonly sql: Stop }
    | { readonly type: 'deposit' | 'claim' | 'settle'; readonly when: 'before' | 'after' }
    | 'challenge'
    | 'vendor'
    | 'stream'
  /** The state of the voucher that the dead server leaves. */
  readonly left: 'authorized' | 'settled' | undefined
  /** The call was answered before: the claims came after it. */
  readonly answered?: true
}

const sql = (before: string, when = '1 = 1') => ({ sql: { before, when } })
const arrows: readonly Arrow[] = [
  { name: 'the challenge', at: 'challenge', left: undefined },
  { name: 'a deposit on its way', at: { type: 'deposit', when: 'before' }, left: undefined },
  { name: 'a deposit that reached the chain', at: { type: 'deposit', when: 'after' }, left: undefined },
  { name: 'a voucher that is not recorded', at: sql('insert on x402_payment'), left: undefined },
  { name: 'a voucher that was taken', at: sql('insert on lease'), left: 'authorized' },
  { name: 'a hold', at: sql('insert on inflight'), left: 'authorized' },
  { name: "the vendor's answer", at: 'vendor', left: 'authorized' },
  { name: 'a stream of which a checkpoint is recorded', at: 'stream', left: 'authorized' },
  { name: 'the charge', at: sql('insert on transfer', `new.kind = 'usage'`), left: 'authorized' },
  {
    name: "the channel's charge",
    at: sql('update on x402_channel', 'new.charged > old.charged'),
    left: 'authorized',
  },
  { name: 'a claim on its way', at: { type: 'claim', when: 'before' }, left: 'settled', answered: true },
  { name: 'a claim on the chain', at: { type: 'claim', when: 'after' }, left: 'settled', answered: true },
  {
    name: 'a claim that is not noted',
    at: sql('update on x402_channel', 'new.claimed > old.claimed'),
    left: 'settled',
    answered: true,
  },
  { name: 'a sweep on the chain', at: { type: 'settle', when: 'after' }, left: 'settled', answered: true },
  // The last, so that nothing but the next start can sweep.
  { name: 'a sweep on its way', at: { type: 'settle', when: 'before' }, left: 'settled', answered: true },
]

/** Ten tokens in and five out. */
const UNITS = 60n
const sum = (channels: ReadonlyMap<string, bigint>) => [...channels.values()].reduce((a, b) => a + b, 0n)
const PAY_TO = accountOf(6).address

describe.skipIf(!hasChain)('kill -9 beside x402 vouchers', () => {
  const on = onChain(installChannels)

  for (const [nth, engine] of engines.filter(({ lasting }) => lasting).entries())
    describe(`on ${engine.name}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-vouchers-'))
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let answer: () => Response | Promise<Response> = () => completion('hello')
      const vendor = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: () => answer() })
      let server: Awaited<ReturnType<typeof startProgram>>
      /** What the engine before this one brought. */
      let swept = 0n
      const channels = new Map<string, bigint>()
      /** The channels of payers who were told that nothing was charged. */
      const turnedAway: string[] = []
      const start = async () => {
        server = await startProgram(folder, {
          DATABASE_URL: database.url,
          TURNPIKE_CONFIG: 'turnpike.yaml',
          // A call that nobody asks for again is charged after the longest that it can take.
          TOTAL_SECONDS: '10',
        })
      }
      const kill = async () => {
        server.child.kill('SIGKILL')
        await server.child.exited
      }
      const inBooks = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
        const store = await openStore({ url: database.url })
        try {
          return await work(store)
        } finally {
          await store.close()
        }
      }
      beforeAll(async () => {
        database = await engine.fresh()
        swept = await on.chain.unitsOf(PAY_TO)
        writeFileSync(
          join(folder, 'turnpike.yaml'),
          `vendors:
  mock:
    base_url: http://127.0.0.1:${vendor.port}/v1
    models:
      small: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
x402:
  facilitator: ${on.facilitator.url}
  pay_to: "${PAY_TO}"
  accept: [{ token: base-sepolia, rpc_url: "${on.chain.url}" }]
  schemes: [exact, batch-settlement]
  withdraw_seconds: ${WITHDRAW_SECONDS}
  claim_usd: "0.000001"
  settle_seconds: 3
`,
        )
        await start()
      })
      afterAll(async () => {
        await kill()
        await vendor.stop(true)
        await database.stop()
        rmSync(folder, { recursive: true })
      })

      /** Whether a checkpoint of an open call is in the ledger. */
      const isNoted = async () => {
        const books = new SQL(database.url)
        const [row] = await books.unsafe('select count(*) as n from inflight where spent > 0')
        await books.close()
        return Number(row.n) > 0
      }
      /** Prepares the place; the result resolves once the server stands there, and then ends what was prepared. */
      const standsAt = async (at: Arrow['at']) => {
        if (typeof at === 'object' && 'sql' in at) {
          // The hold of a call that ends at once may be written with its charge, and then has no row.
          if (at.sql.before === 'insert on inflight') answer = () => new Promise(() => undefined)
          return stopAt(database.url, at.sql)
        }
        const over = async () => undefined
        if (typeof at === 'object') {
          const held = on.facilitator.hold(at.type, at.when)
          return { reached: () => held, over }
        }
        if (at === 'stream') {
          answer = () => streaming(streamEvents(Array(600).fill('word ')).slice(0, 600), 'hang')
          return { reached: () => until(isNoted), over }
        }
        const { promise, resolve } = Promise.withResolvers<void>()
        answer = () => {
          resolve()
          return new Promise(() => undefined)
        }
        return { reached: () => promise, over }
      }

      /** A payment that a server died over is sent again, and buys its answer. */
      const bringAgain = (paid: Request, request: Request) =>
        until(async () => {
          const response = await fetch(request.clone() as Request, { headers: paid.headers })
          const text = await response.text()
          // Until the dead server is known to be dead, its call has the channel; a busy machine's ledger asks to come again.
          if (response.status !== 200 && response.status !== 503) expect(text).toContain(codes.busy)
          return response.status === 200
        }, 500)

      // Each place is on one engine, and in CI on both.
      for (const { name, at, left, answered } of oneOf(2, arrows, nth))
        test(`at ${name}`, async () => {
          const asked = (address: string, content = name) =>
            new Request(`${address}/v1/chat/completions`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-payment-protocol': 'x402' },
              body: JSON.stringify({
                model: 'mock/small',
                messages: [{ role: 'user', content }],
                ...(at === 'stream' && content === name ? { stream: true } : {}),
              }),
            })
          const begun = Promise.withResolvers<void>()
          const place = at === 'challenge' ? undefined : await standsAt(at)
          const reached = place?.reached() ?? begun.promise
          const comes = async () => {
            const payer = await newPayer(on.chain, async (request) => {
              if (at === 'challenge' && request.headers.has('payment-signature')) {
                begun.resolve()
                throw new Error('the server is dead')
              }
              return fetch(request)
            })
            const paid = payer
              .pay(asked(server.address))
              .then(async (response) => ({ status: response.status, text: await response.text() }))
              .catch(() => 'broken off' as const)
            const now = await Promise.race([answered ? paid : reached, paid])
            return { payer, paid, isTurnedAway: typeof now === 'object' && now.status === 503 }
          }
          let come = await comes()
          // The ledger of a busy machine may turn a call away, which costs nothing, whatever comes: another payer tries.
          for (; come.isTurnedAway; come = await comes()) turnedAway.push(nameOf(come.payer.sent))
          const { payer, paid } = come
          if (answered) expect(await paid).toMatchObject({ status: 200 })
          await reached
          await kill()
          await place?.over()
          if (!answered) expect(await paid).toBe('broken off')
          answer = () => completion('hello')
          const state = await inBooks(async (store) => {
            expect(await brokenLaws(store)).toEqual([])
            const channel = await store.channels.channel(nameOf(payer.sent))
            const id = channel?.pending
            return id === undefined
              ? channel !== undefined && channel.charged > 0n
                ? 'settled'
                : undefined
              : (await store.payments.payment(id))?.state
          })
          expect(state).toBe(left)

          await start()
          if (at === 'stream') {
            // Nobody asks for it again: recovery charges what was delivered, and a round charges the channel.
            await until(
              () =>
                inBooks(
                  async (store) =>
                    ((await store.channels.channel(nameOf(payer.sent)))?.charged ?? 0n) >= 256n * 10_000n,
                ),
              500,
            )
            // Its client does not know that, and is corrected.
            expect((await payer.pay(asked(server.address, 'next'))).status).toBe(200)
          } else await bringAgain(payer.sent[0]?.request as Request, asked(server.address))
          await inBooks(async (store) => {
            const channel = await store.channels.channel(nameOf(payer.sent))
            const charged = channel?.charged ?? 0n
            expect(channel?.pending).toBeUndefined()
            if (at === 'stream') expect(charged).toBeGreaterThan(UNITS * 1_000n)
            else expect(charged).toBe(UNITS * 1_000n)
            channels.set(nameOf(payer.sent), charged)
            expect(await store.ledger.balance('revenue')).toBe(sum(channels))
            expect(await brokenLaws(store)).toEqual([])
          })
        })

      test('in the end all is claimed and swept, and chain and ledger agree', async () => {
        const due = sum(channels) / 1_000n
        await until(async () => (await on.chain.unitsOf(PAY_TO)) - swept === due, 500)
        await inBooks(async (store) => {
          for (const [id, charged] of channels)
            await until(async () => (await store.channels.channel(id))?.claimed === charged)
          for (const id of turnedAway) expect((await store.channels.channel(id))?.charged ?? 0n).toBe(0n)
          expect(await store.ledger.balance('x402')).toBe(-due * 1_000n)
          expect(await brokenLaws(store)).toEqual([])
        })
        expect((await claimedFor(on.chain, PAY_TO)) - swept).toBe(due)
      })
    })
})
