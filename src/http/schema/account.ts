/** The account's addresses in the API reference: sub-wallets, rules, trials, referrals, reviews. */
import { z } from 'zod'
import { topUpPauses } from '../../store/funding/top-up-port.ts'

const time = z.string().meta({ format: 'date-time' })
const maybeUsd = z.number().nullable()
const models = z.array(z.string()).nullable()

export const subWallet = z
  .object({
    id: z.string(),
    label: z.string(),
    budget_usd: z.number(),
    spent_usd: z.number(),
    held_usd: z.number(),
    remaining_usd: z.number(),
    created_at: time,
  })
  .meta({ id: 'SubWallet' })

export const subWalletList = z
  .object({ object: z.literal('list'), data: z.array(subWallet) })
  .meta({ id: 'SubWalletList' })

export const subWalletDeleted = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

export const walletRules = z
  .object({
    wallet_id: z.string(),
    per_call_max_usd: maybeUsd,
    daily_limit_usd: maybeUsd.describe('For a UTC day'),
    allowed_models: models.describe('Model ids; * stands for any letters, ? for one'),
    blocked_models: models,
    alert_below_usd: maybeUsd,
    alert_webhook_url: z.string().nullable(),
    auto_top_up: z
      .object({ below_usd: z.number(), amount_usd: z.number(), monthly_max_usd: maybeUsd })
      .nullable(),
    alert_webhook_secret: z.string().nullable(),
    auto_top_up_status: z.object({
      payment_method_saved: z.boolean(),
      active: z.boolean(),
      paused: z.enum(topUpPauses).nullable(),
      waits_until: time.nullable(),
      pending_usd: z.number(),
      charged_today_usd: z.number(),
      charged_this_month_usd: z.number(),
    }),
  })
  .meta({ id: 'WalletRules' })

export const trial = z
  .object({ api_key: z.string(), wallet_id: z.string(), credits: z.number(), expires_at: time })
  .meta({ id: 'Trial' })

export const referral = z
  .object({
    code: z.string(),
    claims: z.int(),
    earned_credits: z.number(),
    credits_for_you: z.number(),
    credits_for_them: z.number(),
  })
  .meta({ id: 'Referral' })

export const referralClaim = z
  .object({ code: z.string(), claimed: z.literal(true), credits: z.number() })
  .meta({ id: 'ReferralClaim' })

export const review = z
  .object({
    id: z.string(),
    skill: z.string(),
    rating: z.int(),
    comment: z.string().nullable(),
    created_at: time,
  })
  .meta({ id: 'Review' })

export const reviewList = z
  .object({
    skill: z.string(),
    count: z.int(),
    average: z.number().nullable(),
    reviews: z.array(review),
  })
  .meta({ id: 'ReviewList' })
