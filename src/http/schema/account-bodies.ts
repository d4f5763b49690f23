/** Bodies about referrals and reviews, with the specification's texts for what is wrong with them. */
import { z } from 'zod'
import { namedObject, text, whole } from '../../core/body.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'

const COMMENT_MAX = 2_000

export const referralCode = namedObject('ReferralCode', { code: z.string() })

export type ReferralCode = z.output<typeof referralCode>

export const invalidCode = (): HelperRefusal =>
  new HelperRefusal('invalid_code', "'code' must be the referral code of another account.")

/** The name of a model, a tool or a skill, in words of any language. */
export const SKILL = /^[\p{L}\p{N}][\p{L}\p{N} ._:/@-]{0,199}$/u

export const newReview = namedObject('NewReview', {
  skill: z.string().regex(SKILL).describe('The id of a model or the name of a tool'),
  rating: whole(1, 5, 'must be a whole number from 1 to 5'),
  comment: text(0, COMMENT_MAX, `must be a string of at most ${COMMENT_MAX} characters`).optional(),
})

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
