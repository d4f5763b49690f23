/** The part of the store that moves money: grants, returns, group commits, postings, recovery, audit. */
import type { Nano } from '../core/money.ts'
import { DAY_MS } from '../core/time.ts'
import type { InstanceId, LeaseId } from '../ledger/words.ts'
import { auditOn } from './audit.ts'
import { type Engine, statement } from './engine.ts'
import { flushOn } from './flush.ts'
import { ids } from './flush-at-once.ts'
import { fold, lockMeters } from './fold.ts'
import { grantIn } from './grant.ts'
import type { LedgerStore } from './port.ts'
import { postOn } from './post.ts'
import { reapOn } from './reap.ts'
import { countOf, onlyRow, textOf } from './row.ts'

const giveBackOn = async (engine: Engine, lease: string, back: Nano): Promise<void> => {
  const { words } = engine
  const lock = words.locksRows
    ? [
        statement(`select l.id from lease l where l.id = $1${words.lock('l')}`, lease),
        ...lockMeters(words, [lease]),
      ]
    : []
  await engine.batch('control', [
    ...lock,
    ...fold(lease, -back, 'open'),
    statement(`update lease set recall = 0 where id = $1 and state = 'open'`, lease),
  ])
}

/** A lease that has not ended is of today, so it may live to the end of today. */
const renewOn = async (
  engine: Engine,
  instance: InstanceId,
  leases: readonly LeaseId[],
  ttlMs: number,
): Promise<readonly { leaseId: LeaseId; lifeMs: number }[]> => {
  const { now, each, lock } = engine.words
  const dayEnd = `(${now} / ${DAY_MS} + 1) * ${DAY_MS}`
  const end = `${now} + cast($3 as bigint)`
  const own = `instance = $2 and state = 'open' and id in (select e.value->>'c' from ${each('$1')} e)`
  const [, renewed = [], clock = []] = await engine.batch('control', [
    // In order, as everybody locks them.
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

export const ledgerStore = (engine: Engine): LedgerStore => ({
  grant: (ask) => grantIn(engine, ask),
  giveBack: (lease, back) => giveBackOn(engine, lease, back),
  renew: (instance, leases, ttlMs) => renewOn(engine, instance, leases, ttlMs),
  flush: flushOn(engine),
  post: (transfer) => postOn(engine, transfer),
  reap: (bounds) => reapOn(engine, bounds),
  audit: (what) => auditOn(engine, what),
})
