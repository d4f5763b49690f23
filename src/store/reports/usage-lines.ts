/**
 * Use by groups: from the roll-ups up to their mark and from the ledger after it, so that the sum always equals the
 * ledger's.
 */
import { DAY_MS, HOUR_MS, monthOf, nextMonthStart } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text, truth } from '../engine/columns.ts'
import { type Bind, binding, type Engine, once, type Row } from '../engine/engine.ts'
import {
  nothingCounted,
  type ReportLine,
  type ReportQuery,
  type ReportStore,
  type UsageGroup,
} from './report-port.ts'
import { counted } from './roll-up.ts'
import { usedIn } from './usage-source.ts'

/** The counts of a row, under names that begin with this. */
const countsOf = (prefix = '') => ({
  requests: integer(`${prefix}requests`),
  inputTokens: integer(`${prefix}input_tokens`),
  outputTokens: integer(`${prefix}output_tokens`),
  cachedTokens: integer(`${prefix}cached_tokens`),
  cacheWriteTokens: integer(`${prefix}cache_write_tokens`),
  cacheSaved: nano(`${prefix}cache_saved`),
  amount: nano(`${prefix}amount`),
})

const lines = rowsOf({
  label: maybe(text('label')),
  parent: maybe(text('parent_id')),
  deleted: maybe(truth('deleted')),
  reference: maybe(text('reference')),
  subLabel: maybe(text('sub_label')),
  ...countsOf(),
})

const expressions: Readonly<Record<Exclude<UsageGroup, 'month'>, string>> = {
  hour: `(x.at / ${HOUR_MS}) * ${HOUR_MS}`,
  day: `(x.at / ${DAY_MS}) * ${DAY_MS}`,
  key: 'x.key_id',
  model: 'x.model',
  vendor: 'x.vendor',
  status: 'x.ended',
  sub_wallet: 'x.sub_wallet',
  payment_mode: 'x.payment_mode',
  tag: 'x.tag',
}

/** The UTC months of the span, each as the requested part of it. */
const monthsOf = ({ from, to }: ReportQuery): readonly { readonly from: number; readonly to: number }[] => {
  const months: { from: number; to: number }[] = []
  for (let start = from; start < to; start = nextMonthStart(start))
    months.push({ from: start, to: Math.min(nextMonthStart(start), to) })
  return months
}

/**
 * The UTC month that contains an instant of the span, by the bounds of its months: a function would be called for each
 * row.
 */
const monthIn = (query: ReportQuery, at: string): string => {
  const months = monthsOf(query)
  const arms = months.map(({ from, to }) => `when ${at} < ${to} then ${from}`)
  // Where the last month counts whole, its days after the span are taken off it.
  return arms.length === 0 ? '0' : `case ${arms.join(' ')} else ${months.at(-1)?.from} end`
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

/** Use outside the span cancels out: months count whole, less their other days. */
const USED = 'sum(x.requests) <> 0 or sum(x.amount) <> 0'

/** Rows `x` by groups, each summed. */
export const grouped = (query: ReportQuery, rows: string, bind: Bind): string => {
  const { groupBy, only } = query
  const tests = [
    '1 = 1',
    ...(only.model === undefined ? [] : [`x.model = ${bind(only.model)}`]),
    ...(only.vendor === undefined ? [] : [`x.vendor = ${bind(only.vendor)}`]),
    ...(only.status === undefined ? [] : [`x.ended = ${bind(only.status)}`]),
    ...(only.tag?.value === undefined ? [] : [`x.tag = ${bind(only.tag.value)}`]),
  ]
  const groups = groupBy.map(
    (group) => `${group === 'month' ? monthIn(query, 'x.at') : expressions[group]} as g_${group}`,
  )
  const sum = (name: string) => `coalesce(cast(sum(x.${name}) as bigint), 0) as ${name}`
  const places = groups.map((_group, at) => at + 1).join(', ')
  return `select ${[...groups, ...counted.map(sum)].join(', ')} from (${rows}) x where ${tests.join(' and ')}
    ${places === '' ? '' : `group by ${places} having ${USED}`}`
}

/** What is known of the keys and sub-wallets of the rows `y`. */
const namesOf = (groupBy: readonly UsageGroup[]) => [
  ...(groupBy.includes('key')
    ? [
        {
          columns: 'k.label, k.parent_id, k.deleted, o.reference',
          from: 'left join api_key k on k.id = y.g_key left join key_note o on o.key_id = k.id',
        },
      ]
    : []),
  ...(groupBy.includes('sub_wallet')
    ? [{ columns: 's.label as sub_label', from: 'left join sub_wallet s on s.id = y.g_sub_wallet' }]
    : []),
]

/** Rows `y` with what is known of them, in this order. */
export const named = (groupBy: readonly UsageGroup[], rows: string, order: string): string => {
  const names = namesOf(groupBy)
  return `select ${['y.*', ...names.map(({ columns }) => columns)].join(', ')} from (${rows}) y
    ${names.map(({ from }) => from).join(' ')} order by ${order}`
}

/**
 * Rows by groups as the database returns them, each with these further columns over all groups `g`, including those
 * left out.
 */
const rowsBy = (engine: Engine, query: ReportQuery, more: readonly string[]): Promise<readonly Row[]> => {
  const { groupBy, most, bare, byCost } = query
  const { params, bind } = binding()
  const rows = grouped(query, usedIn(engine, query, bind), bind)
  // Equal costs are listed in the same order each time.
  const order = [...(byCost === true ? ['amount desc'] : []), ...groupBy.map((group) => `g_${group}`)].join(
    ', ',
  )
  const plain = bare === true || order === ''
  const shown = `select ${['g.*', ...more].join(', ')} from (${rows}) g
     ${plain ? '' : `order by ${order}`} limit ${bind(most)}`
  return once(engine, 'reading', plain ? shown : named(groupBy, shown, order), ...params)
}

export const lineIn =
  ({ groupBy }: ReportQuery) =>
  (row: Row): ReportLine => ({ groups: groupsOf(groupBy, row), ...lines.read(row) })

export const usageLines = async (engine: Engine, query: ReportQuery): Promise<readonly ReportLine[]> =>
  (await rowsBy(engine, query, [])).map(lineIn(query))

const totals = rowsOf(countsOf('all_'))

/** The same with the sum of all groups, as of the same moment, and without reading anything twice. */
export const usageAndTotal = async (
  engine: Engine,
  query: ReportQuery,
): ReturnType<ReportStore['usageAndTotal']> => {
  const all = counted.map((name) => `cast(sum(g.${name}) over () as bigint) as all_${name}`)
  const rows = await rowsBy(engine, query, all)
  const [first] = rows
  return {
    rows: rows.map(lineIn(query)),
    total: first === undefined ? nothingCounted : totals.read(first),
  }
}
