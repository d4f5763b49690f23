/** Calls and use of an organisation: listed, summed by groups, and as CSV. */
import { decimalFromNano } from '../core/money.ts'
import { invalid, refuse } from '../core/refusal.ts'
import { DAY_MS } from '../core/time.ts'
import {
  type CallLine,
  type Counted,
  type ReportQuery,
  type Scope,
  type UsageGroup,
  usageGroups,
} from '../store/reports/report-port.ts'
import { type ConsoleRoute, type Here, may, type Reply, type Within, within } from './here.ts'
import { csvOf, instantOf, isoOf, usdOf } from './read.ts'
import { type CallShown, callList, callShown, most, usageShown } from './schema/reports.ts'
import { csv } from './schema/shared.ts'
import { usageOfTop } from './usage-top.ts'

/** Whose calls the person may see; a requested key must be among them. */
export const scopeOf = (here: Within): Scope => {
  const [keyId, tenant] = [here.request.query.get('key'), here.request.query.get('tenant')]
  return {
    orgId: here.session.orgId,
    ...(may(here, 'read') ? {} : { madeBy: here.session.personId }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(here.request.query.get('tenants') === 'true' ? { tenants: true } : {}),
  }
}

const shownCall = ({ id, at, keyId, label, prefix, amount, refunded, detail }: CallLine): CallShown => ({
  id,
  at: isoOf(at),
  key: { id: keyId, label, prefix },
  cost_usd: usdOf(amount),
  refunded_usd: usdOf(refunded),
  model: detail?.model ?? null,
  vendor: detail?.vendor ?? null,
  status: detail?.ended ?? null,
  estimated: detail?.estimated ?? false,
  tokens: Object.fromEntries(Object.entries(detail?.usage ?? {}).filter(([, count]) => count > 0)),
  took_ms: detail === undefined ? null : Math.round(detail.tookMs),
  first_byte_ms: detail === undefined ? null : Math.round(detail.firstByteMs),
})

const listCalls = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const count = most(here.request.query.get('limit'), 50, 500)
  const before = here.request.query.get('before')
  const found = await here.gateway.store.reports.calls({
    ...scopeOf(here),
    ...(before === undefined ? {} : { before }),
    most: count + 1,
  })
  return { value: { data: found.slice(0, count).map(shownCall), has_more: found.length > count } }
}

const getCall = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const [found] = await here.gateway.store.reports.calls({
    ...scopeOf(here),
    id: here.request.params.id ?? '',
    most: 1,
  })
  if (found === undefined) throw refuse('not_found', 'There is no such call, or it is not yours.')
  return { value: shownCall(found) }
}

const isGroup = (name: string): name is UsageGroup => usageGroups.some((one) => one === name)

const groupsOf = (text: string | undefined): readonly UsageGroup[] => {
  if (text === undefined || text === '') return []
  const names = text.split(',')
  if (!names.every(isGroup))
    throw invalid('group_by', `'group_by' takes ${usageGroups.join(', ')}, with commas between.`)
  if (names.includes('hour') && names.includes('key'))
    throw invalid('group_by', 'Keys are summed by day; group by day and key.')
  return [...new Set(names)]
}

const ROWS_MOST = 5_000
/** The query of a report names each of its months, so their number is limited. */
const SPAN_MOST_MS = 3_660 * DAY_MS

const reportQuery = (here: Within): Omit<ReportQuery, 'most'> => {
  const { query } = here.request
  const now = here.gateway.clock.now()
  const tomorrow = (Math.trunc(now / DAY_MS) + 1) * DAY_MS
  const from = instantOf('from', query.get('from'), tomorrow - 30 * DAY_MS)
  const to = instantOf('to', query.get('to'), tomorrow)
  if (from > to) throw invalid('from', "'from' must not be after 'to'.")
  if (to - from > SPAN_MOST_MS) throw invalid('from', "'from' and 'to' may be ten years apart at most.")
  const whole = (at: number) => Math.trunc(at / DAY_MS) * DAY_MS
  const [model, vendor, status] = [query.get('model'), query.get('vendor'), query.get('status')]
  return {
    ...scopeOf(here),
    from: whole(from),
    to: whole(to),
    groupBy: groupsOf(query.get('group_by')),
    only: {
      ...(model === undefined ? {} : { model }),
      ...(vendor === undefined ? {} : { vendor }),
      ...(status === undefined ? {} : { status }),
    },
  }
}

const countedOf = ({ requests, inputTokens, outputTokens, amount }: Counted) => ({
  requests,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  cost_usd: usdOf(amount),
})

/** The unit of time, and how many keys to show one by one; undefined for all. */
const topOf = (text: string | undefined, groupBy: readonly UsageGroup[]) => {
  if (text === undefined) return undefined
  const [slot, by, ...more] = groupBy
  if ((slot !== 'day' && slot !== 'month') || by !== 'key' || more.length > 0)
    throw invalid('top', "'top' goes with 'group_by' of day,key or month,key.")
  return { slot, most: most(text, TOP_MOST, TOP_MOST) }
}

const TOP_MOST = 20

const getUsage = async (context: Here): Promise<Reply> => {
  const here = within(context)
  here.console.keepRolledUp()
  const count = most(here.request.query.get('limit'), ROWS_MOST, ROWS_MOST)
  const query = reportQuery(here)
  const { usageTop, usageAndTotal } = here.gateway.store.reports
  const top = topOf(here.request.query.get('top'), query.groupBy)
  const { rows, total } = await (top === undefined
    ? usageAndTotal({ ...query, most: count + 1 })
    : usageOfTop(usageTop, { ...query, ...top }))
  return {
    value: {
      from: isoOf(query.from),
      to: isoOf(query.to),
      group_by: query.groupBy,
      total: countedOf(total),
      rows: rows.slice(0, count).map((line) => ({
        groups: line.groups,
        label: line.label ?? null,
        reference: line.reference ?? null,
        ...countedOf(line),
      })),
      has_more: rows.length > count,
    },
  }
}

const getUsageCsv = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const query = reportQuery(here)
  const rows = await here.gateway.store.reports.usage({ ...query, most: 1_000_000 })
  const named = query.groupBy.includes('key')
  const head = [
    ...query.groupBy,
    ...(named ? ['label', 'reference'] : []),
    'requests',
    'input_tokens',
    'output_tokens',
    'cost_usd',
  ]
  const lines = rows.map(
    ({ groups, label = '', reference = '', requests, inputTokens, outputTokens, amount }) => [
      ...query.groupBy.map((group) => (group === 'day' ? groups.day?.slice(0, 10) : groups[group]) ?? ''),
      ...(named ? [label, reference] : []),
      requests,
      inputTokens,
      outputTokens,
      decimalFromNano(amount),
    ],
  )
  return { csv: { name: `usage-${isoOf(query.from).slice(0, 10)}.csv`, text: csvOf([head, ...lines]) } }
}

const usageQuery = [
  'from',
  'to',
  'group_by',
  'key',
  'model',
  'vendor',
  'status',
  'tenant',
  'tenants',
] as const

export const usageRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/calls',
    summary: 'The calls of the organisation, newest first; never any content.',
    audience: ['read', 'read_own'],
    query: ['key', 'tenant', 'before', 'limit'],
    answer: callList,
    handler: listCalls,
  },
  {
    method: 'GET',
    path: '/calls/:id',
    summary: 'One call.',
    audience: ['read', 'read_own'],
    answer: callShown,
    handler: getCall,
  },
  {
    method: 'GET',
    path: '/usage',
    summary:
      'Use in whole UTC days, summed by groups, with the most expensive keys first; equal to the ledger. `top` limits how many keys are listed one by one for each time; `total` covers all rows, including those that `limit` leaves out.',
    audience: ['read', 'read_own'],
    query: [...usageQuery, 'top', 'limit'],
    answer: usageShown,
    handler: getUsage,
  },
  {
    method: 'GET',
    path: '/usage.csv',
    summary: 'The same as CSV.',
    audience: ['read', 'read_own'],
    query: usageQuery,
    answer: csv,
    csv: true,
    handler: getUsageCsv,
  },
]
