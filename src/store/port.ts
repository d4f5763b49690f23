/**
 * The store's port: everything that is durable, as its users need it. Two engines (SQLite, PostgreSQL) run the same
 * statements; the rules are written once.
 *
 * Promises every engine keeps: each method is one serialisable transaction; when it resolves, its effect is on disk
 * (except `beat` and `takeRates`, which may be lost in a crash and err on the safe side); when it rejects, the effect is
 * unknown and the call may be repeated word for word.
 */
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type {
  AccountId,
  CallId,
  ChargedCall,
  FlushBatch,
  FlushResult,
  GrantAsk,
  Granted,
  GrantRefused,
  IdempotencyRef,
  InstanceId,
  LeaseId,
  StoredAnswer,
  Transfer,
} from '../ledger/words.ts'
import type { Key, KeyId } from '../tenancy/key.ts'
import type { RateName } from '../tenancy/rates.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'
import type { ReferralStore, ReviewStore, TrialStore } from './community-port.ts'
import type { FundingStore } from './funding-port.ts'
import type { PaymentStore } from './payment-port.ts'
import type { ResponseStore } from './response-port.ts'
import type { SubWalletNews, SubWalletStore } from './sub-wallet-port.ts'
import type { TenancyStore } from './tenancy-port.ts'
import type { TopUpStore } from './top-up-port.ts'
import type { AlertStore, WalletRulesStore } from './wallet-rules-port.ts'

/** Money under way: leases, holds, settlement. */
export type LedgerStore = {
  grant(ask: GrantAsk): Promise<Granted | GrantRefused>
  /**
   * Returns unused room. Memory subtracts it before asking; an unknown outcome counts as returned, so this is the one
   * method that is never repeated. Room that open calls hold must not be returned.
   */
  giveBack(lease: LeaseId, back: Nano): Promise<void>
  /**
   * Lets the instance's own leases live for `ttlMs` more, to the end of the UTC day at most. Those that have ended, or
   * were fenced, are left out of the answer.
   */
  renew(
    instance: InstanceId,
    leases: readonly LeaseId[],
    ttlMs: number,
  ): Promise<readonly { readonly leaseId: LeaseId; readonly lifeMs: number }[]>
  /** One group commit. Call ids that grow with time (UUID version 7) halve its cost: the indexes grow at their end. */
  flush(batch: FlushBatch): Promise<FlushResult>
  /**
   * Posts a transfer outside a call. The same (kind, ref) with other content throws `ReplayConflict`; more than a wallet
   * has free throws `Overdrawn`. A refund's ref is the call's id, or `<call id>:<n>` for a further one; together they
   * never exceed the call's charge, and they count back against the caps in the call's month.
   */
  post(transfer: Transfer): Promise<'posted' | 'replayed'>
  /** Expired leases: fences them and frees what no durable intent covers; after `longestCallMs`, charges orphans their last checkpoint. */
  reap(bounds: {
    graceMs: number
    longestCallMs: number
  }): Promise<{ quarantined: number; closed: number; recovered: number }>
  /** Checks every law of the books; `sums` leaves out what reads the detail of each call. */
  audit(what?: 'all' | 'sums'): Promise<readonly AuditRow[]>
}

export type AuditRow = { readonly check: string; readonly ok: boolean; readonly detail?: string }

export type Beat = {
  /** Database time of this beat's write. */
  readonly at: Instant
  /** Keys made or changed since `seen` and in the 10 s before it (or before `at`), read after that write. */
  readonly changed: readonly Key[]
  /** Wallet rules and sub-wallets changed in the same span. */
  readonly rules: readonly KnownRules[]
  readonly subWallets: readonly SubWalletNews[]
  /** Own leases another instance waits for. */
  readonly recalled: readonly LeaseId[]
  readonly liveInstances: number
}

/** Who serves: heartbeats that prove which key changes each process has seen. */
export type InstanceStore = {
  /** One beat: writes (own statement), then reads in a newer snapshot. `seen` is the `at` of the last beat that completed. */
  beat(instance: InstanceId, seen: Instant | undefined, nudge?: string): Promise<Beat>
  /** Instances that may still admit on older knowledge than `since`: their seen beat is older and they beat within `freshMs`. */
  unaware(since: Instant, freshMs: number): Promise<readonly { id: InstanceId; nudge?: string }[]>
  leave(instance: InstanceId): Promise<void>
}

/** Requests and tokens of keys, counted in the fixed windows of the database's clock. */
export type RateStore = {
  /** Takes up to `count` of the current window of each rate, all in one transaction; answers in the order of the asks. */
  takeRates(
    keyId: KeyId,
    asks: readonly { readonly rate: RateName; readonly count: number; readonly limit: number }[],
  ): Promise<readonly { taken: number; used: number; windowStart: Instant; now: Instant }[]>
  /** Puts back what was taken and not used, if the window is still current. */
  returnRate(
    keyId: KeyId,
    back: { readonly rate: RateName; readonly windowStart: Instant; readonly count: number },
  ): Promise<void>
}

export type IdempotencyState =
  /** Run it, under this id: the proposed one, or that of the attempt it repeats, so that both collide in the ledger. */
  | { readonly state: 'first'; readonly callId: CallId }
  | { readonly state: 'running'; readonly by: InstanceId }
  | { readonly state: 'done'; readonly answer: StoredAnswer; readonly callId: CallId }
  | { readonly state: 'conflict' }

/** Calls under an Idempotency-Key; kept 24 hours. Answers are stored by `flush` with the settlement. */
export type IdempotencyStore = {
  /**
   * Claims the key, or says who has it. A claim is free again when it was released, when its lock ran out, or when its
   * instance has not beaten for 3 s; then the next attempt runs under the id of the first.
   */
  begin(entry: {
    ref: IdempotencyRef
    fingerprint: string
    callId: CallId
    instance: InstanceId
    lockMs: number
  }): Promise<IdempotencyState>
  /**
   * The call failed in a way that may be retried: the next attempt runs again, under the same id. Only who has the
   * claim can let it go: another instance may have taken it over.
   */
  release(ref: IdempotencyRef, by: InstanceId): Promise<void>
  /** Nothing came of the claim: it is as if it had never been made. */
  forget(ref: IdempotencyRef, callId: CallId, by: InstanceId): Promise<void>
}

export type StoredReceiptKey = {
  readonly number: number
  readonly kid: string
  readonly publicKey: string
  readonly sealed: string
  readonly signsFrom: Instant
  readonly createdAt: Instant
}

/** Receipts: the keys that sign them, and what they say. */
export type ReceiptStore = {
  /** All keys, oldest first. */
  receiptKeys(): Promise<readonly StoredReceiptKey[]>
  /** Adds the key that signs from `waitMs` on; answers with the key of that number, which may be another's that came first. */
  addReceiptKey(
    key: Pick<StoredReceiptKey, 'number' | 'kid' | 'publicKey' | 'sealed'>,
    waitMs: number,
  ): Promise<StoredReceiptKey>
  /** False when there is no such key. */
  removeReceiptKey(kid: string): Promise<boolean>
  /** A call that was charged, or that the house paid. */
  chargedCall(callId: CallId): Promise<ChargedCall | undefined>
}

export type Store = LedgerStore &
  TenancyStore &
  InstanceStore &
  RateStore &
  IdempotencyStore &
  FundingStore &
  ReceiptStore &
  ResponseStore &
  PaymentStore &
  SubWalletStore &
  WalletRulesStore &
  AlertStore &
  TopUpStore &
  TrialStore &
  ReferralStore &
  ReviewStore & {
    readonly engine: 'sqlite' | 'postgres'
    /** Balance of a house account or wallet by its postings. */
    balance(account: AccountId): Promise<Nano>
    /** All that was posted under a reference, such as a call's id. */
    transfersOf(ref: string): Promise<readonly Transfer[]>
    /** A trivial round trip, for /api/status. */
    ping(): Promise<void>
    close(): Promise<void>
  }

/** A replay under the same (kind, ref) with other content. */
export class ReplayConflict extends Error {}

/** A posting that would take more out of a wallet than is free in it. */
export class Overdrawn extends Error {}

/** A posting after which a wallet would hold more than any can: an amount was mistaken. */
export class TooLarge extends Error {}

/** The database could not be asked, or did not answer: the effect is unknown. */
export class StoreFault extends Error {}
