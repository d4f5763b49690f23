/** What the book offers the gateway: who calls, whether they may, and holds on their money. */
import type { Nano } from '../core/money.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Instant } from '../core/time.ts'
import type {
  AccountId,
  BindingBudget,
  BindingLimit,
  CallId,
  IdempotencyRef,
  StoredAnswer,
  UsageDetail,
} from '../ledger/types.ts'
import type { VoucherOfCall } from '../ledger/voucher.ts'
import type { KeyChange, KeyChanged } from '../store/accounts/tenancy-port.ts'
import type { Actor } from '../store/people/event-port.ts'
import type { Key, KeyId, WalletId } from '../tenancy/key.ts'
import type { RateLimits, RateName } from '../tenancy/rates.ts'
import type { Told } from '../tenancy/terms.ts'
import type { WalletRules } from '../tenancy/wallet-rules.ts'

/** What came of asking for more money: it is held, there is none or it is forbidden, or the ledger is away. */
export type Extended = 'extended' | 'refused' | 'away'

/** The same in the vendor's list price, for a call by an own key of its organisation. */
export type ListPriced = { readonly to: Nano; readonly spent: Nano }

/** Money held for one open call. It ends exactly once, by `settle` or by `void`. */
export type Hold = {
  readonly callId: CallId
  /** The present amount of the hold; `extend` raises it. */
  readonly amount: () => Nano
  /** For a call by an own key: what is held of the vendor's list price, which caps count as well. */
  readonly estimate?: () => Nano
  /**
   * Gate 1. Resolves true when the intent is durable, so that bytes may go to the client. Resolves false when the
   * intent was fenced or the ledger could not be reached in time: then the call is already void and must not answer.
   */
  readonly opened: Promise<boolean>
  /**
   * Raises the hold to `to`, durably. With `waits` it waits a little for money that other open calls hold. While the
   * ledger is away nobody knows whether there is any, so it may be asked for again.
   */
  extend(to: Nano, spent: Nano, waits: boolean, list?: ListPriced): Promise<Extended>
  /** Records what the call would cost if it ended now; written with the next commits, for recovery after a crash. */
  checkpoint(spent: Nano, list?: Nano): void
  /**
   * Gate 2. Resolves when the charge is durable, in the ledger or in the local outbox. If `cost` is above the hold, the
   * hold is charged and the house pays the rest. The estimate is what the detail says. Rejects when the call was not open, so that nothing was charged, and
   * when another attempt of it was charged for another answer.
   */
  settle(
    cost: Nano,
    detail: UsageDetail,
    answer?: { ref: IdempotencyRef; answer: StoredAnswer },
  ): Promise<SettledHold>
  /** Nothing was delivered: frees the money. Resolves when the ledger has forgotten the call. */
  void(): Promise<void>
}

export type SettledHold = {
  readonly charged: Nano
  /**
   * What the key may still spend after the call: the least of everything that binds it. That is the settled balance of
   * the paying account (with the credit that is left), and every cap, sub-wallet, daily limit and stop-at. Unknown
   * while the ledger cannot be reached.
   */
  readonly remaining: Nano | undefined
}

export type HoldRefused = {
  readonly outcome: 'refused'
  /** The money is spent. Otherwise it is only held, by open calls or for other processes, and may come back. */
  readonly spent: boolean
  readonly limit: BindingLimit
  /** Of a tag's budget, which one. */
  readonly budget?: BindingBudget | undefined
  /** The owner of the cap or stop-at that binds; undefined for limits of the wallet or the account. */
  readonly owner: KeyId | undefined
  readonly required: Nano
  readonly available: Nano
  readonly held: Nano
  /** What did not fit is what the vendor bills for an own key, by its list price. */
  readonly estimated?: true
}

export type HoldRequest = {
  readonly callId: CallId
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub?: string | undefined
  /** The account that pays, when it is not the key's wallet. */
  readonly payer?: AccountId | undefined
  /** What it is for, of the tags under budget; see `tagPathOf`. */
  readonly tags?: string | undefined
  readonly voucher?: VoucherOfCall | undefined
  readonly amount: Nano
  /** The smallest charge that would still be useful; see LoanRequest. */
  readonly useful: Nano
  /** The same in the vendor's list price, which is held as well, for a call by an own key of its organisation. */
  readonly list?: { readonly amount: Nano; readonly useful: Nano } | undefined
  /** Whether the call waits a little for money that other open calls hold. */
  readonly waits?: boolean
  /** Ends that wait, because the caller has gone. */
  readonly signal?: AbortSignal
}

/** Tokens that a call may use: what it reserves, and the least it can work with if the window has fewer left. */
export type TokenRequest = { readonly least: number; readonly most: number }

/** For an admitted request, the window that binds most tightly; for a rejected one, the window that is used up. */
export type RateVerdict = {
  readonly admitted: boolean
  readonly rate: RateName
  readonly limit: number
  readonly remaining: number
  /** When the window ends. */
  readonly resetAt: Instant
  /** Milliseconds until it ends. */
  readonly retryAfterMs: number
  /** For a key with tokens per minute, if the request asked for tokens. */
  readonly tokens?: {
    readonly limit: number
    readonly remaining: number
    readonly resetAt: Instant
    readonly reserved: number
    /** Called once, at the end of the call: gives back the tokens that it reserved and did not use. */
    readonly correct: (used: number) => void
  }
}

/**
 * An answer that is immediate when memory has it. Callers await it only if it is a promise, because awaiting nothing
 * also costs.
 */
export type Soon<T> = T | Promise<T>

/** One process's view of keys and money, backed by the store. */
export type Book = {
  /** Registers the instance and waits for the first heartbeat. */
  start(): Promise<void>
  /**
   * The key with that hash, or with one of the others, if it exists and is not deleted; a refusal (`service_unavailable`) when our knowledge is not
   * provably fresh.
   */
  caller(hash: string, others?: readonly string[]): Soon<Key | undefined | Refusal>
  /** The same by the key's id, for a credential that names it. */
  callerById(id: KeyId): Promise<Key | undefined | Refusal>
  /** A key was stored under this hash: it is looked up again, even if it was unknown a moment ago. */
  lookAgain(hash: string): void
  /** Whether a hash without a key is that of an ended trial. */
  isEndedTrial(hash: string): boolean
  /**
   * Counts one request in each of the key's windows, and reserves its tokens; a Refusal when it cannot be counted.
   * `planRpm` binds a key without an `rpm` of its own.
   */
  takeRate(
    keyId: KeyId,
    limits: RateLimits,
    planRpm: number | undefined,
    tokens?: TokenRequest,
  ): Soon<RateVerdict | Refusal>
  /** What is left of the key's windows, as far as this process knows; undefined if it has no rates. Takes nothing. */
  rateLeft(keyId: KeyId, limits: RateLimits, planRpm: number | undefined): RateVerdict | undefined
  /** The keys above a key, as fresh as the key itself; a Refusal when they cannot be read. */
  makersOf(key: Key): Soon<readonly Key[] | Refusal>
  /** From then on, reports each change of a key that this process had already read. */
  onKeyChanged(listener: (key: Key) => void): void
  /** Holds money, or says which limit binds; a Refusal for a disabled key (403) or an unreachable ledger (503). */
  hold(ask: HoldRequest): Soon<Hold | HoldRefused | Refusal>
  /**
   * Holds `ask`, what the vendor bills for an own key by its list price, beside what the call is charged, which is held
   * elsewhere. They end as one.
   */
  holdBeside(charged: Hold, ask: HoldRequest): Promise<Hold | HoldRefused | Refusal>
  /** Why a call was not opened: its key was revoked meanwhile, or the ledger could not be reached. */
  whyFenced(key: Key): Promise<Refusal>
  /**
   * Changes a key, and the keys below it that change with it; resolves once no process can admit a call on the old
   * state. `by` is recorded with it.
   */
  changeKey(id: KeyId, change: KeyChange, by: Actor): Promise<KeyChanged | undefined>
  deleteKey(id: KeyId, withChildren: boolean, by: Actor): Promise<KeyChanged | undefined>
  /** The rules of a wallet, as provably fresh as its keys; a Refusal when they cannot be read. */
  rules(walletId: WalletId): Soon<WalletRules | Refusal>
  /**
   * What the key of a tenant is told of money, as fresh as the rules are; undefined for our price, at once for keys of no
   * tenant. `makers` are the keys above it. A Refusal when it cannot be read.
   */
  terms(key: Key, makers: readonly Key[]): Soon<Told | Refusal>
  /** The same for a key that does not ask now. If it cannot be read, nothing is told. */
  termsOf(keyId: KeyId): Promise<Told>
  /** Resolves once no process can admit a call on knowledge older than `at`, a time of the database. */
  untilKnown(at: Instant): Promise<void>
  /** The outcome of work that asks the ledger; rejects with a StoreFault if touch with the ledger is lost first. */
  whileInTouch<T>(work: Promise<T>): Promise<T>
  /** Open holds, queue length and freshness, for /api/status and overload decisions. */
  health(): BookHealth
  /** What is leased now; it looks at every lease. */
  leased(): LeaseSums
  /**
   * Takes no new calls, waits for open ones to end, commits what is queued, returns leases and leaves. Resolves within
   * `deadlineMs`, whatever hangs.
   */
  drain(deadlineMs: number, it?: DrainWith): Promise<void>
}

export type DrainWith = {
  /** Ends calls that are still open shortly before the deadline. */
  readonly cut?: () => void
  /** What else must end, at most within this time: calls whose money the book does not hold. */
  readonly others?: (forMs: number) => Promise<unknown>
}

/**
 * What a process has leased: how many leases, how much of them is not charged, and how much of that open calls hold.
 */
export type LeaseSums = { readonly count: number; readonly room: Nano; readonly held: Nano }

export type BookHealth = {
  readonly fresh: boolean
  readonly draining: boolean
  readonly openCalls: number
  readonly queued: number
  readonly oldestQueuedMs: number
  /** Time since the last heartbeat that the ledger answered. */
  readonly beatAgeMs: number
  /** Processes that share the ledger. */
  readonly instances: number
  /** Settlements that wait in the outbox. */
  readonly journal: number
}
