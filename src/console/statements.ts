/** What tenants used in a month and are billed for it: for the reseller as page and CSV, for a tenant by its link. */
import { refuse } from '../core/refusal.ts'
import { type Instant, type Month, monthOf } from '../core/time.ts'
import type { Counted } from '../store/reports/report-port.ts'
import { marginIn } from '../tenancy/margin.ts'
import { type ConsoleRoute, type Here, type Reply, within } from './here.ts'
import { csvOf, usdOf } from './read.ts'
import { csv } from './schema/shared.ts'
import { statement, statementTotal, tenantUse } from './schema/tenants.ts'
import { statusOf } from './shown-key.ts'
import { nameOfOrganisation } from './shown-session.ts'
import {
  added,
  type Billed,
  byDay,
  byModel,
  type OfTenant,
  requestedMonth,
  spanOf,
  statementOf,
} from './statement-of.ts'
import { type Tenant, tenantOf } from './tenant-of.ts'

const MONTHS_SHOWN = 12

/** The months that can be requested, newest first. */
const monthsUntil = (now: Instant): readonly Month[] => {
  const date = new Date(now)
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1)),
  )
}

const countedOf = ({ requests, inputTokens, outputTokens }: Counted) => ({
  requests,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
})
const sumsOf = (sum: Billed) => ({
  ...countedOf(sum),
  cost_usd: usdOf(sum.amount),
  billed_usd: usdOf(sum.billed),
})

const isOver = (here: Here, month: Month): boolean => month < monthOf(here.gateway.clock.now())

/** The totals of all tenants, with the difference between the two prices. */
const totalOf = (tenants: readonly OfTenant[]) => {
  const total = added(tenants.flatMap(({ lines }) => lines))
  return { ...sumsOf(total), margin_usd: usdOf(total.billed - total.amount) }
}

const getStatementTotal = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { month, tenants, usualPercent } = await statementOf(here)
  return {
    value: {
      month,
      complete: isOver(here, month),
      default_margin_percent: usualPercent,
      tenants: tenants.length,
      total: totalOf(tenants),
    },
  }
}

const getStatement = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { month, tenants, usualPercent } = await statementOf(here)
  return {
    value: {
      month,
      organisation: await nameOfOrganisation(here, here.session.orgId),
      complete: isOver(here, month),
      default_margin_percent: usualPercent,
      tenants: tenants.map(({ tenant, basisPoints, lines }) => ({
        id: tenant.id,
        label: tenant.label,
        reference: tenant.reference ?? null,
        margin_percent: basisPoints / 100,
        lines: lines.map((line) => ({ model: line.model, ...sumsOf(line) })),
        total: sumsOf(added(lines)),
      })),
      total: totalOf(tenants),
    },
  }
}

const head = ['month', 'tenant', 'reference', 'model', 'requests', 'input_tokens', 'output_tokens'] as const

const getStatementCsv = async (context: Here): Promise<Reply> => {
  const { month, tenants } = await statementOf(within(context))
  const rows = tenants.flatMap(({ tenant, basisPoints, lines }) =>
    lines.map(({ model, requests, inputTokens, outputTokens, amount, billed }) => [
      month,
      tenant.label,
      tenant.reference ?? '',
      model,
      requests,
      inputTokens,
      outputTokens,
      usdOf(amount),
      basisPoints / 100,
      usdOf(billed),
    ]),
  )
  const text = csvOf([[...head, 'cost_usd', 'margin_percent', 'billed_usd'], ...rows])
  return { csv: { name: `statement-${month}.csv`, text } }
}

/** What a tenant's own link shows: its use at the reseller's price, never our price or the margin. */
const ownUse = async (here: Here) => {
  const link = here.tenant
  if (link === undefined) throw refuse('sign_in_required', 'This page needs the link that you were given.')
  const { orgId, tenantId } = link
  const { store } = here.gateway
  const month = requestedMonth(here)
  const scope = { ...spanOf(month), orgId, tenant: tenantId }
  const [tenant, margins, used] = await Promise.all([
    tenantOf(here.gateway, orgId, tenantId),
    store.tenants.margins(orgId),
    store.reports.usage({ ...scope, groupBy: ['day', 'model'] }),
  ])
  const { basisPoints } = marginIn(margins, month, tenantId)
  return { month, tenant, orgId, lines: byModel(used, basisPoints), days: byDay(used, basisPoints) }
}

/** How much of its monthly cap the tenant has used, going by its key that has used the largest part. */
const capUsed = async ({ gateway }: Here, orgId: string, { keys }: Tenant): Promise<number | null> => {
  const lines = await Promise.all(
    keys
      .filter((key) => !key.deleted && key.limits.monthlyCap !== undefined)
      .map((key) => gateway.store.reports.keys({ orgId, which: 'tenants', id: key.id, most: 1 })),
  )
  const shares = lines.flat().map(({ key, spentThisMonth }) => {
    const cap = key.limits.monthlyCap ?? 0n
    return cap <= 0n ? 100 : Math.min(100, Number((spentThisMonth * 100n) / cap))
  })
  return shares.length === 0 ? null : Math.max(...shares)
}

/** What one of its keys may do that may do most: who has one that takes calls has access. */
const accessOf = ({ gateway }: Here, { keys }: Tenant) => {
  const states = new Set(keys.map((key) => statusOf(gateway, key)))
  const most = ['enabled', 'monthly_cap', 'spend_cap', 'disabled'] as const
  return most.find((state) => states.has(state)) ?? 'deleted'
}

const getOwnUse = async (here: Here): Promise<Reply> => {
  const { month, tenant, orgId, lines, days } = await ownUse(here)
  const total = added(lines)
  return {
    value: {
      month,
      months: monthsUntil(here.gateway.clock.now()),
      complete: isOver(here, month),
      organisation: await nameOfOrganisation(here, orgId),
      label: tenant.label,
      reference: tenant.reference ?? null,
      access: accessOf(here, tenant),
      cap_used_percent: await capUsed(here, orgId, tenant),
      lines: lines.map((line) => ({
        model: line.model,
        ...countedOf(line),
        billed_usd: usdOf(line.billed),
      })),
      days: days.map(({ day, requests, billed }) => ({ day, requests, billed_usd: usdOf(billed) })),
      total: { ...countedOf(total), billed_usd: usdOf(total.billed) },
    },
  }
}

const getOwnUseCsv = async (here: Here): Promise<Reply> => {
  const { month, tenant, lines } = await ownUse(here)
  const rows = lines.map(({ model, requests, inputTokens, outputTokens, billed }) => [
    month,
    tenant.label,
    tenant.reference ?? '',
    model,
    requests,
    inputTokens,
    outputTokens,
    usdOf(billed),
  ])
  return { csv: { name: `use-${month}.csv`, text: csvOf([[...head, 'billed_usd'], ...rows]) } }
}

export const statementRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/statement',
    summary: 'What each tenant used in a month, by model: our price and what the reseller bills.',
    audience: ['tenants', 'statements'],
    query: ['month', 'tenant'],
    answer: statement,
    handler: getStatement,
  },
  {
    method: 'GET',
    path: '/statement/total',
    summary: 'What all tenants used in a month together, without what each of them did.',
    audience: ['tenants', 'statements'],
    query: ['month'],
    answer: statementTotal,
    handler: getStatementTotal,
  },
  {
    method: 'GET',
    path: '/statement.csv',
    summary: 'The same as CSV.',
    audience: ['tenants', 'statements'],
    query: ['month', 'tenant'],
    answer: csv,
    csv: true,
    handler: getStatementCsv,
  },
  {
    method: 'GET',
    path: '/use',
    summary:
      'What a tenant used in a month, at the reseller’s price; by the secret of its link, as a bearer.',
    audience: 'tenant',
    query: ['month'],
    answer: tenantUse,
    handler: getOwnUse,
  },
  {
    method: 'GET',
    path: '/use.csv',
    summary: 'The same as CSV.',
    audience: 'tenant',
    query: ['month'],
    answer: csv,
    csv: true,
    handler: getOwnUseCsv,
  },
]
