/** Acts on a reseller's prices: the margin on ours, for all tenants or for one. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { invalid } from '../../core/refusal.ts'
import { type Month, monthOf, monthStart, nextMonthStart } from '../../core/time.ts'
import { marginIn } from '../../tenancy/margin.ts'
import { type Acting, act } from '../act.ts'
import { orgOf, walletOf } from '../org-of.ts'
import { month, name } from '../read.ts'
import { done } from '../shown-key.ts'
import { named, showTenant, target, tenantShown } from './tenants.ts'

const percentForm = 'must be a percentage from 0 to 1000 with at most two decimals'
const percent = z
  .number(percentForm)
  .min(0, percentForm)
  .max(1_000, percentForm)
  .refine((value) => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6, percentForm)

const fromMonth = month.describe(
  'The first month that it applies to; by default this month, or the next if tenants were told the price of this one',
)

type Priced = { readonly orgId: string; readonly tenantId?: string; readonly from: Month | undefined }

/** The month from which on a price applies. What tenants were told of a month stays what they are billed for it. */
export const monthOfPrice = async (
  { control }: Acting,
  { orgId, tenantId, from }: Priced,
): Promise<Month> => {
  const { store, clock } = control
  const first = from ?? monthOf(clock.now())
  const start = monthStart(first) ?? 0
  const { rules } = await store.wallets.walletRules(await walletOf(control, orgId))
  if (rules.tenantsSee !== 'price' || start > clock.now()) return first
  const whose = tenantId === undefined ? { tenants: true } : { tenant: tenantId }
  const { total } = await store.reports.usageAndTotal({
    ...{ orgs: [orgId], ...whose, from: start, to: clock.now() + 1 },
    ...{ only: {}, groupBy: [], most: 1 },
  })
  if (total.requests === 0) return first
  if (from === undefined) return monthOf(nextMonthStart(clock.now()))
  throw invalid(
    'from_month',
    `What was used since ${first} was told to tenants at its price (tenants_see); 'from_month' must be a later month.`,
  )
}

/** Exact: a percentage with at most two decimals, in hundredths. */
const pointsOf = (marginPercent: number): number => Math.round(marginPercent * 100)

export const tenantMarginsGet = act({
  name: 'tenant.margins_get',
  summary: 'The margin on our price, this month, for all tenants without a price of their own.',
  reads: ['tenants', 'statements'],
  input: { organisation: name.optional() },
  shows: namedObject('TenantMargins', { margin_percent: z.number() }),
  does: async (acting, { organisation }) => {
    const { store, clock } = acting.control
    const margins = await store.tenants.margins(orgOf(acting, organisation))
    return { margin_percent: marginIn(margins, monthOf(clock.now())).basisPoints / 100 }
  },
})

export const tenantMargins = act({
  name: 'tenant.margins',
  summary:
    'The margin on our price for all tenants without a price of their own; the ledger knows nothing of it.',
  changes: ['tenants'],
  input: { organisation: name.optional(), margin_percent: percent, from_month: fromMonth },
  shows: done,
  does: async (acting, { organisation, margin_percent: margin, from_month: from }) => {
    const { store, book } = acting.control
    const orgId = orgOf(acting, organisation)
    const change = {
      fromMonth: await monthOfPrice(acting, { orgId, from }),
      basisPoints: pointsOf(margin),
    }
    await book.untilKnown(await store.tenants.setMargin(orgId, change, acting.who.actor))
    return { done: true as const }
  },
})

export const tenantMargin = act({
  name: 'tenant.margin',
  summary: 'The margin on our price for this tenant; the ledger knows nothing of it.',
  changes: ['tenants'],
  input: {
    ...named,
    margin_percent: percent.nullable().describe('null: as for all tenants'),
    from_month: fromMonth,
  },
  shows: tenantShown,
  does: async (acting, { organisation, tenant: id, margin_percent: margin, from_month: from }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const { store, book } = acting.control
    const change = {
      tenantId: tenant.id,
      fromMonth: await monthOfPrice(acting, { orgId, tenantId: tenant.id, from }),
      ...(margin === null ? {} : { basisPoints: pointsOf(margin) }),
    }
    await book.untilKnown(await store.tenants.setMargin(orgId, change, acting.who.actor))
    return showTenant(acting, orgId, tenant)
  },
})
