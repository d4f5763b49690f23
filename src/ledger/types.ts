/** The ledger's types: accounts, transfers, holds and the operations that move money. Amounts are nano-USD. */
import type { UnitPrices } from '../core/model.ts'
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type { Usage } from '../core/usage.ts'
import type { KeyId, WalletId } from '../tenancy/key.ts'

export type InstanceId = string
export type LeaseId = string
/** A UUID; for a call with an Idempotency-Key it is derived from it, so a repeat collides in the ledger. */
export type CallId = string
/** A wallet, a credit line, a payment's account or one of the house accounts below. */
export type AccountId = string

/** What the names of jobs' own instances begin with. */
export const JOB = 'job:'

/** The instance that holds the lease of one job: no process, so that the lease outlives them. */
export const jobInstance = (callId: CallId): InstanceId => `${JOB}${callId}`
export const callOfJob = (instance: InstanceId): CallId => instance.slice(JOB.length)
export const isJob = (instance: InstanceId): boolean => instance.startsWith(JOB)

/** The account beside a wallet that post-paid calls draw on. It exists once the operator granted credit. */
export const creditAccountOf = (wallet: WalletId): AccountId => `credit:${wallet}`
export const isCreditAccount = (account: AccountId): boolean => account.startsWith('credit:')

/** The account that holds one payment, by what names the payment shortly. */
export const paymentAccountOf = (digest: string): AccountId => `x402:${digest}`
export const isPaymentAccount = (account: AccountId): boolean => account.startsWith('x402:')

/** Accounts of the house: unbounded, their balance is the sum of their postings, so no row is hot. */
export const houseAccounts = ['cash', 'promo', 'revenue', 'loss', 'x402'] as const

/** The organisation of accounts that hold one payment each; they are not wallets anybody tops up. */
export const PAYMENTS_ORG = 'x402'

export const transferKinds = ['topup', 'grant', 'usage', 'refund', 'writeoff', 'adjust'] as const
type TransferKind = (typeof transferKinds)[number]

/** One row is one debit and one credit, so an unbalanced entry cannot be written. (kind, ref) is unique: a replay changes nothing. */
export type Transfer = {
  readonly kind: TransferKind
  readonly ref: string
  readonly debit: AccountId
  readonly credit: AccountId
  readonly amount: Nano
  readonly note?: string
}

/** What binds when money does not fit; the `limit` member of a 402. */
export type BindingLimit =
  | 'wallet'
  | 'spend_cap_usd'
  | 'monthly_cap_usd'
  | 'sub_wallet'
  | 'daily_limit_usd'
  | 'stop_at_remaining_usd'
  | 'credit_line'
  /** No credit was granted, or it was withdrawn. */
  | 'no_credit_line'
  /** An invoice is past due, or the wallet owes what a payer took back. */
  | 'past_due'
  /** What was paid for this very call. */
  | 'payment'

/**
 * Asks for money for one spending path (instance, key, day, sub-wallet, account).
 * `need` is the growth without which the call cannot run: less than nothing where the lease covers it already, undefined
 * where no call waits and the lease is only renewed. `want` is the growth that spares the next trips, `useful` the smallest
 * charge that would still be of use: when a cap cannot even cover that, the key is disabled.
 */
export type LoanRequest = {
  readonly instance: InstanceId
  readonly keyId: KeyId
  /** The sub-wallet that the call names; a key that is bound to one counts against that without naming it. */
  readonly sub?: string
  /** The account that pays, when it is not the key's wallet. */
  readonly payer?: AccountId
  /** The instance's open lease for this path if it has one, else a fresh id to open. The answer tells which id it is. */
  readonly leaseId: LeaseId
  readonly need?: Nano
  readonly want: Nano
  /**
   * What the instance knows of the lease: what open calls hold of it, some of which may not be in the ledger yet, and
   * what is free for further ones. The ledger may have more: room that is on its way back, or was lent in an answer
   * that was lost. /
   */
  readonly held?: Nano
  readonly free?: Nano
  /** For a call that is open already: a wallet's minimum is for new ones. */
  readonly goesOn?: boolean
  /** The lease is given up for a new one: the instance has waited in vain for room of it to come back. */
  readonly anew?: boolean
  readonly useful: Nano
  readonly ttlMs: number
}

export type Loan = {
  readonly outcome: 'lent'
  readonly leaseId: LeaseId
  /** The increment, never an absolute: memory adds it. */
  readonly grown: Nano
  /** Milliseconds the lease lives from the moment of the loan; shorter than the TTL at the end of a UTC day. */
  readonly lifeMs: number
  /** Money is short: lease exactly what each call needs and ask the ledger for every call. */
  readonly tight: boolean
  /**
   * What the caps, the sub-wallet, the daily limit and stop-at leave beside this lease, whatever it has: the least of
   * limit − charged, less the unspent room of the lease. Absent when nothing but the account binds.
   */
  readonly beside?: Nano
}

export type LoanRefused = {
  readonly outcome: 'unknown_key' | 'unknown_sub' | 'disabled' | 'recall' | 'held' | 'spent'
  readonly limit?: BindingLimit
  /** Whose cap or stop-at it is that binds; absent for limits of the account or the wallet. */
  readonly owner?: KeyId
  readonly required: Nano
  /** What the binding limit has for this key, counting all room that no open call holds, whoever leased it. */
  readonly available: Nano
  /** What open calls hold of the binding limit. */
  readonly held: Nano
  /** Room of the instance's own lease of which the instance does not know. */
  readonly astray?: Nano
  /** Version of the key after this, when the request changed it (auto-disable). */
  readonly keyVersion?: number
}

export type Intent = { readonly callId: CallId; readonly leaseId: LeaseId; readonly hold: Nano }

/**
 * A running call's checkpoint: its hold as extended so far, and what it would cost if it ended now. `leaseId` moves the
 * whole hold to another lease of the same instance, where the one it was opened on is over.
 */
export type Checkpoint = {
  readonly callId: CallId
  readonly hold: Nano
  readonly spent: Nano
  readonly leaseId?: LeaseId
}

/** What was used, for reports and receipts; kept apart from the money so that it can be deleted. */
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
  /** How the call ended: `ok`, `client_gone`, `vendor_failed`, `cost_ceiling`, `deadline`. */
  readonly ended: string
  /** The vendor's own bill in nano-USD, where it told one. */
  readonly vendorCost?: string
  /** Absent when receipts were off. */
  readonly receipt?: ReceiptFacts
}

/** What a receipt states beyond the rest of the detail, kept so that it can be issued again at any time. */
export type ReceiptFacts = {
  /** The unit prices in force, of the classes that were used. */
  readonly prices: UnitPrices
  /** What was held: the call is never charged more. */
  readonly authorized: Nano
  /** How it was paid; `mode` is always there. */
  readonly payment: Readonly<Record<string, string>>
  readonly requestHash: string
  readonly responseHash: string
}

/** A call that was charged, as the ledger has it. */
export type ChargedCall = {
  readonly callId: CallId
  readonly keyId: KeyId
  readonly charged: Nano
  /** Who paid: a wallet, a credit line, or the house. */
  readonly payer: AccountId
  readonly at: Instant
  /** `recovered`: the charge of a call that a crash cut off; `waived`: the house paid, since the lease was gone. */
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
  /** What the vendor reported above the hold: the house pays it, and an alert fires. */
  readonly excess: Nano
  readonly detail: UsageDetail
  readonly answer?: { readonly ref: IdempotencyRef; readonly answer: StoredAnswer } | undefined
}

/** One group commit. May be resent word for word after a lost connection: repeating it changes nothing. */
export type CommitBatch = {
  readonly instance: InstanceId
  readonly intents: readonly Intent[]
  readonly progress: readonly Checkpoint[]
  readonly settles: readonly Settle[]
  readonly voids: readonly CallId[]
}

export type CommitResult = {
  /** Intents that are durable; an intent that is missing was fenced and its call must not answer. */
  readonly opened: ReadonlySet<CallId>
  /** Progress that was accepted; a missing one means the call is no longer open. */
  readonly extended: ReadonlySet<CallId>
  /** Settled calls, with the settled balance of the account that paid: a wallet's, or what is left of a credit line. */
  readonly settled: ReadonlyMap<CallId, Nano>
  /** Settled and void calls that were over before this commit, by another attempt perhaps: what they were charged. */
  readonly chargedBefore: ReadonlyMap<CallId, Nano>
  /** Calls to be settled that were charged for another attempt, or have another answer kept: this attempt may not answer. */
  readonly answeredElsewhere: ReadonlySet<CallId>
}
