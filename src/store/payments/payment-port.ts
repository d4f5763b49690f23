/** The store's port for payments by x402. The promises of port.ts also apply here. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { AccountId, CallId } from '../../ledger/types.ts'
import type { WalletId } from '../../tenancy/key.ts'

export type NewPayment = {
  /** `<network>:<asset>:<payer>:<nonce>` in lower case, which the chain takes only once. */
  readonly id: string
  /** The request it pays for: the call's id, and a fingerprint that no other request has. */
  readonly callId: CallId
  readonly fingerprint: string
  /** The account that will hold the money, apart from all other money. */
  readonly account: AccountId
  readonly amount: Nano
  readonly payer: string
  /** What is paid for, if it is not a call. */
  readonly invoiceId?: string
  /** The wallet of the key that came with it, which gets the change. */
  readonly creditTo?: WalletId
  /** What the facilitator gets, and gets again while the outcome is unknown. */
  readonly sent: string
  /** How long the first attempt may take before others ask for the outcome. */
  readonly firstTryMs: number
}

/** A payment that was authorised for at most `amount`. */
export type AuthorizedPayment = Omit<NewPayment, 'invoiceId' | 'creditTo'> & {
  /** From then on the chain does not take it. */
  readonly expiresAt: Instant
  /** The most that the payer may have authorised in all and not paid yet. */
  readonly most: Nano
}

export type Payment = Omit<NewPayment, 'sent' | 'firstTryMs'> & {
  /**
   * `authorized`: no money has moved, and at most `amount` may (`upto`). `settling`: sent for settlement, outcome
   * unknown. `lost`: the call was charged and the money did not come, so the house paid.
   */
  readonly state: 'authorized' | 'settling' | 'settled' | 'failed' | 'lost'
  readonly scheme: 'exact' | 'upto' | 'batch-settlement'
  /** The channel whose voucher it is. */
  readonly channelId?: string
  readonly sent?: string
  readonly transaction?: string
  readonly reason?: string
  readonly changeTo?: WalletId
  readonly createdAt: Instant
}

/** `open`: a call of the payment is under way, or it may still be served, so there is no change yet. */
export type ChangePaid =
  | { readonly outcome: 'paid' | 'paid_before'; readonly amount: Nano; readonly to: WalletId }
  | { readonly outcome: 'open' | 'unknown' }

/** Payments by x402. Each pays for one request, from its own account. */
export type PaymentStore = {
  payment(id: string): Promise<Payment | undefined>
  /** The payment under which a call was made. */
  paymentForCall(callId: CallId): Promise<Payment | undefined>
  /**
   * Records that the payment is about to be settled; one that is recorded already, and has not failed, is returned
   * unchanged.
   */
  beginPayment(payment: NewPayment): Promise<Payment>
  /**
   * Records an authorisation, or returns one that is recorded already and has not failed; `too_much` when the payer
   * would have more than `most` open, or left one unpaid.
   */
  authorizePayment(payment: AuthorizedPayment): Promise<Payment | 'too_much'>
  /**
   * Records that an authorised payment is about to be settled for what its call was charged, in whole units of its
   * token; `begun` if this call recorded it. Without a charge it stays as it is, or fails once nothing can come of it.
   */
  chargePayment(it: {
    readonly id: string
    readonly unit: Nano
    readonly firstTryMs: number
  }): Promise<{ readonly payment: Payment; readonly begun: boolean }>
  /** The money is ours: into the ledger, once. */
  settlePayment(id: string, transaction: string): Promise<void>
  /**
   * No money moved, and none can; the house pays what a call was already charged. With `sent` only if that is what was sent
   * last: a late no must not end a payment that was begun again with something else.
   */
  failPayment(id: string, reason: string, sent?: string): Promise<void>
  /**
   * Payments that were authorised, or whose outcome was unknown, for a while; each goes to one caller, and to another
   * only later.
   */
  unsettledPayments(most: number): Promise<readonly Payment[]>
  /** Payments made with a key whose change is due, each to one caller. */
  dueChange(most: number): Promise<readonly Payment[]>
  /** Releases what dead processes hold of a payment's account, so that the next attempt can proceed. */
  freeAccount(account: AccountId): Promise<void>
  /**
   * Pays the invoice that a payment is for, if it is still unpaid, and moves what the payment has left over to a
   * wallet, once. Payments for calls that were not served count after a day, those without a key at once: who claims one
   * gives up the answer.
   */
  payChange(id: string, to: WalletId): Promise<ChangePaid>
}
