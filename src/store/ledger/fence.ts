/**
 * Fencing leases: they take no more calls, and money without a durable intent is free at once, because a call without an
 * intent was never answered. Open calls end as usual. Leases without open calls are closed.
 */
import type { InstanceId, LeaseId } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'
import { batched } from '../engine/batched.ts'
import type { Engine, Run, SqlDialect } from '../engine/engine.ts'
import { nanoOf, textOf } from '../engine/row.ts'
import { applyMoves, type LeaseMove, lockLimitsOf } from './apply-lease.ts'
import { ids, json } from './call-rows.ts'
import { type LeaseRow, leases } from './ledger-rows.ts'
import { isProcess } from './silence.ts'
import { stateOf } from './sums.ts'

export type Fenced = 'quarantined' | 'closed'

/** Fences open leases that are locked; locks their limits. Answers in their order. */
export const fenceAll = async (
  run: Run,
  dialect: SqlDialect,
  open: readonly LeaseRow[],
): Promise<readonly Fenced[]> => {
  if (open.length === 0) return []
  const { each, now, oneOf } = dialect
  const named = ids(open.map(({ id }) => id))
  const listed = `select e.value->>'c' from ${each('$1')} e`
  const limitsLocked = lockLimitsOf(
    dialect,
    open.map(({ id }) => id),
  )
  const [counted, calls] = await Promise.all([
    run(`select s.lease_id, s.scope from lease_scope s where ${oneOf('s.lease_id', listed)}`, [named]),
    run(
      `select f.lease_id, cast(count(*) as bigint) as calls, cast(sum(f.hold) as bigint) as held
       from inflight f where ${oneOf('f.lease_id', listed)} group by f.lease_id`,
      [named],
    ),
    ...limitsLocked.map(({ text, params }) => run(text, params)),
  ])
  const scopes = Map.groupBy(counted, (row) => textOf(row, 'lease_id'))
  const held = new Map(calls.map((row) => [textOf(row, 'lease_id'), nanoOf(row, 'held')]))
  const moves = open.map(
    ({ id, payer, granted, used, calls: count }): LeaseMove => ({
      id,
      used,
      calls: count,
      delta: (held.get(id) ?? 0n) - (granted - used),
      scopes: (scopes.get(id) ?? []).map((row) => textOf(row, 'scope')),
      payer,
    }),
  )
  const fenced = open.map(({ id }): Fenced => (held.has(id) ? 'quarantined' : 'closed'))
  await Promise.all([
    ...applyMoves(
      dialect,
      moves.filter(({ used, calls: count, delta }) => used > 0n || count > 0 || delta !== 0n),
    ).map(({ text, params }) => run(text, params)),
    // The time of its last call runs from now on. A job has the time that its lease had.
    run(
      `update lease set state = e.value->>'s', recall = 0, expires_at = case
         when ${isProcess('lease.instance')} and lease.expires_at > ${now} then ${now} else lease.expires_at end from ${each('$1')} e where lease.id = e.value->>'l'`,
      [json(open.map(({ id }, at) => ({ l: id, s: fenced[at] })))],
    ),
  ])
  return fenced
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
  await fenceAll(run, dialect, rows.map(leases.read))
}

type Release = { readonly instance: InstanceId; readonly lease: LeaseId }

/** See LedgerStore. A lease that is no longer open, or another instance's, stays as it is. */
export const releasing = (
  engine: Engine,
): ((instance: InstanceId, leases: readonly LeaseId[]) => Promise<void>) => {
  const { each, lock, oneOf } = engine.dialect
  const release = batched<Release, true>(engine, {
    lane: 'control',
    work: async (run, asks) => {
      const rows = await run(
        `select l.* from lease l where ${oneOf('l.id', `select e.value->>'c' from ${each('$1')} e`)}
           and l.instance = $2 and ${stateOf('l')} = 'open' order by l.id${lock('l')}`,
        [ids(asks.map(({ lease }) => lease)), asks[0]?.instance ?? ''],
      )
      await fenceAll(run, engine.dialect, rows.map(leases.read))
      return asks.map(() => true)
    },
    group: ({ instance }) => instance,
    name: ({ lease }) => lease,
  })
  return async (instance, named) => {
    await Promise.all(named.map((lease) => release({ instance, lease })))
  }
}
