/** The ledger's types: accounts, transfers, holds and the operations that move money. Amounts are nano-USD. */
import type { UnitPrices } from '../core/model.ts'
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type { Usage } from '../core/usage.ts'
import type { KeyId, WalletId } from '../tenancy/key.ts'
import type { CapMember } from '../tenancy/limits.ts'
import type { Tags } from '../tenancy/tags.ts'
import type { VoucherOfCall } from './voucher.ts'

export type InstanceId = string
export type LeaseId = string
/** An id of `newId`, which grows with time; of former versions, a UUID of version 7. */
export type CallId = string
/** A wallet, a credit line, a payment's account, or one of the house accounts below. */
export type AccountId = string

/** The prefix of the instance names of jobs. */
export const JOB = 'job:'

/** What follows for those of batches. */
export const BATCH = 'batch:'

/** The instance that owns the leases of one batch. */
export const batchInstance = (batchId: string): InstanceId => `${JOB}${BATCH}${batchId}`

/** The instance that owns the lease of one job. It is not a process, so the lease outlives processes. */
export const jobInstance = (callId: CallId): InstanceId => `${JOB}${callId}`
export const callOfJob = (instance: InstanceId): CallId => instance.slice(JOB.length)
export const isJob = (instance: InstanceId): boolean => instance.startsWith(JOB)

/** The account beside a wallet that post-paid calls draw on. It exists once the operator has granted credit. */
export const creditAccountOf = (wallet: WalletId): AccountId => `credit:${wallet}`
export const isCreditAccount = (account: AccountId): boolean => account.startsWith('credit:')

/** The account of one payment, under a short name of the payment. */
export const paymentAccountOf = (digest: string): AccountId => `x402:${digest}`
export const isPaymentAccount = (account: AccountId): boolean => account.startsWith('x402:')
/** The account of a channel, which pays for many calls. */
export const channelAccountOf = (digest: string): AccountId => `x402:channel:${digest}`
export const isChannelAccount = (account: AccountId): boolean => account.startsWith('x402:channel:')

/** Accounts of the house: unbounded. Their balance is the sum of their postings, so no row is contended. */
export const houseAccounts = ['cash', 'promo', 'revenue', 'loss', 'x402', 'vendors'] as const

/** The organisation of accounts that hold one payment each; nobody tops up these accounts. */
export const PAYMENTS_ORG = 'x402'

export const transferKinds = ['topup', 'grant', 'usage', 'refund', 'writeoff', 'adjust'] as const
type TransferKind = (typeof transferKinds)[number]

/**
 * One row is one debit and one credit, so an unbalanced entry cannot be written. (kind, ref) is unique: a replay
 * changes nothing.
 */
export type Transfer = {
  readonly kind: TransferKind
  readonly ref: string
  readonly debit: AccountId
  readonly credit: AccountId
  readonly amount: Nano
  readonly note?: string
}

/** Which limit binds when money does not fit; the `limit` member of a 402. */
export type BindingLimit =
  | 'wallet'
  | CapMember
  | 'sub_wallet'
  /** The budget of a tag's value, such as an end user's. */
  | 'budget'
  | 'daily_limit_usd'
  | 'stop_at_remaining_usd'
  | 'credit_line'
  /** No credit was granted, or it was withdrawn. */
  | 'no_credit_line'
  /** An invoice is past due, or the wallet owes money that a payer took back. */
  | 'past_due'
  /** The payment for this very call. */
  | 'payment'

/**
 * Asks for money for one spending path (instance, key, day, sub-wallet, account, tags). `need` is the growth without which
 * the call cannot run: negative if the lease covers more than the call, undefined if no call waits and the lease is
 * only renewed. `want` is the growth that saves later requests. `useful` is the smallest charge that would still be
 * useful: when a cap cannot cover even that, the key is disabled.
 */
export type LoanRequest = {
  readonly instance: InstanceId
  readonly keyId: KeyId
  /** The sub-wallet that the call names; a key that is bound to one counts against it without naming it. */
  readonly sub?: string
  /** The account that pays, when it is not the key's wallet. */
  readonly payer?: AccountId
  /** What the call is for, of the tags under budget in its wallet; see `tagPathOf`. */
  readonly tags?: string
  /** The instance's open lease for this path if it has one, else a fresh id to open. The answer says which id it is. */
  readonly leaseId: LeaseId
  readonly need?: Nano
  readonly want: Nano
  /**
   * What the instance knows of the lease: what open calls hold of it (some of them may not be in the ledger yet), and
   * what is free for more. The ledger may have more: room that is being given back, or that was lent in an answer that
   * was lost.
   */
  readonly held?: Nano
  readonly free?: Nano
  /** For a call that is already open: a wallet's minimum only applies to new calls. */
  readonly admitted?: boolean
  /** The lease is given up for a new one, because the instance waited in vain for the lease's room to come back. */
  readonly anew?: boolean
  readonly useful: Nano
  readonly ttlMs: number
}

export type Loan = {
  readonly outcome: 'lent'
  readonly leaseId: LeaseId
  /** The increment, never an absolute amount: the instance adds it to its memory. */
  readonly grown: Nano
  /**
   * How long the lease lives from the moment of the loan, in milliseconds; shorter than the TTL at the end of a UTC
   * day.
   */
  readonly lifeMs: number
  /** Money is short: borrow exactly what each call needs, and ask the ledger for every call. */
  readonly tight: boolean
  /**
   * What the caps, the sub-wallet, the daily limit and stop-at leave beside this lease, whatever it has: the least of
   * limit − charged, less the unspent room of the lease. Absent when only the account binds.
   */
  readonly beside?: Nano
}

/** The cap of a tag's budget that binds. */
export type BindingBudget = {
  readonly tag: string
  readonly value: string
  readonly period: 'life' | 'month' | 'week' | 'day'
  /** When the period ends, by the ledger's clock. */
  readonly ends?: Instant
}

export type LoanRefused = {
  readonly outcome: 'unknown_key' | 'unknown_sub' | 'disabled' | 'full' | 'recall' | 'held' | 'spent'
  readonly limit?: BindingLimit
  /** For a tag's budget; with `full`, the value that gets none because there are too many, and how many there may be. */
  readonly budget?: BindingBudget & { readonly valuesMax?: number }
  /** The owner of the cap or stop-at that binds; absent for limits of the account or the wallet. */
  readonly owner?: KeyId
  readonly required: Nano
  /** What the binding limit has for this key, counting all room that no open call holds, whoever leased it. */
  readonly available: Nano
  /** What open calls hold of the binding limit. */
  readonly held: Nano
  /** Room of the instance's own lease that the instance does not know of. */
  readonly astray?: Nano
  /** The key's new version, when the request changed the key (auto-disable). */
  readonly keyVersion?: number
}

export type Intent = {
  readonly callId: CallId
  readonly leaseId: LeaseId
  readonly hold: Nano
  /** It is opened only while this voucher is its own. */
  readonly voucher?: VoucherOfCall | undefined
}

/**
 * A running call's checkpoint: its hold as extended so far, and what it would cost if it ended now. `leaseId` moves the
 * whole hold to another lease of the same instance, when the lease it was opened on is over.
 */
export type Checkpoint = {
  readonly callId: CallId
  readonly hold: Nano
  readonly spent: Nano
  readonly leaseId?: LeaseId
}

/** What was used, for reports and receipts; stored apart from the money so that it can be deleted. */
export type UsageDetail = {
  readonly keyId: KeyId
  readonly model: string
  readonly vendor: string
  readonly usage: Usage
  readonly estimated: boolean
  readonly priceVersion: string
  readonly startedAt: Instant
  readonly tookMs: number
  readonly firstByteMs: number
  /** How the call ended: `ok`, `client_gone`, `vendor_failed`, `cost_ceiling`, `ledger_away`, `deadline`. */
  readonly ended: string
  /** What it was for; absent for calls without tags. */
  readonly tags?: Tags
  /** What guardrails found in it, and what they did: `mask 2` by side and name, never the content. */
  readonly guardrails?: Tags
  /** The conditions under which it was called, and with what they were met; absent where none were asked. */
  readonly met?: Readonly<Record<string, string>>
  /** The attempts at vendors that failed before, if there were any. */
  readonly tries?: readonly FailedTry[]
  /** What the vendor's cache saved in nano-USD, if it was used; less than nothing if writing to it cost more. */
  readonly cacheSaved?: string
  /** The vendor's own bill in nano-USD, if it reported one. */
  readonly vendorCost?: string
  /** Where the organisation had keys of its own at the vendor: whose was asked. */
  readonly vendorKey?: string
  /** What the vendor bills the organisation for its own key, in nano-USD by the list price. */
  readonly vendorEstimate?: string
  /** Absent when receipts were off. */
  readonly receipt?: ReceiptFacts
}

/** An attempt at a vendor that failed. */
export type FailedTry = {
  readonly vendor: string
  readonly outcome: string
  /** The status that the vendor answered with. */
  readonly status?: number
  readonly tookMs: number
}

/** What a receipt states beyond the rest of the detail, stored so that the receipt can be issued again at any time. */
export type ReceiptFacts = {
  /** The unit prices in force, for the classes that were used. */
  readonly prices: UnitPrices
  /** What was held: the call is never charged more. */
  readonly authorized: Nano
  /** How it was paid; `mode` is always there. */
  readonly payment: Readonly<Record<string, string>>
  readonly requestHash: string
  readonly responseHash: string
}

/** A charged call, as stored in the ledger. */
export type ChargedCall = {
  readonly callId: CallId
  readonly keyId: KeyId
  readonly charged: Nano
  /** Who paid: a wallet, a credit line, or the house. */
  readonly payer: AccountId
  readonly at: Instant
  /** `recovered`: the charge of a call that a crash cut off; `waived`: the house paid, because the lease was gone. */
  readonly posted: 'as settled' | 'recovered' | 'waived'
  readonly detail?: UsageDetail
}

/** An answer kept for replay under an Idempotency-Key, stored in the transaction that settles the call. */
export type StoredAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type IdempotencyRef = { readonly keyId: KeyId; readonly endpoint: string; readonly key: string }

export type Settle = {
  readonly callId: CallId
  readonly leaseId: LeaseId
  /** The account that pays: the wallet or the credit line. */
  readonly payer: AccountId
  /** Never above the call's hold. */
  readonly charge: Nano
  /** The vendor's cost above the hold: the house pays it, and an alert fires. */
  readonly excess: Nano
  readonly detail?: UsageDetail | undefined
  readonly voucher?: VoucherOfCall | undefined
  readonly answer?: { readonly ref: IdempotencyRef; readonly answer: StoredAnswer } | undefined
}

/** A settlement of a call, with what it used. That of an estimate has no detail. */
export type CallSettle = Settle & { readonly detail: UsageDetail }

/** One group commit. It may be sent again word for word after a lost connection: a repeat changes nothing. */
export type CommitBatch = {
  readonly instance: InstanceId
  readonly intents: readonly Intent[]
  readonly progress: readonly Checkpoint[]
  readonly settles: readonly Settle[]
  readonly voids: readonly CallId[]
}

export type CommitResult = {
  /** Intents that are durable; a missing one was fenced, and its call must not answer. */
  readonly opened: ReadonlySet<CallId>
  /** Progress that was accepted; a missing call is no longer open. */
  readonly extended: ReadonlySet<CallId>
  /**
   * Settled calls, with the settled balance of the paying account: a wallet's balance, or what is left of a credit
   * line.
   */
  readonly settled: ReadonlyMap<CallId, Nano>
  /**
   * Settled and voided calls that had already ended before this commit, perhaps in another attempt: what they were
   * charged.
   */
  readonly chargedBefore: ReadonlyMap<CallId, Nano>
  /** Calls that were charged for another attempt, or have another answer stored: this attempt may not answer. */
  readonly answeredElsewhere: ReadonlySet<CallId>
}
