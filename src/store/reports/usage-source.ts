/**
 * Where use is read from: sums of hours, days and months up to their mark, and the ledger after that, and at the ends of
 * the span that are no whole ones; by sub-wallet, payment mode, tag, or hours of keys the ledger alone, where calls whose
 * details are deleted count without model and tokens. All are selects of `at`, `key_id` (if only sums by key can answer),
 * `model`, `vendor`, `ended` and the counts. The `at` of a sum may be outside the span, but is in the same day and month.
 */
import { DAY_MS, type Instant } from '../../core/time.ts'
import type { Bind, Engine } from '../engine/engine.ts'
import { tagIn } from '../ledger/call-rows.ts'
import { BOOKS_OPEN_MS, countsAt } from '../ledger/counts-at.ts'
import { isPaid, paymentModeOf, subOf } from '../ledger/sums.ts'
import { prunedUntil } from '../prune/pruned-until.ts'
import { orgsTest, scopeTests } from './call-lines.ts'
import { coverOf, type Span } from './month-cover.ts'
import type { ReportQuery, UsageGroup } from './report-port.ts'
import { counted, countedColumns, countedFrom, unsummedFrom } from './roll-up.ts'

/** Whether only the sums by key can answer. */
const byKey = ({ groupBy, madeBy, team, keyId, tree, tenants, tenant }: ReportQuery): boolean =>
  groupBy.includes('key') || (madeBy ?? team ?? keyId ?? tree ?? tenant) !== undefined || tenants === true

/** Only the ledger knows sub-wallets, payers, tags, and the hours of a key. */
export const byLedger = (query: ReportQuery): boolean =>
  query.only.tag !== undefined ||
  query.groupBy.some((group) => group === 'sub_wallet' || group === 'payment_mode') ||
  (query.groupBy.includes('hour') && byKey(query))

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

/** Further conditions, on keys `k` if the request is by keys. */
type Only = readonly string[]

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
    ...only,
  ]
  return `select ${time} as at, k.id as key_id, ${[...texts, ...counted.map((name) => `${value(name)} as ${name}`)].join(', ')}
    from api_key k ${noteOf(query)} cross join ${table.name} r
    where ${tests.join(' and ')}
    ${group}`
}

/** Sums of keys: of whole months if months can answer, and of days for the rest. */
const keySums = (query: ReportQuery, span: Span, bind: Bind, only: Only): readonly string[] => {
  const { days, months } = tablesFor(query)
  if (months === undefined) return [partOf(query, { table: days, span }, bind, only)]
  const cover = coverOf(span)
  // One row per key suffices if neither models nor, over several months, single months are requested.
  const whole = (part: Span, table: Table) =>
    days !== keyDays || (table.time === 'month' && query.groupBy.includes('month')) ? {} : { at: part.from }
  const parts: readonly Part[] = [
    ...(cover.months.from < cover.months.to ? [{ table: months, span: cover.months }] : []),
    ...cover.plus.map((part) => ({ table: days, span: part })),
    ...cover.minus.map((part) => ({ table: days, span: part, minus: true as const })),
  ]
  return parts.map((part) => partOf(query, { ...part, ...whole(part.span, part.table) }, bind, only))
}

const hourSums = ({ orgs }: ReportQuery, span: Span, bind: Bind, only: Only): string => {
  const tests = [
    `r.hour >= ${bind(span.from)}`,
    `r.hour < ${bind(span.to)}`,
    ...orgsTest('r', orgs, bind),
    ...only,
  ]
  return `select r.hour as at, cast(null as text) as key_id, r.model, r.vendor, r.ended, ${counted.map((name) => `r.${name}`).join(', ')}
    from roll_up_hour r where ${tests.join(' and ')}`
}

/** The span as whole days, which sums can answer, and its ends that are none, each within one day. */
const cutOf = ({ from, to }: Span): { readonly whole: Span; readonly ends: readonly Span[] } => {
  const [first, last] = [Math.ceil(from / DAY_MS) * DAY_MS, dayAround(to).from]
  if (first > last) return { whole: { from: first, to: first }, ends: [{ from, to }] }
  const ends = [
    { from, to: first },
    { from: last, to },
  ]
  return { whole: { from: first, to: last }, ends: ends.filter((end) => end.from < end.to) }
}

const dayAround = (at: Instant): Span => {
  const from = Math.floor(at / DAY_MS) * DAY_MS
  return { from, to: from + DAY_MS }
}

/** What is summed. Where details are deleted nothing else is left, so the day around an end of the span counts whole. */
export const summed = (query: ReportQuery, bind: Bind, only: Only = []): readonly string[] => {
  if (byLedger(query)) return []
  const { whole, ends } = cutOf(query)
  const sums = (span: Span, those: Only) =>
    byKey(query) ? keySums(query, span, bind, those) : [hourSums(query, span, bind, those)]
  return [
    ...(whole.from < whole.to ? sums(whole, only) : []),
    ...ends.flatMap((end) => {
      const span = dayAround(end.from)
      return sums(span, [...only, `${bind(span.from)} < ${prunedUntil}`])
    }),
  ]
}

/** What the ledger says of a span, of postings since then that fulfil these tests. */
const postedIn = (
  engine: Engine,
  query: ReportQuery,
  { span, since, tests: more = [] }: { readonly span: Span; readonly since?: string; tests?: string[] },
  bind: Bind,
): string => {
  const { groupBy, only: filter } = query
  const members = {
    vendor: groupBy.includes('vendor') || filter.vendor !== undefined,
    ended: groupBy.includes('status') || filter.status !== undefined,
  }
  const at = countsAt(engine.dialect)
  const [from, to] = [bind(span.from), bind(span.to)]
  const tests = [
    't.key_id = k.id',
    `t.kind in ('usage', 'refund') and ${isPaid}`,
    `t.at >= ${since ?? from}`,
    `t.at < cast(${to} as bigint) + ${BOOKS_OPEN_MS}`,
    `${at} >= ${from}`,
    `${at} < ${to}`,
    ...more,
    ...scopeTests(query, bind),
  ]
  const tag = filter.tag === undefined ? '' : `, ${tagIn(engine, bind(filter.tag.name))} as tag`
  const further = byLedger(query) ? `, ${subOf} as sub_wallet, ${paymentModeOf} as payment_mode${tag}` : ''
  return `select ${at} as at, k.id as key_id, ${countedColumns(engine, members)}${further} from ${countedFrom(engine)} ${noteOf(query)}
    where ${tests.join(' and ')}`
}

/**
 * What is not summed yet, read in the same statement as the mark up to which sums exist, so that no call is counted
 * twice or missed while the mark moves; and the ends of the span.
 */
export const unsummed = (engine: Engine, query: ReportQuery, bind: Bind): string => {
  if (byLedger(query)) return postedIn(engine, query, { span: query }, bind)
  const { whole, ends } = cutOf(query)
  const rest = { span: whole, since: unsummedFrom(bind(whole.from)) }
  const parts = [
    ...(whole.from < whole.to || ends.length === 0 ? [rest] : []),
    ...ends.map((span) => ({ span, tests: [`${bind(dayAround(span.from).from)} >= ${prunedUntil}`] })),
  ]
  return parts.map((part) => postedIn(engine, query, part, bind)).join(' union all ')
}

/** All use that the query is about. */
export const usedIn = (engine: Engine, query: ReportQuery, bind: Bind): string =>
  [...summed(query, bind), unsummed(engine, query, bind)].join(' union all ')
