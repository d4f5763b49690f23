/**
 * The store's port: everything that is durable, as its users need it. Two engines (SQLite, PostgreSQL) run the same
 * statements; the rules are written once.
 *
 * Promises every engine keeps: each method is one serialisable transaction; when it resolves, its effect is on disk
 * (except `beat` and `takeRate`, which may be lost in a crash and err on the safe side); when it rejects, the effect is
 * unknown and the call may be repeated word for word.
 */
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type {
  AccountId,
  CallId,
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
import type { DisabledReason, Key, KeyId, Limits, WalletId } from '../tenancy/key.ts'

/** Money under way: leases, holds, settlement. */
export type LedgerStore = {
  grant(ask: GrantAsk): Promise<Granted | GrantRefused>
  /**
   * Returns unused room. Memory subtracts it before asking; an unknown outcome counts as returned, so this is the one
   * method that is never repeated. Room that open calls hold must not be returned.
   */
  giveBack(lease: LeaseId, back: Nano): Promise<void>
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
  audit(): Promise<readonly AuditRow[]>
}

export type AuditRow = { readonly check: string; readonly ok: boolean; readonly detail?: string }

export type NewKey = {
  readonly id: KeyId
  /** HMAC-SHA-256 of the whole token under the server secret, in hex. */
  readonly hash: string
  readonly orgId: string
  readonly walletId: WalletId
  readonly parentId?: KeyId
  readonly subBudget?: string
  readonly label: string
  readonly prefix: string
  readonly limits: Limits
}

/** Tri-state: absent leaves a limit, null removes it. */
export type KeyChange = {
  readonly spendCap?: Nano | null
  readonly monthlyCap?: Nano | null
  readonly rpm?: number | null
  readonly stopAt?: Nano | null
  /** null enables. */
  readonly disabledReason?: DisabledReason | null
  readonly label?: string
  /** When the creator (operator or reseller) changes limits, what it granted changes with them. */
  readonly byCreator: boolean
}

/** What a key has spent and holds. `spent` counts the key's own calls and those of its descendants, as its caps do. */
export type KeySpend = {
  readonly spent: Nano
  readonly spentThisMonth: Nano
  readonly held: Nano
  readonly requests: number
}

export type Wallet = {
  readonly id: WalletId
  readonly orgId: string
  readonly name: string
  /** Postings so far. */
  readonly balance: Nano
  /** Held by open calls (not by idle leases). */
  readonly held: Nano
}

export type UsageRow = {
  readonly day?: string
  readonly model?: string
  readonly keyId?: KeyId
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: Nano
}

export type UsageQuery = {
  readonly keyIds: readonly KeyId[]
  readonly from: Instant
  readonly to: Instant
  readonly groupBy: readonly ('day' | 'model' | 'key')[]
}

/** Keys, wallets and reports: the control plane. */
export type TenancyStore = {
  /** Makes an organisation with an empty wallet; returns the wallet. Repeating it returns the same wallet. */
  createWallet(wallet: { id: WalletId; orgId: string; name: string }): Promise<Wallet>
  wallet(id: WalletId): Promise<Wallet | undefined>
  wallets(): Promise<readonly Wallet[]>
  createKey(key: NewKey): Promise<Key>
  /** Also finds a deleted key, which says so: its version then fences caches. */
  keyByHash(hash: string): Promise<Key | undefined>
  key(id: KeyId): Promise<Key | undefined>
  /** All keys, or the direct children of one, newest first; at most 1 000. */
  keys(of?: { parentId: KeyId }): Promise<readonly Key[]>
  /** Commits the change and returns the key with the database time after the commit, for the wait of revocation. */
  changeKey(id: KeyId, change: KeyChange): Promise<{ key: Key; at: Instant } | undefined>
  deleteKey(id: KeyId): Promise<{ at: Instant } | undefined>
  spend(id: KeyId): Promise<KeySpend>
  /** Makes or changes a sub-wallet: a ceiling on its wallet's money. */
  setSubBudget(id: string, walletId: WalletId, limit: Nano | null): Promise<void>
  usage(query: UsageQuery): Promise<readonly UsageRow[]>
  /** A value made once per database, such as the secret that hashes keys; the first writer wins and all read the same. */
  setting(name: string, make: () => string): Promise<string>
}

export type Beat = {
  /** Database time of this beat's write. */
  readonly at: Instant
  /** Keys made or changed since `seen` and in the 10 s before it (or before `at`), read after that write. */
  readonly changed: readonly Key[]
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

/** Requests per minute, counted in the fixed windows of the database's clock. */
export type RateStore = {
  /** Takes up to `count` requests of the current window of `keyId`. */
  takeRate(
    keyId: KeyId,
    count: number,
    limit: number,
  ): Promise<{ taken: number; used: number; windowStart: Instant; now: Instant }>
  /** Puts back what was taken and not used, if the window is still current. */
  returnRate(keyId: KeyId, windowStart: Instant, count: number): Promise<void>
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
  /** The call failed in a way that may be retried: the next attempt runs again. */
  release(ref: IdempotencyRef): Promise<void>
}

export type Store = LedgerStore &
  TenancyStore &
  InstanceStore &
  RateStore &
  IdempotencyStore & {
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

/** The database could not be asked, or did not answer: the effect is unknown. */
export class StoreFault extends Error {}
