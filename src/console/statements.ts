/** What tenants used in a month and are billed for it: for the reseller, as page and CSV, and for a tenant by its link. */
import type { Nano } from '../core/money.ts'
import { invalid, refuse } from '../core/refusal.ts'
import { type Instant, type Month, monthOf, nextMonthStart } from '../core/time.ts'
import type { Counted, ReportLine, ReportQuery } from '../store/reports/report-port.ts'
import { billedFor, marginIn } from '../tenancy/margin.ts'
import { type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { csvOf, usdOf } from './read.ts'
import { csv } from './schema/shared.ts'
import { statement, tenantUse } from './schema/tenants.ts'
import { nameOfOrganisation } from './shown-session.ts'
import { type Tenant, tenantOf, tenantsAmong } from './tenant-of.ts'

const MONTHS_SHOWN = 12

type Billed = Counted & { readonly billed: Nano }

const startOf = (month: Month): Instant => Date.parse(`${month}-01T00:00:00Z`)

/** The months that can be asked for, newest first. */
const monthsUntil = (now: Instant): readonly Month[] => {
  const date = new Date(now)
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1)),
  )
}

const askedMonth = ({ gateway, asked }: Here): Month => {
  const month = asked.query.get('month') ?? monthOf(gateway.clock.now())
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    throw invalid('month', "'month' must be a month such as 2026-11.")
  return month
}

const spanOf = (month: Month): Pick<ReportQuery, 'from' | 'to' | 'only' | 'most'> => ({
  from: startOf(month),
  to: nextMonthStart(startOf(month)),
  only: {},
  most: 1_000_000,
})

const added = <Line extends Billed>(lines: readonly Line[]): Billed =>
  lines.reduce<Billed>(
    (sum, line) => ({
      requests: sum.requests + line.requests,
      inputTokens: sum.inputTokens + line.inputTokens,
      outputTokens: sum.outputTokens + line.outputTokens,
      amount: sum.amount + line.amount,
      billed: sum.billed + line.billed,
    }),
    { requests: 0, inputTokens: 0, outputTokens: 0, amount: 0n, billed: 0n },
  )

/** Lines by model, each billed by itself: what is shown adds up. */
const byModel = (lines: readonly ReportLine[], basisPoints: number) => {
  const models = new Map<string, Counted>()
  for (const line of lines) {
    const model = line.groups.model ?? ''
    const sum = models.get(model) ?? { requests: 0, inputTokens: 0, outputTokens: 0, amount: 0n }
    models.set(model, added([sum, line].map((one) => ({ ...one, billed: 0n }))))
  }
  return [...models]
    .map(([model, sum]) => ({ ...sum, model, billed: billedFor(sum.amount, basisPoints) }))
    .sort((a, b) => (a.billed === b.billed ? (a.model < b.model ? -1 : 1) : a.billed > b.billed ? -1 : 1))
}

type OfTenant = {
  readonly tenant: Tenant
  readonly basisPoints: number
  readonly lines: ReturnType<typeof byModel>
}

/** What each tenant used in the month, by label; those that used nothing are left out, but for one that is asked for. */
const statementOf = async (here: Within): Promise<{ month: Month; tenants: readonly OfTenant[] }> => {
  const { store } = here.gateway
  const { orgId } = here.session
  const month = askedMonth(here)
  const id = here.asked.query.get('tenant')
  const only = id === undefined ? undefined : await tenantOf(here.gateway, orgId, id)
  const [keys, margins, used] = await Promise.all([
    store.tenants.keys({ orgId, ...(only === undefined ? {} : { tenantId: only.id }) }),
    store.tenants.margins(orgId),
    store.reports.usage({
      ...spanOf(month),
      orgId,
      tenants: true,
      groupBy: ['key', 'model'],
      ...(only === undefined ? {} : { tenant: only.id }),
    }),
  ])
  const owners = new Map(keys.map(({ key, tenantId }) => [key.id, tenantId]))
  const lines = Map.groupBy(used, ({ groups }) => owners.get(groups.key ?? '') ?? '')
  const tenants = tenantsAmong(keys)
    .filter((tenant) => only !== undefined || lines.has(tenant.id))
    .map((tenant): OfTenant => {
      const { basisPoints } = marginIn(margins, month, tenant.id)
      return { tenant, basisPoints, lines: byModel(lines.get(tenant.id) ?? [], basisPoints) }
    })
    .sort(
      (a, b) => a.tenant.label.localeCompare(b.tenant.label, 'en') || (a.tenant.id < b.tenant.id ? -1 : 1),
    )
  return { month, tenants }
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

const getStatement = async (asked: Here): Promise<Reply> => {
  const here = within(asked)
  const { month, tenants } = await statementOf(here)
  const margins = await here.gateway.store.tenants.margins(here.session.orgId)
  const total = added(tenants.flatMap(({ lines }) => lines))
  return {
    value: {
      month,
      organisation: await nameOfOrganisation(here, here.session.orgId),
      complete: isOver(here, month),
      default_margin_percent: marginIn(margins, month).basisPoints / 100,
      tenants: tenants.map(({ tenant, basisPoints, lines }) => ({
        id: tenant.id,
        label: tenant.label,
        reference: tenant.reference ?? null,
        margin_percent: basisPoints / 100,
        lines: lines.map((line) => ({ model: line.model, ...sumsOf(line) })),
        total: sumsOf(added(lines)),
      })),
      total: { ...sumsOf(total), margin_usd: usdOf(total.billed - total.amount) },
    },
  }
}

const head = ['month', 'tenant', 'reference', 'model', 'requests', 'input_tokens', 'output_tokens'] as const

const getStatementCsv = async (asked: Here): Promise<Reply> => {
  const { month, tenants } = await statementOf(within(asked))
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

/** What a tenant's own link shows: its use at the reseller's price, and never ours or what lies between. */
const ownUse = async (here: Here) => {
  const link = here.tenant
  if (link === undefined) throw refuse('sign_in_required', 'This page needs the link that you were given.')
  const { orgId, tenantId } = link
  const { store } = here.gateway
  const month = askedMonth(here)
  const scope = { ...spanOf(month), orgId, tenant: tenantId }
  const [tenant, margins, models, days] = await Promise.all([
    tenantOf(here.gateway, orgId, tenantId),
    store.tenants.margins(orgId),
    store.reports.usage({ ...scope, groupBy: ['model'] }),
    store.reports.usage({ ...scope, groupBy: ['day'] }),
  ])
  const { basisPoints } = marginIn(margins, month, tenantId)
  return { month, tenant, orgId, lines: byModel(models, basisPoints), days, basisPoints }
}

/** How much of its month's cap the tenant has used: of the key that has used most of its own. */
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

const getOwnUse = async (here: Here): Promise<Reply> => {
  const { month, tenant, orgId, lines, days, basisPoints } = await ownUse(here)
  const total = added(lines)
  const living = tenant.keys.filter((key) => !key.deleted)
  return {
    value: {
      month,
      months: monthsUntil(here.gateway.clock.now()),
      complete: isOver(here, month),
      organisation: await nameOfOrganisation(here, orgId),
      label: tenant.label,
      reference: tenant.reference ?? null,
      suspended: living.every((key) => key.disabledReason !== undefined),
      cap_used_percent: await capUsed(here, orgId, tenant),
      lines: lines.map((line) => ({
        model: line.model,
        ...countedOf(line),
        billed_usd: usdOf(line.billed),
      })),
      days: days.map(({ groups, requests, amount }) => ({
        day: (groups.day ?? '').slice(0, 10),
        requests,
        billed_usd: usdOf(billedFor(amount, basisPoints)),
      })),
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
    whom: ['tenants', 'statements'],
    query: ['month', 'tenant'],
    answer: statement,
    handler: getStatement,
  },
  {
    method: 'GET',
    path: '/statement.csv',
    summary: 'The same as CSV.',
    whom: ['tenants', 'statements'],
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
    whom: 'tenant',
    query: ['month'],
    answer: tenantUse,
    handler: getOwnUse,
  },
  {
    method: 'GET',
    path: '/use.csv',
    summary: 'The same as CSV.',
    whom: 'tenant',
    query: ['month'],
    answer: csv,
    csv: true,
    handler: getOwnUseCsv,
  },
]
