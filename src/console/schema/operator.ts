/** What operators see and do. */
import { z } from 'zod'
import { text, usd as usdBody, whole } from '../../core/body.ts'
import { email } from './session.ts'
import { instant, linkGiven, usd } from './shared.ts'

export const accounts = z
  .object({
    data: z.array(
      z.object({
        org_id: z.string(),
        wallet_id: z.string(),
        name: z.string(),
        balance_usd: usd,
        held_usd: usd,
        spent_30d_usd: usd,
        credit_limit_usd: usd.nullable(),
        credit_net_days: z.int().nullable().describe('To pay an invoice of the credit line'),
        members: z.int(),
        keys: z.int(),
        suspended: z.string().nullable().describe('Why it is'),
      }),
    ),
    has_more: z.boolean(),
  })
  .meta({ id: 'ConsoleAccounts' })
export type AccountsShown = z.output<typeof accounts>
export const newAccountBody = z
  .strictObject({ name: text(1, 100, 'must be a name'), owner_email: email })
  .meta({ id: 'ConsoleNewAccount' })
export const accountMade = linkGiven
  .extend({ org_id: z.string(), wallet_id: z.string() })
  .meta({ id: 'ConsoleAccountMade' })
export const creditBody = z
  .strictObject({
    wallet_id: text(1, 100, 'must be a wallet'),
    amount_usd: usdBody('must be a number of USD above 0'),
    note: text(1, 200, 'must say what it is for'),
    ref: text(8, 100, 'must name this credit, so that a repeat is not a second one'),
  })
  .meta({ id: 'ConsoleCredit' })
export const suspendBody = z
  .strictObject({ reason: text(1, 200, 'must say why, or be null').nullable() })
  .meta({ id: 'ConsoleSuspend' })
export const creditLineBody = z
  .strictObject({
    limit_usd: usdBody('must be a number of USD from 0 to 1000000000'),
    net_days: whole(0, 365, 'must be a whole number of days from 0 to 365'),
  })
  .meta({ id: 'ConsoleCreditLine' })

export const system = z
  .object({
    engine: z.string(),
    instance: z.string(),
    fresh: z.boolean(),
    open_calls: z.int(),
    queued: z.int(),
    oldest_queued_ms: z.int(),
    journal: z.string().nullable().describe('Its folder'),
    rolled_up_until: instant,
    memory_mb: z.int(),
    books: z.object({
      trouble: z.string().nullable().describe('What is wrong with the books; null while all laws hold'),
      looked_at: instant.nullable(),
    }),
    config: z
      .object({
        version: z.string(),
        applied_at: instant,
        trouble: z.string().nullable().describe('Why the newest is not valid; null while it is in use'),
        needs_restart: z.array(z.string()),
      })
      .nullable()
      .describe('The configuration of this process; null where it cannot change'),
    processes: z.array(
      z.object({
        id: z.string(),
        beat_at: instant.nullable().describe('null for one that has left'),
        leases: z.int(),
        lent_usd: usd,
        open_calls: z.int(),
        held_usd: usd,
      }),
    ),
  })
  .meta({ id: 'ConsoleSystem' })
export type SystemShown = z.output<typeof system>

export const vendorList = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        keys: z.array(z.string()).describe('By their last four letters'),
        calls: z.int().describe('Of the newest calls of all'),
        failed: z.int().describe('Of those, ended by the vendor'),
        first_byte_ms: z.int().nullable().describe('Their median'),
        took_ms: z.int().nullable().describe('Their median'),
        failing: z.array(
          z.object({ key: z.string(), model: z.string().nullable(), failures: z.int(), seconds: z.int() }),
        ),
      }),
    ),
    of_calls: z.int(),
    off: z.array(z.object({ id: z.string(), variable: z.string() })),
  })
  .meta({ id: 'ConsoleVendors' })
export type VendorsShown = z.output<typeof vendorList>

export const setup = z
  .object({
    settings: z.array(
      z.object({
        group: z.string(),
        name: z.string(),
        value: z.string().nullable(),
        from: z.enum(['environment', 'default', 'unset']),
        secret: z.boolean(),
        allowed: z.string(),
        meaning: z.string(),
      }),
    ),
    markup: z.string(),
    discount: z.string(),
    overridden: z.array(z.string()),
    trials: z.object({
      amount_usd: usd,
      daily_usd: usd,
      given_today_usd: usd,
      claimed: z.int(),
      active: z.int(),
    }),
    referrals: z.object({ codes: z.int(), claimed: z.int(), given_usd: usd }),
  })
  .meta({ id: 'ConsoleSetup' })
export type SetupShown = z.output<typeof setup>

export const audit = z
  .object({ data: z.array(z.object({ check: z.string(), ok: z.boolean(), detail: z.string().nullable() })) })
  .meta({ id: 'ConsoleAudit' })
export type AuditShown = z.output<typeof audit>
