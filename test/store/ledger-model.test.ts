/** The store against a plain model: the same random histories on every engine. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Limits } from '../../src/tenancy/limits.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { commands } from './commands.ts'
import { engines, type TestEngine } from './engines.ts'
import { compare, Model } from './model.ts'
import { CENT, newKeyOf, type World } from './world.ts'

/** Commands that lead somewhere are drawn more often than those that end things. */
const weights: Partial<Record<keyof typeof commands, number>> = {
  lend: 9,
  open: 6,
  settle: 5,
  several: 3,
  moves: 3,
  extend: 2,
  tick: 3,
  reap: 3,
  topUp: 2,
  settleLate: 3,
}
const names = Object.keys(commands).filter((name): name is keyof typeof commands => name in commands)

const history = fc.array(
  fc.record({
    name: fc.oneof(...names.map((name) => ({ arbitrary: fc.constant(name), weight: weights[name] ?? 1 }))),
    a: fc.nat({ max: 10_000 }),
    b: fc.nat({ max: 10_000 }),
    c: fc.nat({ max: 10_000 }),
  }),
  { minLength: 20, maxLength: 70, size: 'max' },
)

const firstKeys: readonly { id: string; wallet: string; parentId?: string; sub?: string; limits: Limits }[] =
  [
    { id: 'plain', wallet: 'wallet-a', limits: {} },
    { id: 'maker', wallet: 'wallet-a', limits: { spendCap: 30n * CENT, weeklyCap: 20n * CENT } },
    {
      id: 'child',
      wallet: 'wallet-a',
      parentId: 'maker',
      limits: { monthlyCap: 9n * CENT, dailyCap: 6n * CENT },
    },
    { id: 'grandchild', wallet: 'wallet-a', parentId: 'child', sub: 'sub-1', limits: {} },
    { id: 'careful', wallet: 'wallet-b', limits: { stopAt: 5n * CENT } },
    { id: 'bound', wallet: 'wallet-a', sub: 'sub-1', limits: { spendCap: 40n * CENT } },
  ]

const begin = async ({ model, store }: World): Promise<void> => {
  for (const id of model.wallets) {
    await store.wallets.createWallet({ id, orgId: `org of ${id}`, name: id }, byTest)
    await store.ledger.post({
      kind: 'topup',
      ref: `first ${id}`,
      debit: 'cash',
      credit: id,
      amount: 50n * CENT,
    })
    model.move(id, 50n * CENT)
  }
  const addSub = async (id: string, maker?: string) => {
    const [wallet, budget] = ['wallet-a', 12n * CENT]
    model.subs.push({ id, wallet, budget, ...(maker === undefined ? {} : { maker }) })
    const made = maker === undefined ? {} : { makerId: maker }
    await store.subWallets.createSubWallet({ id, walletId: wallet, ...made, label: 'team', budget }, byTest)
  }
  await addSub('sub-1')
  for (const { id, wallet, parentId, sub, limits } of firstKeys) {
    const key = await store.keys.createKey(newKeyOf({ id, wallet, parentId, sub, limits }), byTest)
    model.keys.push({
      id,
      wallet,
      line: [id, ...key.ancestors],
      limits,
      version: 1,
      replaced: [],
      ...(parentId === undefined ? {} : { parentId }),
      ...(sub === undefined ? {} : { sub }),
    })
  }
  // Of a key with keys below it, and of a key in the middle.
  await addSub('sub-2', 'maker')
  await addSub('sub-3', 'child')
}

type Step = { name: keyof typeof commands; a: number; b: number; c: number }

const play = async (engine: TestEngine, steps: readonly Step[], seen: Map<string, number>): Promise<void> => {
  const database = await engine.fresh()
  const model = new Model()
  const now = () => model.now
  const store = await openTestStore({ url: database.url, now })
  const world: World = {
    model,
    store,
    n: 0,
    seen,
    reopen: async () => {
      if (!engine.lasting) return world.store
      await world.store.close()
      return openTestStore({ url: database.url, now })
    },
  }
  try {
    await begin(world)
    for (const { name, ...numbers } of steps) {
      world.n += 1
      await commands[name](world, numbers)
      await compare(model, world.store)
    }
  } finally {
    await world.store.close()
    await database.stop()
  }
}

for (const engine of engines) {
  describe(`the ledger on ${engine.name}`, () => {
    test('keeps its laws and agrees with the model after every command', async () => {
      const seen = new Map<string, number>()
      await fc.assert(
        fc.asyncProperty(history, (steps) => play(engine, steps, seen)),
        { numRuns: engine.runs, endOnFailure: process.env.SHRINK === undefined },
      )
      // A run that never met these situations has not tested them.
      if (engine.runs >= 100) {
        for (const what of [
          'lend lent',
          'lend recall',
          'lend held',
          'lend spent',
          'moved',
          'renewed',
          'lend disabled',
          'lend unknown_sub',
          'refused by sub_wallet',
          'refused by daily_limit_usd',
          'refused by weekly_cap_usd',
          'refused by daily_cap_usd',
          'key disabled by its cap',
          'maker disabled by its cap',
          'settled in quarantine',
          'orphan charged',
          'fenced: closed',
          'an old key rotated',
          'lent under a sub-wallet of a key above',
          'bound',
          'given up',
          'released',
        ]) {
          expect(seen.get(what) ?? 0, `situation "${what}"`).toBeGreaterThan(0)
        }
      }
      console.log(Object.fromEntries(seen))
    })
  })
}
