/**
 * Fencing a lease: it takes no more calls, and money without a durable intent is free at once, because a call without
 * an intent was never answered. Open calls end as usual.
 */
import type { KeyId } from '../../tenancy/key.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { nanoOf, onlyRow } from '../engine/row.ts'
import { applyLease, lockLimitsOf } from './apply-lease.ts'
import { type LeaseRow, leases } from './ledger-rows.ts'

/** Moves what a lease has used, and changes what it holds by `delta`, under its locks. */
export const applyLeaseNow = async (run: Run, id: string, delta: bigint, state: string): Promise<void> => {
  await Promise.all(applyLease(id, delta, state).map(({ text, params }) => run(text, params)))
}

/** Fences one open lease that is locked together with its limits. If no call is open on it, it is closed. */
export const fence = async (run: Run, { id, granted, used }: LeaseRow): Promise<'quarantined' | 'closed'> => {
  const open = onlyRow(
    await run(
      'select cast(count(*) as bigint) as calls, coalesce(cast(sum(hold) as bigint), 0) as held from inflight where lease_id = $1',
      [id],
    ),
  )
  await applyLeaseNow(run, id, nanoOf(open, 'held') - (granted - used), 'open')
  const state = nanoOf(open, 'calls') === 0n ? 'closed' : 'quarantined'
  await run('update lease set state = $2, recall = 0 where id = $1', [id, state])
  return state
}

/**
 * Fences all open leases of keys that are locked. A process that does not know yet that the keys are revoked, for
 * example because it was paused, then finds no lease for its calls' intents, whatever its clock says.
 */
export const fenceLeasesOf = async (run: Run, dialect: SqlDialect, keys: readonly KeyId[]): Promise<void> => {
  const rows = await run(
    `select l.* from lease l where l.key_id in (select e.value->>'k' from ${dialect.each('$1')} e) and l.state = 'open'
     order by l.id${dialect.lock('l')}`,
    [JSON.stringify(keys.map((k) => ({ k })))],
  )
  if (rows.length === 0) return
  const fenced = rows.map(leases.read)
  const ids = fenced.map(({ id }) => id)
  for (const { text, params } of lockLimitsOf(dialect, ids)) await run(text, params)
  for (const lease of fenced) await fence(run, lease)
}
