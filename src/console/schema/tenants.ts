/** A reseller's tenants, their prices and statements, and what a tenant sees by its read-only link. */
import { z } from 'zod'
import { keyShown, keyStatus } from './keys.ts'
import { instant, usd } from './shared.ts'

const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-11')
const percent = z
  .number('must be a percentage from 0 to 1000 with at most two decimals')
  .min(0, 'must be a percentage from 0 to 1000 with at most two decimals')
  .max(1_000, 'must be a percentage from 0 to 1000 with at most two decimals')
  .refine(
    (value) => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6,
    'must be a percentage from 0 to 1000 with at most two decimals',
  )

/** Exact: a percentage with at most two decimals, in hundredths. */
export const pointsOf = (marginPercent: number): number => Math.round(marginPercent * 100)

const fromMonth = month.optional().describe('The first month that it applies to; by default this month')
export const priceBody = z
  .strictObject({ margin_percent: percent, from_month: fromMonth })
  .meta({ id: 'ConsoleTenantPrices' })
export const ownPriceBody = z
  .strictObject({
    margin_percent: percent.nullable().describe('null: as for all tenants'),
    from_month: fromMonth,
  })
  .meta({ id: 'ConsoleTenantPrice' })
export const suspendBody = z
  .strictObject({ suspended: z.boolean('must be true or false') })
  .meta({ id: 'ConsoleTenantSuspended' })

const marginPercent = z.number().describe('The reseller’s margin on our price')

export const tenantShown = z
  .object({
    id: z.string(),
    label: z.string(),
    reference: z.string().nullable(),
    margin_percent: marginPercent,
    own_margin: z.boolean().describe('Whether it is for this tenant, and not for all'),
    keys: z.array(keyShown).describe('Its keys that are not deleted, oldest first'),
    links: z.array(z.object({ id: z.string(), made_by: z.string(), created_at: instant })),
  })
  .meta({ id: 'ConsoleTenant' })
export type TenantShown = z.output<typeof tenantShown>

export const tenantLinkMade = z
  .object({ id: z.string(), link: z.string().describe('Shown only now') })
  .meta({ id: 'ConsoleTenantLink' })
export type TenantLinkShown = z.output<typeof tenantLinkMade>

const counted = { requests: z.int(), input_tokens: z.int(), output_tokens: z.int() }
const sums = { ...counted, cost_usd: usd, billed_usd: usd.describe('Our price and the margin') }

const total = z.object({ ...sums, margin_usd: usd.describe('The difference between the two') })

export const statementTotal = z
  .object({
    month: z.string(),
    complete: z.boolean().describe('Whether the month is over'),
    default_margin_percent: marginPercent,
    tenants: z.int().describe('How many used something'),
    total,
  })
  .meta({ id: 'ConsoleStatementTotal' })
export type StatementTotalShown = z.output<typeof statementTotal>

export const statement = z
  .object({
    month: z.string(),
    organisation: z.string(),
    complete: z.boolean().describe('Whether the month is over'),
    default_margin_percent: marginPercent,
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
  })
  .meta({ id: 'ConsoleStatement' })
export type StatementShown = z.output<typeof statement>

const billed = { ...counted, billed_usd: usd.describe('What the reseller bills for it') }

export const tenantUse = z
  .object({
    month: z.string(),
    months: z.array(z.string()).describe('Months that can be requested, newest first'),
    complete: z.boolean(),
    organisation: z.string().describe('The reseller'),
    label: z.string(),
    reference: z.string().nullable(),
    access: keyStatus.describe('Of the key that may do most'),
    cap_used_percent: z.int().nullable().describe('Of the cap of the present month; null without one'),
    lines: z.array(z.object({ model: z.string(), ...billed })),
    days: z.array(z.object({ day: z.string(), requests: z.int(), billed_usd: usd })),
    total: z.object(billed),
  })
  .meta({ id: 'ConsoleTenantUse' })
export type TenantUseShown = z.output<typeof tenantUse>
