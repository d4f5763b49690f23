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

/** An instant in the UTC month of another one of the span, by the bounds of its months: a function would be called for each row. */
const monthIn = ({ from, to }: ReportQuery, at: string): string => {
  const arms: string[] = []
  for (let start = from; start < to; start = nextMonthStart(start))
    arms.push(`when ${at} < ${nextMonthStart(start)} then ${start}`)
  return arms.length === 0 ? '0' : `case ${arms.join(' ')} end`
}

const columns = 'model, vendor, ended, requests, input_tokens, output_tokens, amount'

const counted = ['requests', 'input_tokens', 'output_tokens', 'amount'] as const

/** Whether nothing but keys and days is asked for, in one organisation: those sums are fewer. */
const byKeyOnly = ({ groupBy, only, orgId }: ReportQuery): boolean =>
  orgId !== undefined &&
  Object.keys(only).length === 0 &&
  groupBy.every((group) => group === 'key' || group === 'day' || group === 'month')

/** Sums of keys; where no days are asked for they are one for each key, or key and month, before they are joined to anything. */
const headOfKeys = (query: ReportQuery, span: { from: string; to: string }, bind: Bind): string => {
  const where = [
    `r.org_id = ${bind(query.orgId ?? '')}`,
    `r.day >= ${span.from} and r.day < ${span.to}`,
    ...(query.keyId === undefined ? [] : [`r.key_id = ${bind(query.keyId)}`]),
  ].join(' and ')
  const months = query.groupBy.includes('month') ? `, ${monthIn(query, 'r.day')}` : ''
  const sums = query.groupBy.includes('day')
    ? `select r.day as at, r.key_id, ${counted.map((name) => `r.${name}`).join(', ')} from roll_up_key r where ${where}`
    : `select min(r.day) as at, r.key_id, ${counted.map((name) => `cast(sum(r.${name}) as bigint) as ${name}`).join(', ')}
       from roll_up_key r where ${where} group by r.key_id${months}`
  return `select g.at, g.key_id, '' as model, '' as vendor, '' as ended, ${counted.map((name) => `g.${name}`).join(', ')}
    from (${sums}) g join api_key k on k.id = g.key_id left join key_note o on o.key_id = k.id
    where ${['1 = 1', ...scopeTests(query, bind)].join(' and ')}`
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
    left join key_note o on o.key_id = k.id
    where t.key_id = k.id and t.kind in ('usage', 'refund') and t.at >= ${unsummedFrom(from)} and t.at < ${to} and ${tests(scopeTests(query, bind))}`
  const head = !keyed
    ? `select r.hour as at, cast(null as text) as key_id, ${columns} from roll_up_hour r
       where r.hour >= ${from} and r.hour < ${to} and ${tests(query.orgId === undefined ? [] : [`r.org_id = ${bind(query.orgId)}`])}`
    : byKeyOnly(query)
      ? headOfKeys(query, { from, to }, bind)
      : `select r.day as at, r.key_id, ${columns} from roll_up_day r join api_key k on k.id = r.key_id
       left join key_note o on o.key_id = k.id
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
  const rows = await once(
    engine,
    'reading',
    statement(
      named
        ? `select y.*, k.label, o.reference from (${inner}) y join api_key k on k.id = y.g_key
           left join key_note o on o.key_id = k.id order by y.amount desc, y.g_key limit ${bind(most)}`
        : `${inner}${places === '' ? '' : ` order by ${places}`} limit ${bind(most)}`,
      ...params,
    ),
  )
  return rows.map((row): ReportLine => ({ groups: groupsOf(groupBy, row), ...lines.read(row) }))
}
