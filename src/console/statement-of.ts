/** What tenants used in a month, and what they are billed for it at their reseller's prices. */
import type { Nano } from '../core/money.ts'
import { invalid } from '../core/refusal.ts'
import { type Instant, type Month, monthOf, nextMonthStart } from '../core/time.ts'
import type { Counted, ReportLine, ReportQuery } from '../store/reports/report-port.ts'
import { billedFor, marginIn } from '../tenancy/margin.ts'
import type { Here, Within } from './here.ts'
import { type Tenant, tenantOf, tenantsAmong } from './tenant-of.ts'

export type Billed = Counted & { readonly billed: Nano }

const startOf = (month: Month): Instant => Date.parse(`${month}-01T00:00:00Z`)

export const requestedMonth = ({ gateway, request }: Here): Month => {
  const month = request.query.get('month') ?? monthOf(gateway.clock.now())
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    throw invalid('month', "'month' must be a month such as 2026-11.")
  return month
}

export const spanOf = (month: Month): Pick<ReportQuery, 'from' | 'to' | 'only' | 'most'> => ({
  from: startOf(month),
  to: nextMonthStart(startOf(month)),
  only: {},
  most: 1_000_000,
})

/** One sum that is added to in place, because tenants have tens of thousands of lines. */
const sumOf = (lines: readonly Counted[]) => {
  const sum = { requests: 0, inputTokens: 0, outputTokens: 0, amount: 0n }
  for (const { requests, inputTokens, outputTokens, amount } of lines) {
    sum.requests += requests
    sum.inputTokens += inputTokens
    sum.outputTokens += outputTokens
    sum.amount += amount
  }
  return sum
}

export const added = (lines: readonly Billed[]): Billed => ({
  ...sumOf(lines),
  billed: lines.reduce((sum, { billed }) => sum + billed, 0n),
})

/** Lines by model, each billed and rounded by itself, so that the lines add up. */
export const byModel = (lines: readonly ReportLine[], basisPoints: number) => {
  const models = Map.groupBy(lines, ({ groups }) => groups.model ?? '')
  return [...models]
    .map(([model, those]) => {
      const sum = sumOf(those)
      return { ...sum, model, billed: billedFor(sum.amount, basisPoints) }
    })
    .sort((a, b) => (a.billed === b.billed ? (a.model < b.model ? -1 : 1) : a.billed > b.billed ? -1 : 1))
}

/**
 * Lines of days and models by day, oldest first. What the days before it were rounded up by is taken off a day, for each
 * model, so that the days add up to the same bill as the models.
 */
export const byDay = (lines: readonly ReportLine[], basisPoints: number) => {
  const until = new Map<string, Nano>()
  const days = [...Map.groupBy(lines, ({ groups }) => (groups.day ?? '').slice(0, 10))]
  return days
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, those]) => {
      const billed = those.map(({ groups: { model = '' }, amount }) => {
        const before = until.get(model) ?? 0n
        until.set(model, before + amount)
        return billedFor(before + amount, basisPoints) - billedFor(before, basisPoints)
      })
      return { day, requests: sumOf(those).requests, billed: billed.reduce((sum, one) => sum + one, 0n) }
    })
}

export type OfTenant = {
  readonly tenant: Tenant
  readonly basisPoints: number
  readonly lines: ReturnType<typeof byModel>
}

type StatementOf = {
  readonly month: Month
  readonly tenants: readonly OfTenant[]
  /** The margin for tenants without a price of their own. */
  readonly usualPercent: number
}

/** Each tenant's use in the month, by label; tenants without use are left out, except one that was asked for. */
export const statementOf = async (here: Within): Promise<StatementOf> => {
  const { store } = here.gateway
  const { orgId } = here.session
  const month = requestedMonth(here)
  const id = here.request.query.get('tenant')
  const only = id === undefined ? undefined : await tenantOf(here.gateway, orgId, id)
  const [keys, margins, used] = await Promise.all([
    store.tenants.keys({ orgId, ...(only === undefined ? {} : { tenantId: only.id }) }),
    store.tenants.margins(orgId),
    store.reports.usage({
      ...spanOf(month),
      orgId,
      tenants: true,
      groupBy: ['key', 'model'],
      bare: true,
      ...(only === undefined ? {} : { tenant: only.id }),
    }),
  ])
  const owners = new Map(keys.map(({ key, tenantId }) => [key.id, tenantId]))
  const lines = Map.groupBy(used, ({ groups }) => owners.get(groups.key ?? '') ?? '')
  const priced = Map.groupBy(margins, ({ tenantId }) => tenantId)
  const ofAll = priced.get(undefined) ?? []
  const tenants = tenantsAmong(keys)
    .filter((tenant) => only !== undefined || lines.has(tenant.id))
    .map((tenant): OfTenant => {
      const own = priced.get(tenant.id) ?? []
      const { basisPoints } = marginIn([...own, ...ofAll], month, tenant.id)
      return { tenant, basisPoints, lines: byModel(lines.get(tenant.id) ?? [], basisPoints) }
    })
    .sort(
      (a, b) => a.tenant.label.localeCompare(b.tenant.label, 'en') || (a.tenant.id < b.tenant.id ? -1 : 1),
    )
  return { month, tenants, usualPercent: marginIn(ofAll, month).basisPoints / 100 }
}
