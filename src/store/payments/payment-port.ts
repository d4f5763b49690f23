/** The store's port for payments by x402. The promises of port.ts hold here too. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { AccountId, CallId } from '../../ledger/types.ts'
import type { WalletId } from '../../tenancy/key.ts'

export type NewPayment = {
  /** `<network>:<asset>:<payer>:<nonce>` in lower case: what the chain takes just once. */
  readonly id: string
  /** The request it pays for: the call's id, and what tells it from any other. */
  readonly callId: CallId
  readonly fingerprint: string
  /** The account the money will lie in, apart from all other money. */
  readonly account: AccountId
  readonly amount: Nano
  readonly payer: string
  /** What is paid for when it is not a call. */
  readonly invoiceId?: string
  /** The bearer's wallet, which gets the change. */
  readonly creditTo?: WalletId
  /** What the facilitator is given, to give it again while the outcome is not known. */
  readonly sent: string
  /** How long the first attempt may take, before others ask for the outcome. */
  readonly firstTryMs: number
}

/** A payment that was authorised for `amount` at most. */
export type AuthorizedPayment = Omit<NewPayment, 'invoiceId' | 'creditTo'> & {
  /** From when on the chain does not take it. */
  readonly expiresAt: Instant
  /** What the payer may have authorised and not paid yet in all. */
  readonly most: Nano
}

export type Payment = Omit<NewPayment, 'sent' | 'firstTryMs'> & {
  /**
   * `authorized`: nothing has moved, `amount` is the most that may (`upto`). `settling`: sent to be settled, outcome
   * unknown. `lost`: the call was charged and the money did not come, so that the house paid.
   */
  readonly state: 'authorized' | 'settling' | 'settled' | 'failed' | 'lost'
  readonly scheme: 'exact' | 'upto'
  readonly sent?: string
  readonly transaction?: string
  readonly reason?: string
  readonly changeTo?: WalletId
  readonly createdAt: Instant
}

/** `open`: the payment may still be served, so that there is no change yet. */
export type ChangePaid =
  | { readonly outcome: 'paid' | 'paid_before'; readonly amount: Nano; readonly to: WalletId }
  | { readonly outcome: 'open' | 'unknown' }

/** Payments by x402. Each pays for one request, out of an account of its own. */
export type PaymentStore = {
  payment(id: string): Promise<Payment | undefined>
  /** The payment that a call was made under. */
  paymentForCall(callId: CallId): Promise<Payment | undefined>
  /** Notes that the payment is about to be settled; one that is there already, and has not failed, is returned as it is. */
  beginPayment(payment: NewPayment): Promise<Payment>
  /**
   * Notes an authorisation, or tells of one that is there already and has not failed; `too_much` when the payer would have
   * more than `most` open, or left one unpaid.
   */
  authorizePayment(payment: AuthorizedPayment): Promise<Payment | 'too_much'>
  /**
   * Notes that an authorised payment is about to be settled for what its call was charged, in whole units of its token;
   * `begun` when this did it. Without a charge it stays as it is, or fails once nothing can come of it.
   */
  chargePayment(it: {
    readonly id: string
    readonly unit: Nano
    readonly firstTryMs: number
  }): Promise<{ readonly payment: Payment; readonly begun: boolean }>
  /** The money is ours: into the ledger, once. */
  settlePayment(id: string, transaction: string): Promise<void>
  /** No money moved, and none can; the house pays what a call was charged already. */
  failPayment(id: string, reason: string): Promise<void>
  /** Payments that were authorised, or whose outcome has not been known, for a while; each is returned to one caller, and again only later. */
  unsettledPayments(most: number): Promise<readonly Payment[]>
  /** Payments of bearers whose change is due, each to one caller. */
  dueChange(most: number): Promise<readonly Payment[]>
  /** Ends what processes that have died hold of a payment's account, so that the next attempt can. */
  freeAccount(account: AccountId): Promise<void>
  /**
   * Pays the invoice that a payment is for, if it still is to be paid, and moves what the payment has left over to a
   * wallet, once. Payments for calls that were never served count after a day.
   */
  payChange(id: string, to: WalletId): Promise<ChangePaid>
}
