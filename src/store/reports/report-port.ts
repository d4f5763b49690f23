/** The store's port for the console's reports: keys with what they spent, calls, use, movements of money. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { Key, KeyId, WalletId } from '../../tenancy/key.ts'
import type { Spent } from '../../tenancy/limits.ts'
import type { TagFilter } from '../../tenancy/tags.ts'
import type { BatchLine, BatchQuery } from './batch-lines.ts'
import type { CallPage, CallQuery, FailureLine, FailureQuery, Scope } from './call-port.ts'

/** A key with its counters. `spent` counts keys below it, as its caps do. */
export type KeyLine = Spent & {
  /** How much of it is what vendors bill the organisation for its own keys, by their list prices. */
  readonly estimated: Spent
  readonly key: Key
  readonly requests: number
  /** The last charge of the key itself. */
  readonly lastUsed?: Instant
  /** The e-mail address of the person who made it in the console. */
  readonly madeBy?: string
  readonly reference?: string
  /**
   * The first key of its chain of rotations, if it is not that key itself. A tenant is identified by that first key.
   */
  readonly tenantId?: KeyId
}

/** A key related to another one, as people know it. */
type KeyAround = { readonly id: KeyId; readonly prefix: string }

type KeyAroundQuery = {
  readonly orgId: string
  readonly id: KeyId
  /** The first key of the chain of rotations. */
  readonly first: KeyId
  /** Only keys that this person made, or of teams that they lead. */
  readonly madeBy?: string
  readonly leads?: readonly string[]
}

export type KeyLineQuery = {
  /** Of these organisations; `all` has those of trials too. Required, so that nobody reads others' keys by forgetting it. */
  readonly orgs: readonly string[] | 'all'
  /** Only keys below this one, at any depth. */
  readonly below?: KeyId
  /** Deleted keys too. */
  readonly deleted?: boolean
  /** Only keys below another one (`tenants`), or only keys that are not (`own`). */
  readonly which: 'own' | 'tenants' | 'all'
  /** Only keys that this person made, or of teams that they lead. */
  readonly madeBy?: string
  readonly leads?: readonly string[]
  /** Only keys of this team. */
  readonly team?: string
  /** Part of a label or reference, or the start of an id or prefix. */
  readonly search?: string
  readonly id?: KeyId
  /** Only keys that a cap has stopped, or nearly has. */
  readonly nearCap?: boolean
  readonly after?: KeyId
  readonly most: number
}

export const usageGroups = [
  'hour',
  'day',
  'month',
  'model',
  'key',
  'vendor',
  'status',
  'sub_wallet',
  'payment_mode',
  'tag',
] as const
export type UsageGroup = (typeof usageGroups)[number]

type UsageFilter = {
  readonly model?: string
  readonly vendor?: string
  readonly status?: string
  readonly tag?: TagFilter
}

export type ReportQuery = Scope & {
  /** Where details are deleted, whole UTC days count. */
  readonly from: Instant
  readonly to: Instant
  readonly groupBy: readonly UsageGroup[]
  readonly only: UsageFilter
  readonly most: number
  /** The highest cost first, and not in the order of the groups. */
  readonly byCost?: boolean
  /** Without labels and references, and in no order, for callers who have the names. */
  readonly bare?: true
}

export type Counted = {
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Of the input tokens, those that vendors read from their caches, and those that they wrote there and billed as such. */
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  /** What the caches saved; negative if writing to them cost more. */
  readonly cacheSaved: Nano
  readonly amount: Nano
}

export const nothingCounted: Counted = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheSaved: 0n,
  amount: 0n,
}

export type ReportLine = Counted & {
  /** By group: an instant for times, else a name or id; the empty sub-wallet stands for none. */
  readonly groups: Readonly<Partial<Record<UsageGroup, string>>>
  /** Of the key. */
  readonly label?: string
  readonly parent?: KeyId
  readonly deleted?: boolean
  readonly reference?: string
  readonly subLabel?: string
}

export type Movement = {
  readonly at: Instant
  readonly kind: string
  readonly ref: string
  readonly note?: string
  /** Negative if money left the wallet. */
  readonly amount: Nano
  /** The balance after it; calls of a UTC day are one movement, after all others of that day. */
  readonly balance: Nano
  /** Where the movements before it begin. */
  readonly next: MovementPlace
}

/** A place in the movements of a wallet, with the balance before the movement at that place. */
export type MovementPlace = {
  readonly place: Instant
  readonly kind: string
  readonly ref: string
  readonly balance: Nano
}

export type MovementQuery = {
  readonly walletId: WalletId
  /** Only movements before this place. */
  readonly before?: MovementPlace
  readonly most: number
}

export type MovementPage = { readonly data: readonly Movement[]; readonly hasMore: boolean }

/** An organisation's wallet as operators see it. */
export type AccountLine = {
  readonly orgId: string
  readonly walletId: WalletId
  readonly name: string
  readonly balance: Nano
  /** What open calls hold. */
  readonly held: Nano
  /** Charges less refunds of the organisation since the query's `from`. */
  readonly spent: Nano
  readonly members: number
  readonly keys: number
  readonly creditLimit?: Nano
  /** Days to pay an invoice of the credit line. */
  readonly netDays?: number
  /** Why the operator has suspended it. */
  readonly suspended?: string
}

export type AccountQuery = {
  /** Whose, or everybody's. */
  readonly orgs: readonly string[] | 'all'
  /** Part of a name, an id, or a member's e-mail address. */
  readonly search?: string
  readonly walletId?: WalletId
  readonly after?: WalletId
  /** A whole hour. */
  readonly from: Instant
  readonly most: number
}

/** A process that serves. */
export type ProcessLine = {
  readonly id: string
  /** Its last heartbeat; 0 if it has left and still holds leases. */
  readonly beatAt: Instant
  readonly leases: number
  /** What it has borrowed and not used yet. */
  readonly lent: Nano
  readonly openCalls: number
  readonly held: Nano
}

/** Trials and referrals altogether. */
export type GiftLine = {
  readonly trials: number
  readonly activeTrials: number
  /** Given to trials in this UTC day. */
  readonly trialsToday: Nano
  readonly codes: number
  readonly referrals: number
  /** What both sides of referrals got. */
  readonly referred: Nano
}

export type ReportStore = {
  /** Newest first. */
  keys(query: KeyLineQuery): Promise<readonly KeyLine[]>
  /** The keys directly before and after a key in its chain of rotations. */
  keysAround(
    query: KeyAroundQuery,
  ): Promise<{ readonly replaces?: KeyAround; readonly replacedBy?: KeyAround }>
  /** Charged, refused and failed calls. */
  calls(query: CallQuery): Promise<CallPage>
  /** How many keys calls of this scope can be of: a look at calls costs a step for each. */
  keysIn(scope: Scope): Promise<number>
  /** Those that have begun, newest first. */
  batches(query: BatchQuery): Promise<readonly BatchLine[]>
  /** The most first. Exact, also where rows were not kept. */
  failures(query: FailureQuery): Promise<readonly FailureLine[]>
  /** Equal to the ledger to the nano-dollar, however much is rolled up. */
  usage(query: ReportQuery): Promise<readonly ReportLine[]>
  /** The same, with the sum of all groups, including those that `most` leaves out. */
  usageAndTotal(
    query: ReportQuery,
  ): Promise<{ readonly rows: readonly ReportLine[]; readonly total: Counted }>
  /**
   * By time, for the `most` keys with the highest cost in the span, and for all other keys together as rows with an empty
   * key. All as of one moment.
   */
  usageTop(
    query: Omit<ReportQuery, 'groupBy' | 'bare' | 'byCost'> & { readonly slot: 'hour' | 'day' | 'month' },
  ): Promise<{ readonly rows: readonly ReportLine[]; readonly total: Counted }>
  /** Newest first. Calls are summed by UTC day; the balance is the sum of all postings. */
  movements(query: MovementQuery): Promise<MovementPage>
  /** By name. */
  accounts(query: AccountQuery): Promise<readonly AccountLine[]>
  processes(): Promise<readonly ProcessLine[]>
  gifts(): Promise<GiftLine>
  /** The wallets of an organisation, oldest first. */
  walletsOf(orgId: string): Promise<readonly WalletId[]>
  /** Adds past hours to the roll-ups; returns the time up to which they are complete. */
  rollUp(): Promise<Instant>
  /** How far the replica is behind, as ReplicaLag says; undefined if that is not known, or there is none. */
  replicaLagMs(): Promise<number | undefined>
  /** Discards all sums, so that the next `rollUp` makes them again. */
  forgetRollUps(): Promise<void>
}
