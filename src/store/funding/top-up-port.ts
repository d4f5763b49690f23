/** The store's port for wallets that are topped up automatically, from a payment method saved at Stripe. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { Actor } from '../people/event-port.ts'

/** Why a rule waits for its owner. */
export const topUpPauses = [
  'card_declined',
  'expired_card',
  'authentication_required',
  'payment_method_gone',
  'refused_by_stripe',
  'outcome_unknown',
  'payment_taken_back',
] as const
export type TopUpPause = (typeof topUpPauses)[number]

/** A payment to request from Stripe; or one that Stripe reported as paid, whose event is late. */
export type DueTopUp = {
  readonly id: string
  readonly amount: Nano
  readonly customer: string
  readonly method: string
  readonly waitsFor: 'answer' | 'event'
}

export type TopUpStatus = {
  /** Stripe's id of the wallet's customer, even after its payment method was forgotten. */
  readonly customer?: string
  readonly saved: boolean
  /** A rule is set, has a payment method, and is not paused. */
  readonly active: boolean
  readonly paused?: TopUpPause
  /** The maximum of a day or a month is reached. */
  readonly waitsUntil?: Instant
  /** Requested and not credited yet. */
  readonly pending: Nano
  /** What was, or may have been, charged in this UTC day and month. */
  readonly today: Nano
  readonly month: Nano
}

export type TopUpStore = {
  topUpStatus(walletId: WalletId): Promise<TopUpStatus>
  /** Stores the payment method that paid a checkout `at` an instant, unless a newer one is known; ends a pause. */
  savePaymentMethod(it: { checkoutId: string; customer: string; method: string; at: Instant }): Promise<void>
  /**
   * Returns the method that was forgotten. Payments that were not requested yet are no longer requested. `by` is
   * recorded with it.
   */
  forgetPaymentMethod(walletId: WalletId, by: Actor): Promise<string | undefined>
  /**
   * Writes a payment for every wallet that is below its rule's amount and has none open, within the rule's month, the
   * day's maximum and a few a day. Then gives out what is due, each payment to one caller. One without an answer is
   * given out again, later each time, and finally given up as unknown, while Stripe still remembers the first request.
   */
  dueTopUps(it: { newId: () => string; dailyMax: Nano }): Promise<readonly DueTopUp[]>
  /**
   * What Stripe said about a payment: paid, to be credited by its event; or a reason to pause the rule. False if there
   * is no such payment, or it is already credited.
   */
  topUpAnswered(id: string, outcome: 'paid' | TopUpPause): Promise<boolean>
}
