/** Acts that state what tenants used in a month, and what their reseller bills for it. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { HOUR_MS, type Instant, type Month, monthOf, monthStart, nextMonthStart } from '../../core/time.ts'
import type { ReportQuery } from '../../store/reports/report-port.ts'
import { marginIn } from '../../tenancy/margin.ts'
import { type Acting, act, type Control } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { month as monthMember, name } from '../read.ts'
import { keyStatus, statusOf, usd } from '../shown-key.ts'
import { added, type Billed, byDay, byModel } from './billed.ts'
import { type Tenant, tenantOf, tenantsAmong } from './tenant-of.ts'
import { named } from './tenants.ts'

const marginPercent = z.number().describe('The reseller’s margin on our price')
const complete = z
  .boolean()
  .describe('Whether the month has been over for two hours, and none of its calls is still running')
const counts = { requests: z.int(), input_tokens: z.int(), output_tokens: z.int() }
const sums = { ...counts, cost_usd: usd, billed_usd: usd.describe('Our price and the margin') }
const total = z.object({ ...sums, margin_usd: usd.describe('The difference between the two') })

const countsOf = ({ requests, inputTokens, outputTokens }: Billed) => ({
  requests,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
})
const sumsOf = (sum: Billed) => ({ ...countsOf(sum), cost_usd: sum.amount, billed_usd: sum.billed })

/** Longer than a call may take: what was admitted in a month has been charged by then, but for jobs and lines of batches. */
export const GOING_ON_MS = 2 * HOUR_MS

/** Asked before the use is read: what ends in between is in it. */
const isOver = async (
  { clock, store }: Control,
  of: { readonly orgId: string; readonly tenantId?: string; readonly month: Month },
): Promise<boolean> => of.month < monthOf(clock.now() - GOING_ON_MS) && !(await store.tenants.goOn(of))

const spanOf = (month: Month): Pick<ReportQuery, 'from' | 'to' | 'only' | 'most'> => {
  const from = monthStart(month) ?? 0
  return { from, to: nextMonthStart(from), only: {}, most: 1_000_000 }
}

/** An organisation has the name of its first wallet. */
export const nameOfOrganisation = async (
  { store }: Pick<Control, 'store'>,
  orgId: string,
): Promise<string> => {
  const [wallet] = await store.reports.walletsOf(orgId)
  return (wallet === undefined ? undefined : await store.wallets.wallet(wallet))?.name ?? orgId
}

export type OfTenant = {
  readonly tenant: Tenant
  readonly basisPoints: number
  readonly lines: ReturnType<typeof byModel>
}

type Asked = {
  readonly organisation?: string | undefined
  readonly month?: Month | undefined
  readonly tenant?: string | undefined
}

/** Each tenant's use in the month, by label; tenants without use are left out, except one that was asked for. */
export const statementOf = async (acting: Acting, { organisation, month: asked, tenant: id }: Asked) => {
  const { control } = acting
  const { store } = control
  const orgId = orgOf(acting, organisation)
  const month = asked ?? monthOf(control.clock.now())
  const only = id === undefined ? undefined : await tenantOf(control, orgId, id)
  const ofTenant = only === undefined ? {} : { tenantId: only.id }
  const complete = await isOver(control, { orgId, month, ...ofTenant })
  const [keys, margins, used] = await Promise.all([
    store.tenants.keys({ orgId, ...ofTenant }),
    store.tenants.margins(orgId),
    store.reports.usage({
      ...spanOf(month),
      orgs: [orgId],
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
  const sum = added(tenants.flatMap((one) => one.lines))
  return {
    orgId,
    tenants,
    shown: {
      month,
      complete,
      default_margin_percent: marginIn(ofAll, month).basisPoints / 100,
      total: { ...sumsOf(sum), margin_usd: sum.billed - sum.amount },
    },
  }
}

const ofMonth = { month: z.string(), complete, default_margin_percent: marginPercent }

export const statementGet = act({
  name: 'statement.get',
  summary: 'What each tenant used in a month, by model: our price and what the reseller bills.',
  reads: ['tenants', 'statements'],
  input: { organisation: name.optional(), month: monthMember, tenant: name.optional() },
  shows: namedObject('TenantStatement', {
    ...ofMonth,
    organisation: z.string(),
    tenants: z.array(
      z.object({
        id: z.string(),
        label: z.string(),
        reference: z.string().nullable(),
        margin_percent: marginPercent,
        lines: z.array(z.object({ model: z.string(), ...sums })),
        total: z.object(sums),
      }),
    ),
    total,
  }),
  does: async (acting, asked) => {
    const { orgId, tenants, shown } = await statementOf(acting, asked)
    return {
      ...shown,
      organisation: await nameOfOrganisation(acting.control, orgId),
      tenants: tenants.map(({ tenant, basisPoints, lines }) => ({
        id: tenant.id,
        label: tenant.label,
        reference: tenant.reference ?? null,
        margin_percent: basisPoints / 100,
        lines: lines.map((line) => ({ model: line.model, ...sumsOf(line) })),
        total: sumsOf(added(lines)),
      })),
    }
  },
})

export const statementTotal = act({
  name: 'statement.total',
  summary: 'What all tenants used in a month together, without what each of them did.',
  reads: ['tenants', 'statements'],
  input: { organisation: name.optional(), month: monthMember },
  shows: namedObject('TenantStatementTotal', {
    ...ofMonth,
    tenants: z.int().describe('How many used something'),
    total,
  }),
  does: async (acting, asked) => {
    const { tenants, shown } = await statementOf(acting, asked)
    return { ...shown, tenants: tenants.length }
  },
})

/** How much of its monthly cap the tenant has used, going by its key that has used the largest part. */
const capUsed = async ({ store }: Control, orgId: string, { keys }: Tenant): Promise<number | null> => {
  const lines = await Promise.all(
    keys
      .filter((key) => !key.deleted && key.limits.monthlyCap !== undefined)
      .map((key) => store.reports.keys({ orgs: [orgId], which: 'tenants', id: key.id, most: 1 })),
  )
  const shares = lines.flat().map(({ key, spentThisMonth }) => {
    const cap = key.limits.monthlyCap ?? 0n
    return cap <= 0n ? 100 : Math.min(100, Number((spentThisMonth * 100n) / cap))
  })
  return shares.length === 0 ? null : Math.max(...shares)
}

/** What one of its keys may do that may do most: who has one that takes calls has access. */
const accessOf = (control: Control, { keys }: Tenant) => {
  const states = new Set(keys.map((key) => statusOf(control, key)))
  const most = ['enabled', 'monthly_cap', 'spend_cap', 'disabled', 'expired'] as const
  return most.find((state) => states.has(state)) ?? 'deleted'
}

const MONTHS_SHOWN = 12

/** The months that can be requested, newest first. */
const monthsUntil = (now: Instant): Month[] => {
  const date = new Date(now)
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1)),
  )
}

const billed = { ...counts, billed_usd: usd.describe('What the reseller bills for it') }
const billedOf = (sum: Billed) => ({ ...countsOf(sum), billed_usd: sum.billed })

const tenantUseShown = namedObject('TenantUse', {
  month: z.string(),
  months: z.array(z.string()).describe('Months that can be requested, newest first'),
  complete,
  organisation: z.string().describe('The reseller'),
  label: z.string(),
  reference: z.string().nullable(),
  access: keyStatus.describe('Of the key that may do most'),
  cap_used_percent: z.int().nullable().describe('Of the cap of the present month; null without one'),
  lines: z.array(z.object({ model: z.string(), ...billed })),
  days: z.array(z.object({ day: z.string(), requests: z.int(), billed_usd: usd })),
  total: z.object(billed),
})

/** A tenant's use in a month at the reseller's price, never with our price or the margin: also what its link shows. */
export const useOfTenant = async (
  control: Control,
  orgId: string,
  id: string,
  asked: Month | undefined,
): Promise<z.output<typeof tenantUseShown>> => {
  const { store, clock } = control
  const month = asked ?? monthOf(clock.now())
  const tenant = await tenantOf(control, orgId, id)
  const complete = await isOver(control, { orgId, month, tenantId: tenant.id })
  const [margins, used] = await Promise.all([
    store.tenants.margins(orgId),
    store.reports.usage({ ...spanOf(month), orgs: [orgId], tenant: tenant.id, groupBy: ['day', 'model'] }),
  ])
  const { basisPoints } = marginIn(margins, month, tenant.id)
  const lines = byModel(used, basisPoints)
  return {
    month,
    months: monthsUntil(clock.now()),
    complete,
    organisation: await nameOfOrganisation(control, orgId),
    label: tenant.label,
    reference: tenant.reference ?? null,
    access: accessOf(control, tenant),
    cap_used_percent: await capUsed(control, orgId, tenant),
    lines: lines.map((line) => ({ model: line.model, ...billedOf(line) })),
    days: byDay(used, basisPoints).map(({ day, requests, billed: amount }) => ({
      day,
      requests,
      billed_usd: amount,
    })),
    total: billedOf(added(lines)),
  }
}

export const tenantUse = act({
  name: 'tenant.use',
  summary: 'What a tenant used in a month, at the reseller’s price: what its link shows.',
  reads: ['tenants', 'statements'],
  input: { ...named, month: monthMember },
  shows: tenantUseShown,
  does: (acting, { organisation, tenant, month }) =>
    useOfTenant(acting.control, orgOf(acting, organisation), tenant, month),
})
