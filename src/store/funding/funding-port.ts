/** The store's port for money from outside and on credit: credit lines, statements, invoices, payments. */
import type { Nano } from '../../core/money.ts'
import type { Instant, Month } from '../../core/time.ts'
import type { InvoiceStatus } from '../../ledger/invoice.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { KeyId, WalletId } from '../../tenancy/key.ts'
import type { Actor } from '../people/event-port.ts'

export type CreditLine = {
  readonly account: AccountId
  readonly walletId: WalletId
  readonly limit: Nano
  /** Days from an invoice to the end of its term. */
  readonly netDays: number
  /** The month of the first grant, in which statements begin. */
  readonly opened: Month
  /** What was used and not paid, invoiced or not. */
  readonly owed: Nano
  /** What open calls hold. */
  readonly held: Nano
  /**
   * `past_due`: an invoice is past due, or the wallet owes money that a payer took back. `withdrawn`: the limit is 0.
   */
  readonly status: 'active' | 'past_due' | 'withdrawn'
}

export type Invoice = {
  readonly id: string
  readonly walletId: WalletId
  readonly month: Month
  /** Less than a cent carried over from the previous invoice; negative when more was given back than used. */
  readonly brought: Nano
  /** What was used in the month, and what was charged or refunded too late for the invoices of the months before. */
  readonly used: Nano
  /** In whole cents. */
  readonly total: Nano
  readonly carried: Nano
  /** It has what was posted until then, and counts in its month or before. */
  readonly endsAt: Instant
  readonly issuedAt: Instant
  readonly dueAt: Instant
  readonly paidAt?: Instant
  readonly paidRef?: string
  readonly status: InvoiceStatus
}

export type StatementLine = {
  readonly keyId: KeyId
  readonly label: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Charges less refunds. */
  readonly amount: Nano
}

/** A month of a credit line. A charge belongs to the month in which it became durable. */
export type CreditStatement = {
  readonly walletId: WalletId
  readonly month: Month
  readonly opening: Nano
  readonly used: Nano
  readonly paid: Nano
  readonly closing: Nano
  readonly lines: readonly StatementLine[]
  readonly invoice?: Invoice
}

export type PayOutcome =
  | 'paid'
  | 'paid_before'
  | 'unknown'
  /** The wallet has less than the invoice. */
  | 'short'
  /** The wallet has enough, but leases hold it; they were recalled, so that the next try may succeed. */
  | 'leased'

/** If `by` says who does it, an event is recorded with the change. */
export type CreditStore = {
  /** Opens or changes the credit line of a wallet; a limit of 0 withdraws it, and what is owed stays owed. */
  grantCredit(grant: { walletId: WalletId; limit: Nano; netDays: number }, by: Actor): Promise<CreditLine>
  creditLine(walletId: WalletId): Promise<CreditLine | undefined>
  creditLines(): Promise<readonly CreditLine[]>
  /** Writes the invoice of every month that ended at least an hour ago and has none; returns how many. */
  closeMonths(): Promise<number>
  /** Newest first; at most 1 000. */
  invoices(walletId: WalletId): Promise<readonly Invoice[]>
  invoice(id: string): Promise<Invoice | undefined>
  /** Undefined without a credit line, and for months before it. */
  statement(walletId: WalletId, month: Month): Promise<CreditStatement | undefined>
  /** Pays an invoice in full: from its wallet, or with cash that came in another way. */
  payInvoice(payment: { id: string; from: 'wallet' | 'cash'; note?: string }, by: Actor): Promise<PayOutcome>
}

export type Checkout = {
  readonly id: string
  readonly walletId: WalletId
  /** What is paid for, if it is not the wallet. */
  readonly invoiceId?: string
  readonly amount: Nano
  readonly paid: boolean
}

export type CheckoutStore = {
  openCheckout(checkout: Omit<Checkout, 'paid'>, by: Actor): Promise<void>
  checkout(id: string): Promise<Checkout | undefined>
  /**
   * Credits a payment once, by its id: never more than was requested, nor than was paid. Money for an invoice that was
   * paid meanwhile goes to the wallet.
   */
  creditPayment(payment: {
    checkoutId: string
    payment: string
    amount: Nano
  }): Promise<'posted' | 'replayed' | 'unknown'>
  /**
   * Takes the outstanding amount of a refund or dispute out of the wallet that was paid, which may owe it afterwards.
   * All refunds and disputes of one payment together take no more than it brought in. An outstanding amount only falls,
   * so an older event changes nothing.
   */
  takeBack(taken: {
    id: string
    payment: string
    outstanding: Nano
  }): Promise<'posted' | 'replayed' | 'unknown'>
}

/** `short`: the wallet has less, not counting what open calls hold. `leased`: idle leases held it and were recalled. */
export type Withdrawn = 'posted' | 'replayed' | 'unknown' | 'short' | 'leased'

export type WithdrawStore = {
  /** Takes money out of a wallet, once for each `ref`; throws `ReplayConflict` for the same one with other content. */
  withdraw(withdrawal: { walletId: WalletId; amount: Nano; ref: string }, by: Actor): Promise<Withdrawn>
}
