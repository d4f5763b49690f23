/** Deletes old rows other than postings. No statement takes many rows, nor looks at all of them. */
import { DAY_MS, type Instant, monthsBefore } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, statement, type Value } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { leastId } from '../months/call-ids.ts'
import { dropMonths } from '../months/drop-months.ts'
import { keepMonths } from '../months/keep-months.ts'
import { rollUp } from '../reports/roll-up.ts'
import type { PruneStore } from './prune-port.ts'
import { PRUNED } from './pruned-until.ts'

const endDetails = async (engine: Engine, months: number): Promise<Instant> => {
  const until = monthsBefore(await clockOf(engine), months)
  const old = statement('select 1 as one from usage_detail where call_id < $1 limit 1', leastId(until))
  if ((await once(engine, 'control', old)).length === 0) return until
  // What the sums do not include yet is still needed.
  if ((await rollUp(engine)) < until) return 0
  await once(
    engine,
    'control',
    `insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value
       where cast(setting.value as bigint) < cast(excluded.value as bigint)`,
    PRUNED,
    String(until),
  )
  return until
}

const hasExport = async ({ name }: Engine, run: (text: string) => Promise<readonly unknown[]>) =>
  (
    await run(
      name === 'sqlite'
        ? `select 1 as one from sqlite_master where name = 'export_due'`
        : `select 1 as one where to_regclass('export_due') is not null`,
    )
  ).length > 0

const pruneDetails = async (engine: Engine, before: Instant, after: CallId, most: number) => {
  const ask = (text: string, ...params: Value[]) => once(engine, 'reading', text, ...params)
  const waits = (await hasExport(engine, ask))
    ? 'exists (select 1 from export_due e where e.call_id = d.call_id)'
    : '1 = 0'
  // A call that began long ago may have been charged late: it belongs to the month of its charge. And a refund that is
  // still reported call by call needs the model of its call.
  const page = await ask(
    `select d.call_id, case when ${waits} then 0 when exists (select 1 from transfer t
           where t.ref = d.call_id and t.kind in ('usage', 'writeoff') and t.at < $3)
         and not exists (select 1 from transfer r where r.of_call = d.call_id and r.at >= $3) then 1 else 0 end as old
     from usage_detail d where d.call_id > $1 and d.call_id < $2 order by d.call_id limit ${most}`,
    after,
    leastId(before),
    before,
  )
  const old = page.filter((row) => Number(row.old) === 1).map((row) => ({ c: textOf(row, 'call_id') }))
  const last = page.at(-1)
  if (old.length > 0)
    await once(
      engine,
      'control',
      `delete from usage_detail where call_id > $2 and call_id <= $3
         and ${engine.dialect.oneOf('call_id', `select x.value->>'c' from ${engine.dialect.each('$1')} x`)}`,
      JSON.stringify(old),
      after,
      old.at(-1)?.c ?? after,
    )
  return {
    deleted: old.length,
    ...(last === undefined || page.length < most ? {} : { next: textOf(last, 'call_id') }),
  }
}

type Old = { readonly table: string; readonly key: string; readonly where: string; readonly value: Value }

/** Other old rows `x`, which nobody needs from then on. */
const oldRows = (before: Instant, ended: Instant, failed: Instant): readonly Old[] => {
  const endedText = new Date(ended).toISOString()
  return [
    // Counters of the previous version have no time.
    {
      table: 'sign_in_attempt',
      key: 'what',
      where: 'x.window_start > 0 and x.window_start < $1',
      value: ended,
    },
    { table: 'person_session', key: 'id', where: 'x.expires_at < $1', value: endedText },
    { table: 'person_verification', key: 'id', where: 'x.expires_at < $1', value: endedText },
    {
      table: 'checkout',
      key: 'id',
      where:
        'x.paid_ref is null and x.created_at < $1 and not exists (select 1 from top_up t where t.id = x.id)',
      value: before,
    },
    { table: 'x402_payment', key: 'id', where: `x.state = 'failed' and x.created_at < $1`, value: before },
    { table: 'failed_call', key: 'call_id', where: 'x.call_id < $1', value: leastId(failed) },
    { table: 'failed_day', key: 'slot', where: 'x.day < $1', value: failed },
  ]
}

/** How long ended rows are kept nevertheless. */
const ENDED_KEPT_MS = DAY_MS

/** Searched without blocking writers, and deleted by key if they are still old. */
const pruneRest = async (
  engine: Engine,
  before: Instant,
  failureDays: number,
  most: number,
): Promise<number> => {
  const now = await clockOf(engine)
  const rows = oldRows(before, now - ENDED_KEPT_MS, now - failureDays * DAY_MS)
  const found = await engine.batch(
    'reading',
    rows.map(({ table, key, where, value }) =>
      statement(`select x.${key} as key from ${table} x where ${where} limit ${most}`, value),
    ),
  )
  const deletes = rows.flatMap(({ table, key, where, value }, at) => {
    const keys = (found[at] ?? []).map((row) => ({ c: textOf(row, 'key') }))
    if (keys.length === 0) return []
    const each = `select v.value->>'c' from ${engine.dialect.each('$2')} v`
    const text = `delete from ${table} where ${key} in (
      select x.${key} from ${table} x where ${where} and x.${key} in (${each})) returning ${key}`
    return [statement(text, value, JSON.stringify(keys))]
  })
  const deleted = deletes.length === 0 ? [] : await engine.batch('control', deletes)
  return Math.max(0, ...deleted.map((gone) => gone.length))
}

export const pruneStore = (engine: Engine): PruneStore => ({
  keepMonths: () => keepMonths(engine),
  dropMonths: (before) => dropMonths(engine, before),
  endDetails: (months) => endDetails(engine, months),
  pruneDetails: (before, after, most) => pruneDetails(engine, before, after, most),
  pruneRest: (before, failureDays, most) => pruneRest(engine, before, failureDays, most),
})
