/** Several processes' worth of stores on one database at the same time, with connections cut: laws hold, nothing deadlocks. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import type { Nano } from '../../src/core/money.ts'
import type { CommitBatch, CommitResult } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { seed } from '../seed.ts'
import { CENT, detailFor } from './world.ts'

/** They run this long, and longer on a busy machine, until this many calls are charged. */
const RUN_MS = 4_000
const CHARGED_LEAST = 20

/** A small generator of numbers from a seed (mulberry32). */
const numbers = (start: number): ((below: number) => number) => {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Outcome = { charged: Map<string, Nano>; refused: number; lost: number; resent: number }

/** Repeats a commit word for word until it is known to have happened. */
const commit = async (store: Store, batch: CommitBatch, outcome: Outcome): Promise<CommitResult> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await store.ledger.commit(batch)
    } catch (error) {
      outcome.resent += 1
      if (attempt === 20) throw error
    }
  }
}

/**
 * One process with one lease for each key: it borrows, opens, settles, voids, gives back, and forgets everything now
 * and then.
 */
const serve = async (
  store: Store,
  name: string,
  keys: readonly string[],
  isOver: () => boolean,
  outcome: Outcome,
): Promise<void> => {
  const below = numbers(seed + name.charCodeAt(0))
  let generation = 0
  for (let round = 0; !isOver(); round += 1) {
    if (below(12) === 0) generation += 1
    const instance = `${name}${generation}`
    const keyId = keys[below(keys.length)] ?? ''
    const need = (CENT / 10n) * BigInt(1 + below(9))
    const ask = {
      instance,
      keyId,
      leaseId: `${instance} ${round}`,
      need,
      want: 3n * need,
      useful: 1n,
      ttlMs: 300,
    }
    const lease = await store.ledger.lend(ask).catch(() => undefined)
    if (lease?.outcome !== 'lent') {
      if (lease === undefined) outcome.lost += 1
      else outcome.refused += 1
      continue
    }
    const calls = Array.from({ length: 1 + below(4) }, (_, place) => `${instance} ${round} ${place}`)
    const hold = need / BigInt(calls.length)
    const empty = { instance, intents: [], progress: [], settles: [], voids: [] }
    const intents = calls.map((callId) => ({ callId, leaseId: lease.leaseId, hold }))
    const { opened } = await commit(store, { ...empty, intents }, outcome)
    if (below(10) === 0) continue
    const detail = detailFor(keyId)
    const [dropped, ...kept] = calls.filter((callId) => opened.has(callId))
    const charge = hold / 2n
    const settles = kept.map((callId) => ({
      callId,
      leaseId: lease.leaseId,
      payer: 'w',
      charge,
      excess: 0n,
      detail,
    }))
    const { settled } = await commit(
      store,
      { ...empty, settles, voids: dropped === undefined ? [] : [dropped] },
      outcome,
    )
    for (const callId of settled.keys()) outcome.charged.set(callId, charge)
    if (below(2) === 0) await store.ledger.giveBack(lease.leaseId, lease.grown - need).catch(() => undefined)
  }
}

describe('three processes on one PostgreSQL', () => {
  let database: TestDatabase
  let stores: readonly Store[]
  beforeAll(async () => {
    database = await postgresForTests()
    stores = await Promise.all([1, 2, 3].map(() => openTestStore(database)))
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await database.stop()
  })

  test('keep every law while they compete for the last money and lose their connections', async () => {
    const [first] = stores
    if (first === undefined) throw new Error('no store')
    await first.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
    await first.ledger.post({ kind: 'topup', ref: 'p', debit: 'cash', credit: 'w', amount: 300n * CENT })
    const make = (id: string, limits: object, parentId?: string) =>
      first.keys.createKey(
        {
          id,
          hash: id,
          orgId: 'o',
          walletId: 'w',
          label: '',
          prefix: '',
          limits,
          ...(parentId === undefined ? {} : { parentId }),
        },
        byTest,
      )
    await make('maker', { spendCap: 150n * CENT })
    await make('child', { monthlyCap: 90n * CENT }, 'maker')
    await make('other', {}, 'maker')
    await make('plain', {})
    const keys = ['maker', 'child', 'other', 'plain']
    const outcome: Outcome = { charged: new Map(), refused: 0, lost: 0, resent: 0 }
    const endMs = performance.now() + RUN_MS
    const isOver = () => performance.now() >= endMs && outcome.charged.size > CHARGED_LEAST
    const admin = new SQL({ url: database.url, max: 1, connection: { application_name: 'admin' } })
    const cut = async (): Promise<void> => {
      while (!isOver()) {
        await Bun.sleep(300)
        await admin.unsafe(
          `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name = 'turnpike' and random() < 0.3`,
        )
      }
    }
    const recover = async (store: Store): Promise<void> => {
      while (!isOver()) {
        await store.ledger.reap({ graceMs: 50, longestCallMs: 200 }).catch(() => undefined)
        await Bun.sleep(50)
      }
    }
    const operate = async (store: Store): Promise<void> => {
      for (let round = 0; !isOver(); round += 1) {
        const cap = BigInt(100 + (round % 60)) * CENT
        await store.keys
          .changeKey('maker', { spendCap: cap, disabledReason: null, byCreator: true }, byTest)
          .catch(() => undefined)
        await store.keys
          .changeKey('child', { disabledReason: null, byCreator: true }, byTest)
          .catch(() => undefined)
        const broken = await store.ledger.audit().then(
          (rows) => rows.filter(({ ok }) => !ok),
          () => [],
        )
        expect(broken).toEqual([])
        await Bun.sleep(20)
      }
    }
    const servers = stores.flatMap((store, place) =>
      [`a${place}`, `b${place}`].map((name) => serve(store, name, keys, isOver, outcome)),
    )
    await Promise.all([...servers, ...stores.map(recover), cut(), operate(first)])

    await Bun.sleep(400)
    for (let round = 0; round < 2; round += 1) await first.ledger.reap({ graceMs: 0, longestCallMs: 0 })
    const [{ deadlocks } = { deadlocks: -1 }] = await admin.unsafe<{ deadlocks: bigint }[]>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    await admin.close()
    const charged = [...outcome.charged.values()].reduce((sum, amount) => sum + amount, 0n)
    console.log({ ...outcome, charged: outcome.charged.size, deadlocks })
    expect(await first.ledger.audit()).toEqual(
      (await first.ledger.audit()).map(({ check }) => ({ check, ok: true })),
    )
    expect(await first.ledger.balance('revenue')).toBe(charged)
    expect((await first.wallets.wallet('w'))?.balance).toBe(300n * CENT - charged)
    expect(Number(deadlocks)).toBe(0)
  })
})
