/** Routes around an account: trials, referrals, reviews. */

import { storable } from '../../core/storable.ts'
import { newIdOf } from '../../core/time.ts'
import { creditsOf } from '../../gateway/parts/credits.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Review } from '../../store/accounts/community-port.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { accountOf, callerOf } from '../request/caller.ts'
import { type BodyHandler, withBody } from '../request/with-body.ts'
import { at, byKey, type Handler, type Route } from '../route/route.ts'
import { referral, referralClaim, review, reviewList, trial } from '../schema/account.ts'
import {
  invalidCode,
  type NewReview,
  newReview,
  type ReferralCode,
  referralCode,
  SKILL,
  wrongReview,
} from '../schema/account-bodies.ts'
import { claimTrial } from './trial.ts'

/** Letters that people do not confuse. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const LENGTH = 10
const CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`)

const getReferral: Handler = async (gateway, call) => {
  const key = await accountOf(gateway, call)
  const { referrerAmount, claimantAmount } = gateway.options.referral
  const credits = creditsOf(gateway)
  const { claims, earned } = await gateway.store.community.referralsOf(key.walletId)
  return json({
    code: await gateway.store.community.referralCode(key.walletId, codeOf(gateway, key.walletId)),
    claims,
    earned_credits: credits(earned),
    credits_for_you: credits(referrerAmount),
    credits_for_them: credits(claimantAmount),
  })
}

const claimReferral: BodyHandler<ReferralCode> = async (gateway, call, body) => {
  const key = await accountOf(gateway, call)
  const code = (await body()).code.trim().toUpperCase()
  const { referrerAmount, claimantAmount } = gateway.options.referral
  const outcome = CODE.test(code)
    ? await gateway.store.community.claimReferral({
        code,
        orgId: key.orgId,
        walletId: key.walletId,
        referrerAmount,
        claimantAmount,
      })
    : 'invalid_code'
  if (outcome === 'invalid_code') throw invalidCode()
  if (outcome === 'own_code')
    throw new HelperRefusal('self_referral_forbidden', 'This is the code of your own account.')
  if (outcome === 'claimed_before')
    throw new HelperRefusal(
      'already_claimed',
      'The account has claimed a code before; it may claim only one.',
    )
  return json({ code, claimed: true, credits: creditsOf(gateway)(claimantAmount) })
}

/**
 * Derived from the account, so that simultaneous requests propose the same code; it has 50 bits, so that nobody can
 * guess one.
 */
const codeOf = (gateway: Gateway, walletId: string): string =>
  [...Buffer.from(gateway.hash(`referral code of ${walletId}`), 'hex').subarray(0, LENGTH)]
    .map((byte) => LETTERS[byte % LETTERS.length])
    .join('')

const postReview: BodyHandler<NewReview> = async (gateway, call, body) => {
  const key = await accountOf(gateway, call)
  const { skill, rating, comment } = await body()
  const review = await gateway.store.community.putReview({
    id: newIdOf('rev'),
    skill,
    orgId: key.orgId,
    rating,
    ...(comment === undefined ? {} : { comment: storable(comment) }),
  })
  return json(shown(review), 201)
}

const getReviews: Handler = async (gateway: Gateway, call) => {
  await callerOf(gateway, call)
  const skill = new URLSearchParams(call.query).get('skill') ?? ''
  if (!SKILL.test(skill)) throw wrongReview(new Set(['skill']))
  const { count, sum, newest } = await gateway.store.community.reviews(skill)
  return json({
    skill,
    count,
    average: count === 0 ? null : Math.round((sum * 100) / count) / 100,
    reviews: newest.map(shown),
  })
}

const shown = ({ id, skill, rating, comment, createdAt }: Review) => ({
  id,
  skill,
  rating,
  comment: comment ?? null,
  created_at: new Date(createdAt).toISOString(),
})

export const accountRoutes: readonly Route[] = [
  {
    ...at('POST /api/try/anonymous-wallet'),
    summary: 'A small wallet and a key without sign-up, once per network address.',
    auth: 'none',
    helper: true,
    answer: trial,
    statuses: [201],
    headers: ['Idempotency-Key'],
    handler: claimTrial,
  },
  {
    ...byKey('GET /api/referrals'),
    summary: "The account's own referral code and what it earned.",
    helper: true,
    answer: referral,
    handler: getReferral,
  },
  withBody({
    ...byKey('POST /api/referrals'),
    summary: 'Claims the code of another account, once; both sides are credited.',
    helper: true,
    body: referralCode,
    otherwise: invalidCode,
    answer: referralClaim,
    handler: claimReferral,
  }),
  withBody({
    ...byKey('POST /api/reviews'),
    summary: "The account's review of a skill: a model or a tool by its name.",
    helper: true,
    body: newReview,
    otherwise: wrongReview,
    answer: review,
    statuses: [201],
    handler: postReview,
  }),
  {
    ...byKey('GET /api/reviews'),
    summary: 'The average rating of a skill and its newest reviews.',
    helper: true,
    answer: reviewList,
    query: ['skill'],
    handler: getReviews,
  },
]
