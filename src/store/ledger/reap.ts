/** Recovery: leases whose instance went silent. One lease per transaction, as the lock order demands. */

import { type Engine, type Run, statement } from '../engine/engine.ts'
import { nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { lockLimitsOf } from './apply-lease.ts'
import { insertCharges } from './charge-row.ts'
import { ids } from './commit-at-once.ts'
import { cutBack } from './cut-back.ts'
import { applyLeaseNow, fence } from './fence.ts'
import { type LeaseRow, leases } from './ledger-rows.ts'
import { silentInstances } from './silence.ts'

/** How many leases one round takes. The next round continues. */
const ROUND = 200
/** The same for leases from which everything was given back. */
const EMPTY_ROUND = 5_000

/** Other work of every round, by the stores whose rows it concerns. */
export type Chores = readonly (() => Promise<unknown>)[]

type ReapBounds = { readonly graceMs: number; readonly longestCallMs: number }

/**
 * Leases that ended or whose process is silent, so that their money is available again soon; and fenced leases that are
 * to be closed: after the longest call, or when no call is open. Each reason is a separate query, because each has its
 * own index.
 */
const due = {
  open: (now: string, afterMs: string) => [
    `l.state = 'open' and l.expires_at < ${now} - ${afterMs}`,
    `l.state = 'open' and l.instance in (${silentInstances(now)})`,
  ],
  quarantined: (now: string, afterMs: string) => [
    `l.state = 'quarantined' and l.expires_at < ${now} - ${afterMs}`,
    `l.state = 'quarantined' and not exists (select 1 from inflight f where f.lease_id = l.id)`,
  ],
} as const

/**
 * Closes leases that ended with nothing on them, all in one transaction; most keys that called end with such a lease.
 * Their limits hold nothing for them, so only the leases are locked. Open calls on them are looked for after locking.
 */
const closeEmpty = (engine: Engine, graceMs: number): Promise<number> =>
  engine.transaction('control', async (run) => {
    const { now, each, lockFree, oneOf } = engine.dialect
    const ended = await run(
      `select l.id from lease l where l.state = 'open' and l.expires_at < ${now} - cast($1 as bigint)
         and l.granted = 0 and l.used = 0 and l.calls = 0 order by l.expires_at limit ${EMPTY_ROUND}${lockFree('l')}`,
      [graceMs],
    )
    if (ended.length === 0) return 0
    const closed = await run(
      `update lease set state = 'closed', recall = 0
       where ${oneOf('id', `select e.value->>'c' from ${each('$1')} e`)}
         and not exists (select 1 from inflight f where f.lease_id = lease.id) returning id`,
      [ids(ended.map((row) => textOf(row, 'id')))],
    )
    return closed.length
  })

/** Locks the lease if it is still due; another instance may be reaping it. */
const lockDue = async (
  engine: Engine,
  run: Run,
  it: { id: string; state: keyof typeof due; afterMs: number },
): Promise<LeaseRow | undefined> => {
  const { dialect } = engine
  const isDue = due[it.state](dialect.now, 'cast($2 as bigint)').join(' or ')
  const [row] = await run(`select l.* from lease l where l.id = $1 and (${isDue})${dialect.lockFree('l')}`, [
    it.id,
    it.afterMs,
  ])
  if (row === undefined) return undefined
  await Promise.all(lockLimitsOf(dialect, [it.id]).map(({ text, params }) => run(text, params)))
  return leases.read(row)
}

/** Fences a lease whose process fell silent. */
const quarantine = (
  engine: Engine,
  id: string,
  graceMs: number,
): Promise<'quarantined' | 'closed' | 'left'> =>
  engine.transaction('control', async (run) => {
    const lease = await lockDue(engine, run, { id, state: 'open', afterMs: graceMs })
    return lease === undefined ? 'left' : fence(run, lease)
  })

/** What the last checkpoint says was delivered; it belongs to no attempt. */
const recovered = {
  call: 'f.call_id',
  amount: 'case when f.spent < f.hold then f.spent else f.hold end',
  settled: `'recovered'`,
  note: `'recovered'`,
  attempt: 'null',
} as const

/**
 * Closes a fenced lease. Calls that are still open are orphans: they are charged for what their last checkpoint says
 * they delivered.
 */
const close = (engine: Engine, id: string, longestCallMs: number): Promise<number | undefined> =>
  engine.transaction('control', async (run) => {
    if ((await lockDue(engine, run, { id, state: 'quarantined', afterMs: longestCallMs })) === undefined)
      return undefined
    const charged = await run(
      `${insertCharges({ ...recovered, at: engine.dialect.now })}
       from inflight f join lease l on l.id = f.lease_id where f.lease_id = $1 and f.spent > 0 and f.hold > 0
         and not exists (select 1 from transfer t where t.kind = 'usage' and t.ref = f.call_id)
       returning amount`,
      [id],
    )
    const spent = charged.reduce((sum, row) => sum + nanoOf(row, 'amount'), 0n)
    const [, rows] = await Promise.all([
      run('delete from inflight where lease_id = $1', [id]),
      run('update lease set used = used + cast($2 as bigint), calls = calls + $3 where id = $1 returning *', [
        id,
        spent,
        charged.length,
      ]),
    ])
    const lease = leases.read(onlyRow(rows))
    await applyLeaseNow(run, id, lease.used - lease.granted, 'quarantined')
    await run(`update lease set state = 'closed' where id = $1`, [id])
    return charged.length
  })

const allDue = async (
  engine: Engine,
  state: keyof typeof due,
  afterMs: number,
): Promise<readonly string[]> => {
  const reasons = due[state](engine.dialect.now, 'cast($1 as bigint)')
  const each = reasons.map((reason) => `select l.id from lease l where ${reason}`)
  const [rows] = await engine.batch('control', [
    statement(`${each.join(' union ')} order by 1 limit ${ROUND}`, afterMs),
  ])
  return (rows ?? []).map((row) => textOf(row, 'id'))
}

/** One round of recovery. Returns how many leases it fenced and closed, and how many orphaned calls it charged. */
export const reapOn = async (engine: Engine, chores: Chores, { graceMs, longestCallMs }: ReapBounds) => {
  await cutBack(engine)
  const empty = await closeEmpty(engine, graceMs)
  let [quarantined, closed, recovered] = [empty, empty, 0]
  for (const id of await allDue(engine, 'open', graceMs)) {
    const outcome = await quarantine(engine, id, graceMs)
    if (outcome !== 'left') quarantined += 1
    if (outcome === 'closed') closed += 1
  }
  for (const id of await allDue(engine, 'quarantined', longestCallMs)) {
    const charged = await close(engine, id, longestCallMs)
    if (charged === undefined) continue
    closed += 1
    recovered += charged
  }
  for (const chore of chores) await chore()
  return { quarantined, closed, recovered }
}
