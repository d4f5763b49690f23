/** Acts on a reseller's prices: the margin on ours, for all tenants or for one. */
import { z } from 'zod'
import { monthOf } from '../../core/time.ts'
import { marginIn } from '../../tenancy/margin.ts'
import { act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { month, name } from '../read.ts'
import { done } from '../shown-key.ts'
import { named, showTenant, target, tenantShown } from './tenants.ts'

const percentForm = 'must be a percentage from 0 to 1000 with at most two decimals'
const percent = z
  .number(percentForm)
  .min(0, percentForm)
  .max(1_000, percentForm)
  .refine((value) => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6, percentForm)

const fromMonth = month.describe('The first month that it applies to; by default this month')

/** Exact: a percentage with at most two decimals, in hundredths. */
const pointsOf = (marginPercent: number): number => Math.round(marginPercent * 100)

export const tenantMarginsGet = act({
  name: 'tenant.margins_get',
  summary: 'The margin on our price, this month, for all tenants without a price of their own.',
  may: ['tenants', 'statements'],
  changes: false,
  input: { organisation: name.optional() },
  shows: z.object({ margin_percent: z.number() }).meta({ id: 'TenantMargins' }),
  does: async (acting, { organisation }) => {
    const { store, clock } = acting.control
    const margins = await store.tenants.margins(orgOf(acting, organisation))
    return { margin_percent: marginIn(margins, monthOf(clock.now())).basisPoints / 100 }
  },
})

export const tenantMargins = act({
  name: 'tenant.margins',
  summary: 'The margin on our price for all tenants without a price of their own; for reports only.',
  may: ['tenants'],
  changes: true,
  input: { organisation: name.optional(), margin_percent: percent, from_month: fromMonth },
  shows: done,
  does: async (acting, { organisation, margin_percent: margin, from_month: from }) => {
    const { store, clock } = acting.control
    const change = { fromMonth: from ?? monthOf(clock.now()), basisPoints: pointsOf(margin) }
    await store.tenants.setMargin(orgOf(acting, organisation), change, acting.who.actor)
    return { done: true as const }
  },
})

export const tenantMargin = act({
  name: 'tenant.margin',
  summary: 'The margin on our price for this tenant; for reports only.',
  may: ['tenants'],
  changes: true,
  input: {
    ...named,
    margin_percent: percent.nullable().describe('null: as for all tenants'),
    from_month: fromMonth,
  },
  shows: tenantShown,
  does: async (acting, { organisation, tenant: id, margin_percent: margin, from_month: from }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const { store, clock } = acting.control
    const change = {
      tenantId: tenant.id,
      fromMonth: from ?? monthOf(clock.now()),
      ...(margin === null ? {} : { basisPoints: pointsOf(margin) }),
    }
    await store.tenants.setMargin(orgId, change, acting.who.actor)
    return showTenant(acting, orgId, tenant)
  },
})
