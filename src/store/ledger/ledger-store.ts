/** The part of the store that moves money: loans, returns, group commits, postings, recovery, audit. */
import type { Nano } from '../../core/money.ts'
import { DAY_MS } from '../../core/time.ts'
import type { InstanceId, LeaseId } from '../../ledger/types.ts'
import { type Engine, statement } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { applyLease, lockLimitsOf } from './apply-lease.ts'
import { auditOn } from './audit.ts'
import { commitOn } from './commit.ts'
import { ids } from './commit-at-once.ts'
import type { LedgerStore } from './ledger-port.ts'
import { lendIn } from './lend.ts'
import { postOn } from './post.ts'
import { balanceOf, transfersOf } from './postings.ts'
import { type Chores, reapOn } from './reap.ts'

const giveBackOn = async (engine: Engine, lease: string, back: Nano): Promise<void> => {
  const { words } = engine
  const lock = words.locksRows
    ? [
        statement(`select l.id from lease l where l.id = $1${words.lock('l')}`, lease),
        ...lockLimitsOf(words, [lease]),
      ]
    : []
  await engine.batch('control', [
    ...lock,
    ...applyLease(lease, -back, 'open'),
    statement(`update lease set recall = 0 where id = $1 and state = 'open'`, lease),
  ])
}

/** A lease that has not ended began today, so it may live to the end of today. */
const renewOn = async (
  engine: Engine,
  instance: InstanceId,
  leases: readonly LeaseId[],
  ttlMs: number,
): Promise<readonly { leaseId: LeaseId; lifeMs: number }[]> => {
  const { now, each, lock, oneOf } = engine.words
  const dayEnd = `(${now} / ${DAY_MS} + 1) * ${DAY_MS}`
  const end = `${now} + cast($3 as bigint)`
  const own = `instance = $2 and state = 'open' and ${oneOf('id', `select e.value->>'c' from ${each('$1')} e`)}`
  const [, renewed = [], clock = []] = await engine.batch('control', [
    // In order: everybody locks leases in the same order.
    statement(`select l.id from lease l where ${own} order by l.id${lock('l')}`, ids(leases), instance),
    statement(
      `update lease set expires_at = case when ${end} < ${dayEnd} then ${end} else ${dayEnd} end
       where ${own} and expires_at > ${now} returning id, expires_at`,
      ids(leases),
      instance,
      ttlMs,
    ),
    statement(`select ${now} as now`),
  ])
  const at = countOf(onlyRow(clock), 'now')
  return renewed.map((row) => ({ leaseId: textOf(row, 'id'), lifeMs: countOf(row, 'expires_at') - at }))
}

export const ledgerStore = (engine: Engine, chores: Chores): LedgerStore => ({
  lend: (ask) => lendIn(engine, ask),
  giveBack: (lease, back) => giveBackOn(engine, lease, back),
  renew: (instance, leases, ttlMs) => renewOn(engine, instance, leases, ttlMs),
  commit: commitOn(engine),
  post: (transfer, event) => postOn(engine, transfer, event),
  reap: (bounds) => reapOn(engine, chores, bounds),
  audit: (what) => auditOn(engine, what),
  balance: (account) => balanceOf(engine, account),
  transfersOf: (ref) => transfersOf(engine, ref),
})
