/** The store's port for what brings people in: anonymous trials, referrals, reviews. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { NewKey } from './tenancy-port.ts'

export type TrialRequest = {
  /** Who claims: a keyed hash of the network address. */
  readonly origin: string
  /** The same under the server's previous secret; a claim recorded that way is moved to the present secret. */
  readonly originBefore?: string | undefined
  /** Names this attempt, so that its repeat gets the same wallet. */
  readonly attempt?: string
  /** The key to make, on a wallet to make; both live for `lifeMs`. */
  readonly key: Omit<NewKey, 'trialUntil' | 'parentId' | 'subWallet'>
  readonly amount: Nano
  /** The most that all trials of a UTC day may get together. */
  readonly dailyAmount: Nano
  readonly lifeMs: number
  /** How long the same origin must wait until it may claim again. */
  readonly againMs: number
}

export type TrialOutcome =
  | {
      readonly outcome: 'granted'
      readonly walletId: WalletId
      readonly amount: Nano
      readonly expiresAt: Instant
    }
  | { readonly outcome: 'claimed' | 'exhausted'; readonly retryAfterMs: number }

export type TrialStore = {
  /** Wallet, money, key and claim in one transaction, or nothing. */
  claimTrial(ask: TrialRequest): Promise<TrialOutcome>
  /** What all trials of the present UTC day got together. */
  trialsToday(): Promise<Nano>
}

type ReferralClaim = {
  readonly code: string
  readonly orgId: string
  readonly walletId: WalletId
  readonly referrerAmount: Nano
  readonly claimantAmount: Nano
}

export type ReferralStore = {
  /** The wallet's code; the proposed one if it has none yet. */
  referralCode(walletId: WalletId, proposed: string): Promise<string>
  referralsOf(walletId: WalletId): Promise<{ readonly claims: number; readonly earned: Nano }>
  /** One claim per account. Both sides are credited, or nothing happens. */
  claimReferral(claim: ReferralClaim): Promise<'credited' | 'invalid_code' | 'own_code' | 'claimed_before'>
}

export type Review = {
  readonly id: string
  readonly skill: string
  readonly rating: number
  readonly comment?: string
  readonly createdAt: Instant
}

export type ReviewStore = {
  /** A second review of a skill by the same account replaces the first. */
  putReview(review: Omit<Review, 'createdAt'> & { readonly orgId: string }): Promise<Review>
  /** How many there are, the sum of their ratings, and the newest ones, at most 50. */
  reviews(skill: string): Promise<{
    readonly count: number
    readonly sum: number
    readonly newest: readonly Review[]
  }>
}
