/** Use by groups: the roll-ups up to their mark and the ledger from there on, so that the sum is the ledger's at any time. */
import { DAY_MS, HOUR_MS, monthOf, nextMonthStart } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, statement, type Value } from '../engine/engine.ts'
import { scopeTests } from './call-lines.ts'
import type { ReportLine, ReportQuery, UsageGroup } from './report-port.ts'
import { countedColumns, countedFrom, unsummedFrom } from './roll-up.ts'

const lines = rowsOf({
  label: maybe(text('label')),
  reference: maybe(text('reference')),
  requests: integer('requests'),
  inputTokens: integer('input_tokens'),
  outputTokens: integer('output_tokens'),
  amount: nano('amount'),
})

type Bind = (value: Value) => string

/** Whether only the sums by key and day can answer. */
const byKey = ({ groupBy, madeBy, keyId, tenants, tenant }: ReportQuery): boolean =>
  groupBy.includes('key') || (madeBy ?? keyId ?? tenant) !== undefined || tenants === true

const expressions: Readonly<Record<Exclude<UsageGroup, 'month'>, string>> = {
  hour: `(x.at / ${HOUR_MS}) * ${HOUR_MS}`,
  day: `(x.at / ${DAY_MS}) * ${DAY_MS}`,
  key: 'x.key_id',
  model: 'x.model',
  vendor: 'x.vendor',
  status: 'x.ended',
}

type Span = { readonly from: string; readonly to: string }

/** The UTC months of the span, each as the part of it that is asked for. */
const monthsOf = ({ from, to }: ReportQuery): readonly { readonly from: number; readonly to: number }[] => {
  const months: { from: number; to: number }[] = []
  for (let start = from; start < to; start = nextMonthStart(start))
    months.push({ from: start, to: Math.min(nextMonthStart(start), to) })
  return months
}

/** An instant in the UTC month of another one of the span, by the bounds of its months: a function would be called for each row. */
const monthIn = (query: ReportQuery, at: string): string => {
  const arms = monthsOf(query).map(({ from, to }) => `when ${at} < ${to} then ${from}`)
  return arms.length === 0 ? '0' : `case ${arms.join(' ')} end`
}

const columns = 'model, vendor, ended, requests, input_tokens, output_tokens, amount'

const counted = ['requests', 'input_tokens', 'output_tokens', 'amount'] as const

/** Whether nothing but keys and days is asked for, in one organisation: those sums are fewer. */
const byKeyOnly = ({ groupBy, only, orgId }: ReportQuery): boolean =>
  orgId !== undefined &&
  Object.keys(only).length === 0 &&
  groupBy.every((group) => group === 'key' || group === 'day' || group === 'month')

/** The note of a key, which tells who made it: looked up where that is asked. */
const noteOf = ({ madeBy }: ReportQuery): string =>
  madeBy === undefined ? '' : 'left join key_note o on o.key_id = k.id'

/** So many months are looked for one by one, each in the order of its keys; for more of them all are sorted once. */
const MONTHS_ONE_BY_ONE = 6

/**
 * Sums of keys; where no days are asked for they are one for each key, or key and month, before they are joined to anything.
 * In the order of their index a sum of keys costs no sorting, which is most of what it would cost otherwise.
 */
const headOfKeys = (query: ReportQuery, span: Span, bind: Bind): string => {
  const { orgId, keyId, groupBy, ...others } = query
  const where = [
    `r.org_id = ${bind(orgId ?? '')}`,
    ...(keyId === undefined ? [] : [`r.key_id = ${bind(keyId)}`]),
  ].join(' and ')
  const summed = ({ from, to }: Span, more = '') =>
    `select min(r.day) as at, r.key_id, ${counted.map((name) => `cast(sum(r.${name}) as bigint) as ${name}`).join(', ')}
     from roll_up_key r where ${where} and r.day >= ${from} and r.day < ${to} group by r.key_id${more}`
  const byMonth = () => {
    const months = monthsOf(query)
    if (months.length === 0 || months.length > MONTHS_ONE_BY_ONE)
      return summed(span, `, ${monthIn(query, 'r.day')}`)
    return months.map(({ from, to }) => summed({ from: String(from), to: String(to) })).join(' union all ')
  }
  const sums = groupBy.includes('day')
    ? `select r.day as at, r.key_id, ${counted.map((name) => `r.${name}`).join(', ')} from roll_up_key r
       where ${where} and r.day >= ${span.from} and r.day < ${span.to}`
    : groupBy.includes('month')
      ? byMonth()
      : summed(span)
  const tests = scopeTests(others, bind)
  const within =
    tests.length === 0
      ? ''
      : `join api_key k on k.id = g.key_id ${noteOf(query)} where ${tests.join(' and ')}`
  return `select g.at, g.key_id, '' as model, '' as vendor, '' as ended, ${counted.map((name) => `g.${name}`).join(', ')}
    from (${sums}) g ${within}`
}

/**
 * The rows of roll-ups and ledger that count, with `at` and, by key, `key_id`. What is not rolled up yet is read in the same
 * statement as the mark up to which it is, so that no call is counted twice or not at all while the mark moves.
 */
const source = (engine: Engine, query: ReportQuery, bind: Bind): string => {
  const keyed = byKey(query)
  const tests = (more: readonly string[]) => ['1 = 1', ...more].join(' and ')
  const [from, to] = [bind(query.from), bind(query.to)]
  const { groupBy, only } = query
  const asked = {
    vendor: groupBy.includes('vendor') || only.vendor !== undefined,
    ended: groupBy.includes('status') || only.status !== undefined,
  }
  const tail = `select t.at, k.id as key_id, ${countedColumns(engine, asked)} from ${countedFrom}
    ${noteOf(query)}
    where t.key_id = k.id and t.kind in ('usage', 'refund') and t.at >= ${unsummedFrom(from)} and t.at < ${to} and ${tests(scopeTests(query, bind))}`
  const head = !keyed
    ? `select r.hour as at, cast(null as text) as key_id, ${columns} from roll_up_hour r
       where r.hour >= ${from} and r.hour < ${to} and ${tests(query.orgId === undefined ? [] : [`r.org_id = ${bind(query.orgId)}`])}`
    : byKeyOnly(query)
      ? headOfKeys(query, { from, to }, bind)
      : `select r.day as at, r.key_id, ${columns} from roll_up_day r join api_key k on k.id = r.key_id
       ${noteOf(query)}
       where r.day >= ${from} and r.day < ${to} and ${tests(scopeTests(query, bind))}`
  return `${head} union all ${tail}`
}

const textIn = (group: UsageGroup, value: string): string =>
  group === 'month'
    ? monthOf(Number(value))
    : group === 'hour' || group === 'day'
      ? new Date(Number(value)).toISOString()
      : value

const groupsOf = (groupBy: readonly UsageGroup[], row: Row): ReportLine['groups'] =>
  Object.fromEntries(
    groupBy.map((group) => {
      const value = String(row[`g_${group}`])
      return [group, textIn(group, value)]
    }),
  )

export const usageLines = async (engine: Engine, query: ReportQuery): Promise<readonly ReportLine[]> => {
  const { groupBy, only, most } = query
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const from = source(engine, query, bind)
  const tests = [
    '1 = 1',
    ...(only.model === undefined ? [] : [`x.model = ${bind(only.model)}`]),
    ...(only.vendor === undefined ? [] : [`x.vendor = ${bind(only.vendor)}`]),
    ...(only.status === undefined ? [] : [`x.ended = ${bind(only.status)}`]),
  ]
  const groups = groupBy.map(
    (group) => `${group === 'month' ? monthIn(query, 'x.at') : expressions[group]} as g_${group}`,
  )
  const named = groupBy.includes('key')
  const places = groups.map((_group, at) => at + 1).join(', ')
  const sum = (name: string) => `coalesce(cast(sum(x.${name}) as bigint), 0) as ${name}`
  const inner = `select ${[...groups, sum('requests'), sum('input_tokens'), sum('output_tokens'), sum('amount')].join(', ')}
     from (${from}) x where ${tests.join(' and ')} ${places === '' ? '' : `group by ${places}`}`
  // What cost the same is told in the same order each time.
  const order = ['amount desc', ...groupBy.map((group) => `g_${group}`)].join(', ')
  const rows = await once(
    engine,
    'reading',
    statement(
      named
        ? `select y.*, k.label, o.reference from (${inner} order by ${order} limit ${bind(most)}) y
           join api_key k on k.id = y.g_key left join key_note o on o.key_id = k.id order by ${order}`
        : `${inner}${places === '' ? '' : ` order by ${places}`} limit ${bind(most)}`,
      ...params,
    ),
  )
  return rows.map((row): ReportLine => ({ groups: groupsOf(groupBy, row), ...lines.read(row) }))
}
