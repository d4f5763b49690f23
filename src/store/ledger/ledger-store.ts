/** The part of the store that moves money: loans, returns, group commits, postings, recovery, audit. */
import { DAY_MS } from '../../core/time.ts'
import type { InstanceId, LeaseId } from '../../ledger/types.ts'
import { batched } from '../engine/batched.ts'
import { type Engine, statement } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { auditOn } from './audit.ts'
import { ids } from './call-rows.ts'
import { commitOn } from './commit.ts'
import { releasing } from './fence.ts'
import { givingBack } from './give-back.ts'
import type { LedgerStore } from './ledger-port.ts'
import { lendWithin } from './lend.ts'
import { postOn } from './post.ts'
import { balanceOf, chargedAmong, transfersOf } from './postings.ts'
import { type Chores, reapingOn } from './reap.ts'
import { stateOf } from './sums.ts'
import { ToldSums } from './told-sums.ts'

/** A lease that has not ended began today, so it may live to the end of today. */
const renewOn = async (
  engine: Engine,
  instance: InstanceId,
  leases: readonly LeaseId[],
  ttlMs: number,
): Promise<readonly { leaseId: LeaseId; lifeMs: number }[]> => {
  const { now, each, lock, oneOf } = engine.dialect
  const dayEnd = `(${now} / ${DAY_MS} + 1) * ${DAY_MS}`
  const end = `${now} + cast($3 as bigint)`
  const own = `l.instance = $2 and ${stateOf('l')} = 'open' and ${oneOf('l.id', `select e.value->>'c' from ${each('$1')} e`)}`
  const [, renewed = [], clock = []] = await engine.batch('control', [
    // In order: everybody locks leases in the same order.
    statement(`select l.id from lease l where ${own} order by l.id${lock('l')}`, ids(leases), instance),
    statement(
      `update lease as l set expires_at = case when ${end} < ${dayEnd} then ${end} else ${dayEnd} end
       where ${own} and l.expires_at > ${now} returning id, expires_at`,
      ids(leases),
      instance,
      ttlMs,
    ),
    statement(`select ${now} as now`),
  ])
  const at = countOf(onlyRow(clock), 'now')
  return renewed.map((row) => ({ leaseId: textOf(row, 'id'), lifeMs: countOf(row, 'expires_at') - at }))
}

const lendingOn = (engine: Engine): LedgerStore['lend'] => {
  const told = new ToldSums()
  return batched(engine, {
    lane: 'control',
    work: (run, asks, atEnd) =>
      lendWithin(run, engine.dialect, asks, { told, write: async (them) => atEnd(them) }),
    group: ({ instance }) => instance,
    name: ({ keyId, sub, payer, tags }) => JSON.stringify([keyId, sub, payer, tags]),
  })
}

export const ledgerStore = (engine: Engine, chores: Chores): LedgerStore => ({
  lend: lendingOn(engine),
  giveBack: givingBack(engine),
  release: releasing(engine),
  renew: (instance, leases, ttlMs) => renewOn(engine, instance, leases, ttlMs),
  commit: commitOn(engine),
  post: (transfer, event) => postOn(engine, transfer, event),
  reap: reapingOn(engine, chores),
  audit: (what) => auditOn(engine, what),
  balance: (account) => balanceOf(engine, account),
  transfersOf: (ref) => transfersOf(engine, ref),
  charged: (calls) => chargedAmong(engine, calls),
})
