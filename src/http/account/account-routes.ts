/** Routes around an account: trials, referrals, reviews. */

import { withBody } from '../request/with-body.ts'
import type { Route } from '../route/route.ts'
import { referral, referralClaim, review, reviewList, trial } from '../schema/account.ts'
import { invalidCode, newReview, referralCode, wrongReview } from '../schema/account-bodies.ts'
import { claimReferral, getReferral } from './referrals.ts'
import { getReviews, postReview } from './reviews.ts'
import { claimTrial } from './trial.ts'

export const accountRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/try/anonymous-wallet',
    summary: 'A small wallet and a key without sign-up, once per network address.',
    auth: 'none',
    helper: true,
    answer: trial,
    statuses: [201],
    headers: ['Idempotency-Key'],
    handler: claimTrial,
  },
  {
    method: 'GET',
    path: '/api/referrals',
    summary: "The account's own referral code and what it earned.",
    auth: 'bearer',
    helper: true,
    answer: referral,
    handler: getReferral,
  },
  withBody({
    method: 'POST',
    path: '/api/referrals',
    summary: 'Claims the code of another account, once; both sides are credited.',
    auth: 'bearer',
    helper: true,
    body: referralCode,
    otherwise: invalidCode,
    answer: referralClaim,
    handler: claimReferral,
  }),
  withBody({
    method: 'POST',
    path: '/api/reviews',
    summary: "The account's review of a skill: a model or a tool by its name.",
    auth: 'bearer',
    helper: true,
    body: newReview,
    otherwise: wrongReview,
    answer: review,
    statuses: [201],
    handler: postReview,
  }),
  {
    method: 'GET',
    path: '/api/reviews',
    summary: 'The average rating of a skill and its newest reviews.',
    auth: 'bearer',
    helper: true,
    answer: reviewList,
    query: ['skill'],
    handler: getReviews,
  },
]
