/**
 * Where use is read from: sums of hours, days and months up to their mark, and the ledger after that. All are selects
 * of `at`, `key_id` (if only sums by key can answer), `model`, `vendor`, `ended` and the counts. The `at` of a month's
 * row may be before the span, but is in that month.
 */
import type { Engine } from '../engine/engine.ts'
import { type Bind, scopeTests } from './call-lines.ts'
import { coverOf, type Span } from './month-cover.ts'
import type { ReportQuery, UsageGroup } from './report-port.ts'
import { countedColumns, countedFrom, unsummedFrom } from './roll-up.ts'

export const counted = ['requests', 'input_tokens', 'output_tokens', 'amount'] as const

/** Whether only the sums by key can answer. */
const byKey = ({ groupBy, madeBy, keyId, tenants, tenant }: ReportQuery): boolean =>
  groupBy.includes('key') || (madeBy ?? keyId ?? tenant) !== undefined || tenants === true

/** The columns of a source in a table of sums `r`, beside the counts. */
type Table = {
  readonly name: string
  readonly time: 'day' | 'month'
  /** Its text columns; others are empty. */
  readonly has: readonly ('model' | 'vendor' | 'ended')[]
  /** The first columns of its index. */
  readonly of: string
}

const keyDays: Table = {
  name: 'roll_up_key',
  time: 'day',
  has: [],
  of: 'r.org_id = k.org_id and r.key_id = k.id',
}
const keyMonths: Table = { name: 'roll_up_key_month', time: 'month', has: [], of: 'r.key_id = k.id' }
const modelDays: Table = {
  name: 'roll_up_day',
  time: 'day',
  has: ['model', 'vendor', 'ended'],
  of: 'r.key_id = k.id',
}
const modelMonths: Table = {
  name: 'roll_up_model_month',
  time: 'month',
  has: ['model'],
  of: 'r.key_id = k.id',
}

const only = (groupBy: readonly UsageGroup[], ...these: readonly UsageGroup[]): boolean =>
  groupBy.every((group) => these.includes(group))

/**
 * The smallest tables that can answer; without `months` if single days are requested, or something that months do not
 * have.
 */
const tablesFor = ({ groupBy, only: filter }: ReportQuery): { days: Table; months?: Table } => {
  const { model, vendor, status } = filter
  if ((model ?? vendor ?? status) === undefined && only(groupBy, 'key', 'day', 'month'))
    return { days: keyDays, ...(groupBy.includes('day') ? {} : { months: keyMonths }) }
  const fits = (vendor ?? status) === undefined && only(groupBy, 'key', 'month', 'model')
  return { days: modelDays, ...(fits ? { months: modelMonths } : {}) }
}

/** The note of a key, which says who made it; only looked up if needed. */
const noteOf = ({ madeBy }: ReportQuery): string =>
  madeBy === undefined ? '' : 'left join key_note o on o.key_id = k.id'

/** Further conditions on keys `k`. */
type Only = { readonly keys: readonly string[] }

type Part = {
  readonly table: Table
  readonly span: Span
  /**
   * An instant that stands for the whole part, so that each key has one row. In the order of the keys, nothing is
   * sorted.
   */
  readonly at?: number
  readonly minus?: true
}

/**
 * The rows of sums of the requested keys. Each key's rows are looked up separately, so that other keys and years cost
 * nothing. A cross join keeps SQLite from reading the sums of all keys.
 */
const partOf = (query: ReportQuery, { table, span, at, minus }: Part, bind: Bind, only: Only): string => {
  const column = (name: Table['has'][number]) => (table.has.includes(name) ? `r.${name}` : `''`)
  const sign = minus === true ? '-' : ''
  const [time, value, group] =
    at === undefined
      ? [`r.${table.time}`, (name: string) => `${sign}r.${name}`, '']
      : [
          `cast(${bind(at)} as bigint)`,
          (name: string) => `cast(${sign}sum(r.${name}) as bigint)`,
          'group by k.id',
        ]
  const texts = (['model', 'vendor', 'ended'] as const).map((name) => `${column(name)} as ${name}`)
  const tests = [
    table.of,
    `r.${table.time} >= ${bind(span.from)}`,
    `r.${table.time} < ${bind(span.to)}`,
    ...scopeTests(query, bind),
    ...only.keys,
  ]
  return `select ${time} as at, k.id as key_id, ${[...texts, ...counted.map((name) => `${value(name)} as ${name}`)].join(', ')}
    from api_key k ${noteOf(query)} cross join ${table.name} r
    where ${tests.join(' and ')}
    ${group}`
}

/** Sums of keys: of whole months if months can answer, and of days for the rest. */
const headOfKeys = (query: ReportQuery, bind: Bind, only: Only): readonly string[] => {
  const { days, months } = tablesFor(query)
  const { from, to, groupBy } = query
  if (months === undefined) return [partOf(query, { table: days, span: { from, to } }, bind, only)]
  const cover = coverOf({ from, to })
  // One row per key suffices if neither models nor, over several months, single months are requested.
  const whole = (span: Span, table: Table) =>
    days !== keyDays || (table.time === 'month' && groupBy.includes('month')) ? {} : { at: span.from }
  const parts: readonly Part[] = [
    ...(cover.months.from < cover.months.to ? [{ table: months, span: cover.months }] : []),
    ...cover.plus.map((span) => ({ table: days, span })),
    ...cover.minus.map((span) => ({ table: days, span, minus: true as const })),
  ]
  return parts.map((part) => partOf(query, { ...part, ...whole(part.span, part.table) }, bind, only))
}

/**
 * What is not summed yet, read in the same statement as the mark up to which sums exist, so that no call is counted
 * twice or missed while the mark moves.
 */
export const unsummed = (engine: Engine, query: ReportQuery, bind: Bind): string => {
  const { groupBy, only: filter } = query
  const members = {
    vendor: groupBy.includes('vendor') || filter.vendor !== undefined,
    ended: groupBy.includes('status') || filter.status !== undefined,
  }
  const tests = [
    't.key_id = k.id',
    `t.kind in ('usage', 'refund')`,
    `t.at >= ${unsummedFrom(bind(query.from))}`,
    `t.at < ${bind(query.to)}`,
    ...scopeTests(query, bind),
  ]
  return `select t.at, k.id as key_id, ${countedColumns(engine, members)} from ${countedFrom(engine)} ${noteOf(query)}
    where ${tests.join(' and ')}`
}

/** What is summed; `only` is a condition on keys `k`, if the request is by keys. */
export const summed = (query: ReportQuery, bind: Bind, only: Only = { keys: [] }): string => {
  if (byKey(query)) return headOfKeys(query, bind, only).join(' union all ')
  const tests = [
    `r.hour >= ${bind(query.from)}`,
    `r.hour < ${bind(query.to)}`,
    ...(query.orgId === undefined ? [] : [`r.org_id = ${bind(query.orgId)}`]),
  ]
  return `select r.hour as at, cast(null as text) as key_id, r.model, r.vendor, r.ended, ${counted.map((name) => `r.${name}`).join(', ')}
    from roll_up_hour r where ${tests.join(' and ')}`
}
