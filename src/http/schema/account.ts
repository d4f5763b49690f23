/** The account's addresses in the API reference: trials, referrals, reviews. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

const time = z.string().meta({ format: 'date-time' })
export const trial = namedObject('Trial', {
  api_key: z.string(),
  wallet_id: z.string(),
  credits: z.number(),
  expires_at: time,
})

export const referral = namedObject('Referral', {
  code: z.string(),
  claims: z.int(),
  earned_credits: z.number(),
  credits_for_you: z.number(),
  credits_for_them: z.number(),
})

export const referralClaim = namedObject('ReferralClaim', {
  code: z.string(),
  claimed: z.literal(true),
  credits: z.number(),
})

export const review = namedObject('Review', {
  id: z.string(),
  skill: z.string(),
  rating: z.int(),
  comment: z.string().nullable(),
  created_at: time,
})

export const reviewList = namedObject('ReviewList', {
  skill: z.string(),
  count: z.int(),
  average: z.number().nullable(),
  reviews: z.array(review),
})
