/** Bodies about sub-wallets, referrals and reviews, with the specification's texts for what is wrong with them. */
import { z } from 'zod'
import { strangers, text, usd, whole } from '../../core/body.ts'
import { NANO_PER_USD } from '../../core/money.ts'
import { HelperRefusal } from '../helper-refusal.ts'

const BUDGET_MAX = 10_000n * NANO_PER_USD
const LABEL_MAX = 200
const COMMENT_MAX = 2_000

const budget = usd('must be a number of USD')
  .refine((nano) => nano > 0n && nano <= BUDGET_MAX, 'must be above 0 and at most 10000')
  .meta({ exclusiveMinimum: 0, maximum: 10_000, description: 'USD' })
const label = text(0, LABEL_MAX, `must be a string of at most ${LABEL_MAX} characters`).optional()

export const newSubWallet = z.object({ label, budget_usd: budget }).meta({ id: 'NewSubWallet' })
export const subWalletChange = z
  .strictObject(
    { label, budget_usd: budget.optional() },
    { error: strangers('is not of a sub-wallet; those are label, budget_usd') },
  )
  .meta({ id: 'SubWalletChange' })

export type NewSubWalletBody = z.output<typeof newSubWallet>
export type SubWalletChange = z.output<typeof subWalletChange>

export const wrongSubWallet = (wrong: ReadonlySet<string>): HelperRefusal | undefined =>
  wrong.has('budget_usd')
    ? new HelperRefusal(
        'budget_out_of_range',
        "'budget_usd' is a number of USD: the most that calls under the sub-wallet may cost in all.",
        { param: 'budget_usd' },
      )
    : undefined

export const referralCode = z.object({ code: z.string() }).meta({ id: 'ReferralCode' })

export type ReferralCode = z.output<typeof referralCode>

export const invalidCode = (): HelperRefusal =>
  new HelperRefusal('invalid_code', "'code' must be the referral code of another account.")

/** The name of a model, a tool or a skill, in words of any language. */
export const SKILL = /^[\p{L}\p{N}][\p{L}\p{N} ._:/@-]{0,199}$/u

export const newReview = z
  .object({
    skill: z.string().regex(SKILL).describe('The id of a model or the name of a tool'),
    rating: whole(1, 5, 'must be a whole number from 1 to 5'),
    comment: text(0, COMMENT_MAX, `must be a string of at most ${COMMENT_MAX} characters`).optional(),
  })
  .meta({ id: 'NewReview' })

export type NewReview = z.output<typeof newReview>

/** The specification's stable texts for wrong members; it has none for the comment. */
export const wrongReview = (wrong: ReadonlySet<string>): HelperRefusal | undefined =>
  wrong.has('skill') || wrong.has('rating')
    ? new HelperRefusal(
        !wrong.has('skill')
          ? 'rating_out_of_range'
          : wrong.has('rating')
            ? 'skill_and_rating'
            : 'skill_required',
        "'skill' is the id of a model or the name of a tool; 'rating' is a whole number from 1 to 5.",
      )
    : undefined
