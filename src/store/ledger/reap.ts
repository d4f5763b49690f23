/**
 * Recovery: leases whose instance went silent are fenced, many together; then each is closed with the calls that are
 * still open on it.
 */
import { batched } from '../engine/batched.ts'
import { type Engine, type Run, runOne, statement } from '../engine/engine.ts'
import { nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { applyLease, lockLimitsOf } from './apply-lease.ts'
import { ids } from './call-rows.ts'
import { insertCharges } from './charge-row.ts'
import { cutBack } from './cut-back.ts'
import { type Fenced, fenceAll } from './fence.ts'
import { leases } from './ledger-rows.ts'
import { silentInstances } from './silence.ts'
import { drawsEstimates } from './sums.ts'

/** How many leases one round fences, and how many it closes. The next round continues. */
const ROUND = { open: 5_000, quarantined: 200 } as const

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

/** Fences leases that ended or whose process fell silent, many in one transaction: a process may leave thousands. */
const quarantining = (engine: Engine) => {
  const { now, each, lockFree, oneOf } = engine.dialect
  const isDue = due.open(now, 'cast($2 as bigint)').join(' or ')
  return batched<{ readonly id: string; readonly graceMs: number }, Fenced | 'left'>(engine, {
    lane: 'control',
    work: async (run, asks) => {
      // Another instance may be reaping them.
      const rows = await run(
        `select l.* from lease l where ${oneOf('l.id', `select e.value->>'c' from ${each('$1')} e`)}
           and (${isDue}) order by l.id${lockFree('l')}`,
        [ids(asks.map(({ id }) => id)), asks[0]?.graceMs ?? 0],
      )
      const open = rows.map(leases.read)
      const fenced = await fenceAll(run, engine.dialect, open)
      const outcomes = new Map(open.map(({ id }, at) => [id, fenced[at]]))
      return asks.map(({ id }) => outcomes.get(id) ?? 'left')
    },
    group: ({ graceMs }) => String(graceMs),
    name: ({ id }) => id,
  })
}

/** Locks a fenced lease that is to be closed with its limits; undefined if another instance does that. */
const lockFenced = async (engine: Engine, run: Run, id: string, afterMs: number): Promise<boolean> => {
  const { dialect } = engine
  const isDue = due.quarantined(dialect.now, 'cast($2 as bigint)').join(' or ')
  const [row] = await run(`select l.id from lease l where l.id = $1 and (${isDue})${dialect.lockFree('l')}`, [
    id,
    afterMs,
  ])
  if (row === undefined) return false
  await Promise.all(lockLimitsOf(dialect, [id]).map(({ text, params }) => run(text, params)))
  return true
}

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
    if (!(await lockFenced(engine, run, id, longestCallMs))) return undefined
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
      run(
        `update lease set used = used + cast($2 as bigint),
           calls = calls + case when ${drawsEstimates('wallet_id')} then 0 else $3 end where id = $1 returning *`,
        [id, spent, charged.length],
      ),
    ])
    const lease = leases.read(onlyRow(rows))
    for (const it of applyLease(id, lease.used - lease.granted, 'quarantined')) await runOne(run, it)
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
    statement(`${each.join(' union ')} order by 1 limit ${ROUND[state]}`, afterMs),
  ])
  return (rows ?? []).map((row) => textOf(row, 'id'))
}

/** Makes the round of recovery: how many leases it fenced and closed, and how many orphaned calls it charged. */
export const reapingOn = (engine: Engine, chores: Chores) => {
  const quarantine = quarantining(engine)
  return async ({ graceMs, longestCallMs }: ReapBounds) => {
    await cutBack(engine)
    const ended = await allDue(engine, 'open', graceMs)
    const outcomes = await Promise.all(ended.map((id) => quarantine({ id, graceMs })))
    const quarantined = outcomes.filter((outcome) => outcome !== 'left').length
    let closed = outcomes.filter((outcome) => outcome === 'closed').length
    let recovered = 0
    for (const id of await allDue(engine, 'quarantined', longestCallMs)) {
      const charged = await close(engine, id, longestCallMs)
      if (charged === undefined) continue
      closed += 1
      recovered += charged
    }
    for (const chore of chores) await chore()
    return { quarantined, closed, recovered }
  }
}
