/** The account's addresses in the API reference: trials, referrals, reviews. */
import { z } from 'zod'

const time = z.string().meta({ format: 'date-time' })
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
