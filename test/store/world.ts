/** What tests of the store share: the state of one random run, and small helpers to choose and to build commits. */

import type { Nano } from '../../src/core/money.ts'
import type { CommitBatch, UsageDetail } from '../../src/ledger/types.ts'
import type { NewKey } from '../../src/store/accounts/tenancy-port.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import type { Model, ModelCall, ModelKey, ModelLease } from './model.ts'

export const CENT = 10_000_000n
export const least = (a: Nano, b: Nano): Nano => (a < b ? a : b)
export const most = (a: Nano, b: Nano): Nano => (a > b ? a : b)

/** One run: a store, the model beside it, and the numbers that choose. */
export type World = {
  model: Model
  store: Store
  reopen: () => Promise<Store>
  n: number
  last?: CommitBatch
  seen: Map<string, number>
}
type Numbers = { a: number; b: number; c: number }
export type Command = (world: World, numbers: Numbers) => Promise<void>

export const pick = <T>(list: readonly T[], number: number): T | undefined =>
  list[number % Math.max(list.length, 1)]
export const saw = (world: World, what: string): void =>
  void world.seen.set(what, (world.seen.get(what) ?? 0) + 1)

type KeyOfModel = Pick<ModelKey, 'id' | 'wallet' | 'limits'> & {
  readonly parentId: string | undefined
  readonly sub: string | undefined
}

/** A key as the store makes it. */
export const newKeyOf = ({ id, wallet, limits, parentId, sub }: KeyOfModel): NewKey => ({
  id,
  hash: `hash of ${id}`,
  orgId: `org of ${wallet}`,
  walletId: wallet,
  label: id,
  prefix: 'sk-',
  limits,
  ...(parentId === undefined ? {} : { parentId }),
  ...(sub === undefined ? {} : { subWallet: sub }),
})

/** The kept detail of a call, where a test does not care. */
export const detailFor = (keyId: string, change: Partial<UsageDetail> = {}): UsageDetail => ({
  keyId,
  model: 'm',
  vendor: 'v',
  usage: {},
  estimated: false,
  priceVersion: '',
  startedAt: 0,
  tookMs: 0,
  firstByteMs: 0,
  ended: 'ok',
  ...change,
})

/** A wallet `w` with a dollar and a key `k` on it, for tests that need no other. */
export const createOneKey = async (store: Store): Promise<void> => {
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 100n * CENT })
  await store.keys.createKey(
    {
      id: 'k',
      hash: 'h',
      orgId: 'o',
      walletId: 'w',
      label: 'k',
      prefix: 'k',
      limits: {},
    },
    byTest,
  )
}

export const batchOf = (instance: string, part: Partial<CommitBatch>): CommitBatch => ({
  instance,
  intents: [],
  progress: [],
  settles: [],
  voids: [],
  ...part,
})

export const commit = (world: World, batch: CommitBatch) => {
  world.last = batch
  return world.store.ledger.commit(batch)
}

export const mine = ({ model }: World, lease: ModelLease): boolean =>
  lease.state === 'open' && model.instances.includes(lease.instance)

export const running = ({ model }: World, number: number): ModelCall | undefined =>
  pick(
    model.calls.filter((call) => call.open),
    number,
  )
