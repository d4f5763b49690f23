/** The wallet in the console: money, payments, rules, sub-wallets, receipts. */
import { z } from 'zod'
import { text, usd as usdBody } from '../../core/body.ts'
import { checkoutAmount } from '../../payment/checkout-amount.ts'
import { instant, usd } from './shared.ts'

const amount = z.number().nullable().describe('USD')

export const wallet = z
  .object({
    id: z.string(),
    name: z.string(),
    balance_usd: usd,
    held_usd: usd,
    suspended: z.string().nullable().describe('Why the operator has suspended the account'),
    card: z.boolean().describe('Whether it can be topped up by card'),
    auto_top_up_daily_usd: usd.nullable().describe('The most that a saved card is charged in a UTC day'),
    x402: z.boolean(),
    top_ups: z.object({
      card_saved: z.boolean(),
      active: z.boolean(),
      paused: z.string().nullable().describe('Why the rule waits for its owner'),
      waits_until: instant.nullable(),
      pending_usd: usd,
      charged_today_usd: usd,
      charged_this_month_usd: usd,
      rule: z.object({ below_usd: z.number(), amount_usd: z.number(), monthly_max_usd: amount }).nullable(),
    }),
    credit: z
      .object({ limit_usd: usd, owed_usd: usd, held_usd: usd, status: z.string(), net_days: z.int() })
      .nullable(),
    invoices: z.array(
      z.object({
        id: z.string(),
        month: z.string(),
        total_usd: usd,
        due_at: instant,
        paid_at: instant.nullable(),
        status: z.enum(['open', 'past_due', 'paid', 'nothing_due']),
      }),
    ),
  })
  .meta({ id: 'ConsoleWallet' })
export type WalletShown = z.output<typeof wallet>

export const movements = z
  .object({
    data: z.array(
      z.object({
        at: instant,
        kind: z.string(),
        ref: z.string(),
        note: z.string().nullable(),
        amount_usd: usd,
        balance_usd: usd,
      }),
    ),
    next: z.string().nullable().describe('`before` of the next page'),
  })
  .meta({ id: 'ConsoleMovements' })
export type MovementsShown = z.output<typeof movements>

export const topUpBody = z
  .strictObject({ amount_usd: checkoutAmount, save_card: z.boolean('must be true or false').optional() })
  .meta({ id: 'ConsoleTopUp' })
export const topUp = z.object({ id: z.string(), url: z.string() }).meta({ id: 'ConsoleTopUpOpened' })
export type TopUpShown = z.output<typeof topUp>

export const checkoutState = z
  .object({ id: z.string(), paid: z.boolean(), amount_usd: usd, invoice: z.string().nullable() })
  .meta({ id: 'ConsoleCheckout' })
export type CheckoutShown = z.output<typeof checkoutState>

export const payBody = z
  .strictObject({ method: z.enum(['wallet', 'stripe'], 'must be wallet or stripe') })
  .meta({ id: 'ConsolePayInvoice' })
export const invoicePaid = z
  .object({ paid: z.boolean(), url: z.string().nullable().describe('Where to pay by card') })
  .meta({ id: 'ConsoleInvoicePaid' })
export type InvoicePaidShown = z.output<typeof invoicePaid>

const patterns = z.array(z.string()).nullable()
export const rules = z
  .object({
    per_call_max_usd: amount,
    daily_limit_usd: amount,
    allowed_models: patterns,
    blocked_models: patterns,
    alert_below_usd: amount,
    alert_webhook_url: z.string().nullable(),
  })
  .meta({ id: 'ConsoleRules' })
export type RulesShown = z.output<typeof rules>

const subMembers = {
  id: z.string(),
  label: z.string(),
  budget_usd: usd,
  spent_usd: usd,
  held_usd: usd,
  remaining_usd: usd,
  created_at: instant,
}
export const subWallet = z.object(subMembers).meta({ id: 'ConsoleSubWallet' })
export type SubWalletShown = z.output<typeof subWallet>
export const subWallets = z.object({ data: z.array(subWallet) }).meta({ id: 'ConsoleSubWallets' })
export type SubWalletsShown = z.output<typeof subWallets>

const BUDGET_MAX = 10_000_000_000_000n
const wrongBudget = 'must be a number of USD above 0 and at most 10000'
const budget = usdBody(wrongBudget).refine((nano) => nano > 0n && nano <= BUDGET_MAX, wrongBudget)
const label = text(1, 200, 'must have 1 to 200 characters')
export const subWalletBody = z.strictObject({ label, budget_usd: budget }).meta({ id: 'ConsoleNewSubWallet' })
export const subWalletChangeBody = z
  .strictObject({ label: label.optional(), budget_usd: budget.optional() })
  .meta({ id: 'ConsoleSubWalletChange' })

const claims = z.record(z.string(), z.unknown()).describe('docs/receipts.md')
export const receiptShown = z.object({ receipt: z.string(), claims }).meta({ id: 'ConsoleReceipt' })
export type ReceiptShown = z.output<typeof receiptShown>

export const receiptBody = z
  .strictObject({ receipt: text(1, 8_192, 'must be a receipt') })
  .meta({ id: 'ConsoleReceiptToCheck' })
export const receiptVerdict = z
  .object({
    valid: z.boolean(),
    error: z.enum(['malformed_jwt', 'signature_mismatch', 'expired']).nullable(),
    claims: claims.nullable(),
  })
  .meta({ id: 'ConsoleReceiptVerdict' })
export type ReceiptVerdictShown = z.output<typeof receiptVerdict>
