/** Schemas of what surrounds a wallet: sub-wallets, rules, trials, referrals, reviews. */
import { topUpPauses } from '../src/store/top-up-port.ts'

const text = { type: 'string' }
const number = { type: 'number' }
const truth = { type: 'boolean' }
const maybeNumber = { type: ['number', 'null'] }
const maybeText = { type: ['string', 'null'] }
const time = { type: 'string', format: 'date-time' }
const maybeTexts = { type: ['array', 'null'], items: text }
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})
const listOf = (items: object) => object({ object: text, data: { type: 'array', items } })

const budget = { type: 'number', exclusiveMinimum: 0, maximum: 10000, description: 'USD' }
const subWallet = object({
  id: text,
  label: text,
  budget_usd: number,
  spent_usd: number,
  held_usd: number,
  remaining_usd: number,
  created_at: time,
})
const rules = {
  per_call_max_usd: maybeNumber,
  daily_limit_usd: { ...maybeNumber, description: 'For a UTC day' },
  allowed_models: { ...maybeTexts, description: 'Model ids; * stands for any letters, ? for one' },
  blocked_models: maybeTexts,
  alert_below_usd: maybeNumber,
  alert_webhook_url: { ...maybeText, description: 'https, on a public server' },
  auto_top_up: {
    type: ['object', 'null'],
    properties: { below_usd: number, amount_usd: number, monthly_max_usd: maybeNumber },
    description:
      'Charges the saved card with amount_usd (0.5 to 10000, whole cents) when the wallet falls below below_usd; needs a card that a checkout saved',
  },
}
const review = object({ id: text, skill: text, rating: number, comment: maybeText, created_at: time })

export const accountSchemas = {
  HelperError: object({ error: text, code: text, message: text, request_id: text }, [
    'error',
    'code',
    'message',
    'request_id',
  ]),
  NewSubWallet: object({ budget_usd: budget, label: text }, ['budget_usd']),
  SubWalletChange: object({ budget_usd: budget, label: text }),
  SubWallet: subWallet,
  SubWalletList: listOf(subWallet),
  Deleted: object({ id: text, deleted: { const: true } }),
  WalletRulesChange: object(rules),
  WalletRules: object({
    wallet_id: text,
    ...rules,
    alert_webhook_secret: maybeText,
    auto_top_up_status: object({
      payment_method_saved: truth,
      active: truth,
      paused: { enum: [...topUpPauses, null] },
      waits_until: { type: ['string', 'null'], format: 'date-time' },
      pending_usd: number,
      charged_today_usd: number,
      charged_this_month_usd: number,
    }),
  }),
  MethodDeleted: object({ deleted: { const: true } }),
  Trial: object({ api_key: text, wallet_id: text, credits: number, expires_at: time }),
  Referral: object({
    code: text,
    claims: number,
    earned_credits: number,
    credits_for_you: number,
    credits_for_them: number,
  }),
  ReferralCode: object({ code: text }, ['code']),
  ReferralClaim: object({ code: text, claimed: { const: true }, credits: number }),
  NewReview: object(
    {
      skill: { ...text, description: 'The id of a model or the name of a tool' },
      rating: { type: 'integer', minimum: 1, maximum: 5 },
      comment: text,
    },
    ['skill', 'rating'],
  ),
  Review: review,
  ReviewList: object({
    skill: text,
    count: number,
    average: maybeNumber,
    reviews: { type: 'array', items: review },
  }),
}
