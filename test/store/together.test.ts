/** Loans and returns that come together share a transaction, with the outcome they would have one after the other. */

import { describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import fc from 'fast-check'
import type { Loan, LoanRefused, LoanRequest } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { drawn } from '../sample.ts'
import { seed } from '../seed.ts'
import { brokenLaws, engines } from './engines.ts'
import { batchOf, CENT, detailFor } from './world.ts'

const NOW = Date.UTC(2026, 10, 21, 12)

const cents = (most: number) => fc.integer({ min: 1, max: most }).map((n) => BigInt(n) * CENT)
const limits = fc.record(
  { spendCap: cents(60), monthlyCap: cents(60), stopAt: cents(20) },
  { requiredKeys: [] },
)
/**
 * A wallet with money and perhaps a daily limit, keys on it (some are children of the first), and the request of each.
 */
const scene = fc.record({
  funds: cents(200),
  daily: fc.option(cents(100), { nil: undefined }),
  keys: fc.array(
    fc.record({ limits, child: fc.boolean(), need: cents(40), more: fc.integer({ max: 20, min: 0 }) }),
    {
      minLength: 2,
      maxLength: 6,
    },
  ),
})
type Scene = typeof scene extends fc.Arbitrary<infer S> ? S : never

const stopping = { limits: { stopAt: 10n * CENT }, child: false, need: 15n * CENT, more: 0 }
/** What must stay in the wallet is kept by no constraint of the schema: one of the two is refused for what the other gets. */
const oneFits: Scene = { funds: 30n * CENT, daily: undefined, keys: [stopping, stopping] }

const made = async (store: Store, { funds, daily, keys }: Scene, name: string) => {
  const wallet = async (id: string) => {
    await store.wallets.createWallet({ id, orgId: 'o', name: id }, byTest)
    await store.ledger.post({ kind: 'topup', ref: id, debit: 'cash', credit: id, amount: funds })
  }
  const key = (id: string, more: object) =>
    store.keys.createKey(
      {
        id,
        hash: id,
        orgId: 'o',
        walletId: name,
        label: '',
        prefix: '',
        limits: {},
        ...more,
      },
      byTest,
    )
  await wallet(name)
  await wallet(`${name} plug`)
  if (daily !== undefined) await store.wallets.changeWalletRules(name, { dailyLimit: daily }, byTest)
  for (const [at, one] of keys.entries())
    await key(`${name} ${at}`, {
      limits: one.limits,
      ...(one.child && at > 0 ? { parentId: `${name} 0` } : { canManage: at === 0 }),
    })
  // Two that are under way at once, so that the requests behind them come together.
  for (const at of [0, 1]) await key(`${name} plug ${at}`, { walletId: `${name} plug` })
}

const request = (name: string, at: number | string, need: bigint, more = 0): LoanRequest => ({
  instance: 'i',
  keyId: `${name} ${at}`,
  leaseId: `${name} lease ${at}`,
  need,
  want: need + BigInt(more) * CENT,
  useful: 1n,
  ttlMs: 10_000,
})

const plugs = (store: Store, name: string) =>
  [0, 1].map((at) => store.ledger.lend(request(name, `plug ${at}`, 1n)))

type Answer = Loan | LoanRefused

/** An order in which one after the other would get the same answers. */
const servedFirst = (answers: readonly Answer[]): readonly number[] =>
  [...answers.keys()].sort(
    (a, b) => Number(answers[a]?.outcome !== 'lent') - Number(answers[b]?.outcome !== 'lent'),
  )

/** A key whose maker was switched off a moment before learns that, or what binds. */
const comparable = (answer: Answer): unknown =>
  ['disabled', 'spent'].includes(answer.outcome) ? 'not now' : answer

/** Half of what was asked for. */
const costOf = ({ need = 0n }: LoanRequest): bigint => need / 2n

const charge = async (store: Store, callId: string, { leaseId }: Loan, asked: LoanRequest) => {
  const detail = detailFor(asked.keyId)
  await store.ledger.commit(
    batchOf('i', {
      intents: [{ callId, leaseId, hold: costOf(asked) }],
      settles: [
        { callId, leaseId, payer: callId.split(' ')[0] ?? '', charge: costOf(asked), excess: 0n, detail },
      ],
    }),
  )
}

const stateOf = async (store: Store, name: string) => {
  const wallet = await store.wallets.wallet(name)
  return { balance: wallet?.balance, held: wallet?.held }
}

for (const engine of engines.filter(({ name }) => name !== 'SQLite in a file'))
  describe(`what comes together on ${engine.name}`, () => {
    test('is lent, refused and given back as one after the other', async () => {
      const databases = [await engine.fresh(), await engine.fresh()] as const
      const [together, apart] = await Promise.all(
        databases.map(({ url }) => openTestStore({ url, now: () => NOW })),
      )
      if (together === undefined || apart === undefined) throw new Error('no stores')
      let serial = 0
      await fc.assert(
        fc.asyncProperty(scene, async (it) => {
          const name = `w${++serial}`
          await Promise.all([made(together, it, name), made(apart, it, name)])
          const requests = it.keys.map(({ need, more }, at) => request(name, at, need, more))
          const before = plugs(together, name)
          const answers = await Promise.all(requests.map((one) => together.ledger.lend(one)))
          await Promise.all(before)
          for (const plug of plugs(apart, name)) await plug
          for (const at of servedFirst(answers))
            expect(await apart.ledger.lend(requests[at]!)).toEqual(answers[at]!)
          expect(await stateOf(together, name)).toEqual(await stateOf(apart, name))
          // Charges since then are on the leases: they count where a cap is said to be exhausted.
          const charged = answers.flatMap((answer, at) => (answer.outcome === 'lent' ? [{ answer, at }] : []))
          for (const store of [together, apart])
            for (const { answer, at } of charged) await charge(store, `${name} ${at}`, answer, requests[at]!)
          const again = charged.map(({ answer, at }) => ({
            ...requests[at]!,
            leaseId: answer.leaseId,
            need: 35n * CENT,
            want: 35n * CENT,
            useful: 20n * CENT,
            free: answer.grown - costOf(requests[at]!),
          }))
          const plugged = plugs(together, name)
          const second = await Promise.all(again.map((one) => together.ledger.lend(one)))
          await Promise.all(plugged)
          for (const plug of plugs(apart, name)) await plug
          for (const at of servedFirst(second))
            expect(comparable(await apart.ledger.lend(again[at]!))).toEqual(comparable(second[at]!))
          expect(await stateOf(together, name)).toEqual(await stateOf(apart, name))
          // A part of each goes back, and more than the first has: that one is refused, and only that one.
          const lent = answers.flatMap((answer) => (answer.outcome === 'lent' ? [answer] : []))
          const backs = lent.map(
            ({ leaseId, grown }, at) => [leaseId, at === 0 ? grown + 1n : grown / 2n] as const,
          )
          const how = async (store: Store, all: boolean) => {
            const plugged = all
              ? [0, 1].map((at) => store.ledger.giveBack(`${name} lease plug ${at}`, 1n))
              : []
            const done = all
              ? await Promise.allSettled(backs.map(([id, back]) => store.ledger.giveBack(id, back)))
              : await backs.reduce(
                  async (ended, [id, back]) => [
                    ...(await ended),
                    ...(await Promise.allSettled([store.ledger.giveBack(id, back)])),
                  ],
                  Promise.resolve([] as PromiseSettledResult<void>[]),
                )
            await Promise.all(plugged)
            return done.map(({ status }) => status)
          }
          expect(await how(together, true)).toEqual(await how(apart, false))
          expect(await stateOf(together, name)).toEqual(await stateOf(apart, name))
        }),
        { seed, numRuns: engine.name === 'PostgreSQL' ? drawn(4, 12) : drawn(15, 40), examples: [[oneFits]] },
      )
      expect([await brokenLaws(together), await brokenLaws(apart)]).toEqual([[], []])
      await Promise.all([together.close(), apart.close()])
      for (const { stop } of databases) await stop()
    })
  })

test('a wallet that somebody keeps locked does not keep others from theirs', async () => {
  const database = await postgresForTests()
  const store = await openTestStore({ url: database.url })
  const other = new SQL({ url: database.url, max: 1 })
  const one = {
    funds: 100n * CENT,
    daily: undefined,
    keys: [{ limits: {}, child: false, need: CENT, more: 0 }],
  }
  for (const name of ['kept', 'free']) await made(store, one, name)
  const held = await other.reserve()
  await held.unsafe('begin')
  await held.unsafe(`select * from account where id = 'kept' for update`)
  const before = plugs(store, 'free')
  let ended = false
  const kept = store.ledger.lend(request('kept', 0, CENT)).finally(() => {
    ended = true
  })
  const free = store.ledger.lend(request('free', 0, CENT))
  expect((await free).outcome).toBe('lent')
  expect(ended).toBe(false)
  await held.unsafe('rollback')
  expect((await kept).outcome).toBe('lent')
  await Promise.all(before)
  held.release()
  await other.close()
  await store.close()
  await database.stop()
})
