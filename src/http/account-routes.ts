/** Routes around an account: its sub-wallets and rules, trials, referrals, reviews. */

import { rulesBody } from '../tenancy/rules-body.ts'
import { claimReferral, getReferral } from './referrals.ts'
import { getReviews, postReview } from './reviews.ts'
import type { Route } from './route.ts'
import {
  referral,
  referralClaim,
  review,
  reviewList,
  subWallet,
  subWalletDeleted,
  subWalletList,
  trial,
  walletRules,
} from './schema/account.ts'
import {
  invalidCode,
  newReview,
  newSubWallet,
  referralCode,
  subWalletChange,
  wrongReview,
  wrongSubWallet,
} from './schema/account-bodies.ts'
import {
  changeSubWallet,
  createSubWallet,
  deleteSubWallet,
  getSubWallet,
  listSubWallets,
} from './sub-wallets.ts'
import { claimTrial } from './trial.ts'
import { getWalletRules, putWalletRules } from './wallet-rules.ts'
import { withBody } from './with-body.ts'

const subWallets = '/api/wallet/sub-wallets'

export const accountRoutes: readonly Route[] = [
  withBody({
    method: 'POST',
    path: subWallets,
    summary: 'Makes a sub-wallet: a ceiling on the money of the wallet, named by calls in X-Sub-Wallet.',
    auth: 'bearer',
    helper: true,
    body: newSubWallet,
    otherwise: wrongSubWallet,
    answer: subWallet,
    statuses: [201],
    handler: createSubWallet,
  }),
  {
    method: 'GET',
    path: subWallets,
    summary: 'The sub-wallets that the key sees, newest first.',
    auth: 'bearer',
    helper: true,
    answer: subWalletList,
    handler: listSubWallets,
  },
  {
    method: 'GET',
    path: `${subWallets}/:id`,
    summary: 'One sub-wallet.',
    auth: 'bearer',
    helper: true,
    answer: subWallet,
    handler: getSubWallet,
  },
  withBody({
    method: 'PATCH',
    path: `${subWallets}/:id`,
    summary: 'Changes the budget or the label of a sub-wallet.',
    auth: 'bearer',
    helper: true,
    body: subWalletChange,
    otherwise: wrongSubWallet,
    answer: subWallet,
    handler: changeSubWallet,
  }),
  {
    method: 'DELETE',
    path: `${subWallets}/:id`,
    summary: 'Deletes a sub-wallet: nothing can be spent under it any more.',
    auth: 'bearer',
    helper: true,
    answer: subWalletDeleted,
    handler: deleteSubWallet,
  },
  {
    method: 'GET',
    path: '/api/wallet/rules',
    summary: 'The rules of the wallet.',
    auth: 'bearer',
    helper: true,
    answer: walletRules,
    handler: getWalletRules,
  },
  withBody({
    method: 'PUT',
    path: '/api/wallet/rules',
    summary: 'Changes the given rules; null removes one.',
    auth: 'bearer',
    helper: true,
    body: rulesBody,
    answer: walletRules,
    handler: putWalletRules,
  }),
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
