/** Routes around an account: its sub-wallets and rules, trials, referrals, reviews. */
import { claimReferral, getReferral } from './referrals.ts'
import { getReviews, postReview } from './reviews.ts'
import type { Route } from './route.ts'
import {
  changeSubWallet,
  createSubWallet,
  deleteSubWallet,
  getSubWallet,
  listSubWallets,
} from './sub-wallets.ts'
import { claimTrial } from './trial.ts'
import { getWalletRules, putWalletRules } from './wallet-rules.ts'

const subWallets = '/api/wallet/sub-wallets'

export const accountRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: subWallets,
    summary: 'Makes a sub-wallet: a ceiling on the money of the wallet, named by calls in X-Sub-Wallet.',
    auth: 'bearer',
    body: 'NewSubWallet',
    answer: 'SubWallet',
    status: 201,
    handler: createSubWallet,
  },
  {
    method: 'GET',
    path: subWallets,
    summary: 'The sub-wallets that the key sees, newest first.',
    auth: 'bearer',
    answer: 'SubWalletList',
    handler: listSubWallets,
  },
  {
    method: 'GET',
    path: `${subWallets}/:id`,
    summary: 'One sub-wallet.',
    auth: 'bearer',
    answer: 'SubWallet',
    handler: getSubWallet,
  },
  {
    method: 'PATCH',
    path: `${subWallets}/:id`,
    summary: 'Changes the budget or the label of a sub-wallet.',
    auth: 'bearer',
    body: 'SubWalletChange',
    answer: 'SubWallet',
    handler: changeSubWallet,
  },
  {
    method: 'DELETE',
    path: `${subWallets}/:id`,
    summary: 'Deletes a sub-wallet: nothing can be spent under it any more.',
    auth: 'bearer',
    answer: 'Deleted',
    handler: deleteSubWallet,
  },
  {
    method: 'GET',
    path: '/api/wallet/rules',
    summary: 'The rules of the wallet.',
    auth: 'bearer',
    answer: 'WalletRules',
    handler: getWalletRules,
  },
  {
    method: 'PUT',
    path: '/api/wallet/rules',
    summary: 'Changes the rules that are given; null removes one.',
    auth: 'bearer',
    body: 'WalletRulesChange',
    answer: 'WalletRules',
    handler: putWalletRules,
  },
  {
    method: 'POST',
    path: '/api/try/anonymous-wallet',
    summary: 'A small wallet and a key without signing up, once for each network address.',
    auth: 'none',
    answer: 'Trial',
    status: 201,
    headers: ['Idempotency-Key'],
    handler: claimTrial,
  },
  {
    method: 'GET',
    path: '/api/referrals',
    summary: "The account's own referral code and what it brought.",
    auth: 'bearer',
    answer: 'Referral',
    handler: getReferral,
  },
  {
    method: 'POST',
    path: '/api/referrals',
    summary: 'Claims the code of another account, once; both sides are credited.',
    auth: 'bearer',
    body: 'ReferralCode',
    answer: 'ReferralClaim',
    handler: claimReferral,
  },
  {
    method: 'POST',
    path: '/api/reviews',
    summary: "The account's review of a skill: a model or a tool by its name.",
    auth: 'bearer',
    body: 'NewReview',
    answer: 'Review',
    status: 201,
    handler: postReview,
  },
  {
    method: 'GET',
    path: '/api/reviews',
    summary: 'The average rating of a skill and its newest reviews.',
    auth: 'bearer',
    answer: 'ReviewList',
    query: ['skill'],
    handler: getReviews,
  },
]
