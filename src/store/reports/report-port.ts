/** The store's port for the console's reports: keys with what they spent, calls, use, movements of money. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { UsageDetail } from '../../ledger/types.ts'
import type { Key, KeyId, WalletId } from '../../tenancy/key.ts'

/** A key with its counters. `spent` counts keys below it, as its caps do. */
export type KeyLine = {
  readonly key: Key
  readonly spent: Nano
  readonly spentThisMonth: Nano
  readonly requests: number
  /** The last charge of the key itself. */
  readonly lastUsed?: Instant
  /** The e-mail address of who made it in the console. */
  readonly madeBy?: string
  readonly reference?: string
  /** The first of the keys that took each other's place, where it is not that: of a tenant, its id. */
  readonly tenantId?: KeyId
}

/** A key beside another one, as people know it. */
export type KeyAround = { readonly id: KeyId; readonly prefix: string }

type KeyAroundQuery = {
  readonly orgId: string
  readonly id: KeyId
  /** The first of the keys that took each other's place. */
  readonly first: KeyId
  /** Only those that this person made. */
  readonly madeBy?: string
}

export type KeyLineQuery = {
  /** Everybody's where it is absent, those of trials too: for operators. */
  readonly orgId?: string
  /** Also those that were deleted. */
  readonly deleted?: boolean
  /** Only keys below another one (`tenants`), only those that are not (`own`). */
  readonly which: 'own' | 'tenants' | 'all'
  /** Only those that this person made. */
  readonly madeBy?: string
  /** Part of a label or reference, or the start of an id or prefix. */
  readonly search?: string
  readonly id?: KeyId
  /** Only those that a cap has stopped, or nearly has. */
  readonly nearCap?: boolean
  readonly after?: KeyId
  readonly most: number
}

/** What a report is about: the calls of an organisation, or of one person's or one key's. */
export type Scope = {
  /** Everybody's where it is absent: for operators. */
  readonly orgId?: string
  readonly madeBy?: string
  readonly keyId?: KeyId
  /** Only those of keys below others. */
  readonly tenants?: boolean
  /** Only those of the keys of one tenant, and of keys below them. */
  readonly tenant?: KeyId
}

export type CallLine = {
  readonly id: string
  readonly at: Instant
  readonly keyId: KeyId
  readonly label: string
  readonly prefix: string
  readonly amount: Nano
  /** What was given back of it. */
  readonly refunded: Nano
  /** Absent for calls that recovery charged, and where it was deleted. */
  readonly detail?: UsageDetail
}

export type CallQuery = Scope & {
  /** Only calls before this one, by its id. */
  readonly before?: string
  readonly id?: string
  readonly most: number
}

export const usageGroups = ['hour', 'day', 'month', 'key', 'model', 'vendor', 'status'] as const
export type UsageGroup = (typeof usageGroups)[number]

type UsageFilter = { readonly model?: string; readonly vendor?: string; readonly status?: string }

export type ReportQuery = Scope & {
  /** Whole hours; with keys in it, or with `madeBy`, `keyId` or tenants, whole UTC days. */
  readonly from: Instant
  readonly to: Instant
  readonly groupBy: readonly UsageGroup[]
  readonly only: UsageFilter
  readonly most: number
  /** Without labels and references, and in no order: for who has the names. */
  readonly bare?: true
}

export type Counted = {
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly amount: Nano
}

export type ReportLine = Counted & {
  /** By group: an instant for the times, else a name or id. */
  readonly groups: Readonly<Partial<Record<UsageGroup, string>>>
  readonly label?: string
  readonly reference?: string
}

export type Movement = {
  readonly at: Instant
  readonly kind: string
  readonly ref: string
  readonly note?: string
  /** Negative where money left the wallet. */
  readonly amount: Nano
  /** Of the wallet after it; calls of a UTC day are one movement, after all others of that day. */
  readonly balance: Nano
  /** Where the movements before it begin. */
  readonly next: MovementPlace
}

/** A place in the movements of a wallet, with the balance before the movement that stands there. */
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
  /** Held by open calls. */
  readonly held: Nano
  /** Charges less refunds of the organisation since the query's `from`. */
  readonly spent: Nano
  readonly members: number
  readonly keys: number
  readonly creditLimit?: Nano
  /** Why the operator has suspended it. */
  readonly suspended?: string
}

export type AccountQuery = {
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
  /** Its last heartbeat; 0 of one that has left and still holds leases. */
  readonly beatAt: Instant
  readonly leases: number
  /** What is lent to it and not used yet. */
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
  /** Given to both sides of referrals. */
  readonly referred: Nano
}

export type ReportStore = {
  /** Newest first. */
  keys(query: KeyLineQuery): Promise<readonly KeyLine[]>
  /** The keys right before and after a key, of those that took each other's place by rotation. */
  keysAround(
    query: KeyAroundQuery,
  ): Promise<{ readonly replaces?: KeyAround; readonly replacedBy?: KeyAround }>
  /** By when they were charged, newest first. */
  calls(query: CallQuery): Promise<readonly CallLine[]>
  /** Equal to the ledger to the nano-dollar, whatever is rolled up. */
  usage(query: ReportQuery): Promise<readonly ReportLine[]>
  /** The same, with the sum of all groups, also of those that `most` leaves out. */
  usageAndTotal(
    query: ReportQuery,
  ): Promise<{ readonly rows: readonly ReportLine[]; readonly total: Counted }>
  /** By a time, of the `most` keys that cost most in the span, and of all keys; those of all have an empty key. Of one moment. */
  usageTop(
    query: Omit<ReportQuery, 'groupBy' | 'bare'> & { readonly slot: 'day' | 'month' },
  ): Promise<{ readonly keys: readonly ReportLine[]; readonly all: readonly ReportLine[] }>
  /** Newest first. Calls are summed by UTC day; the balance is what all postings come to. */
  movements(query: MovementQuery): Promise<MovementPage>
  /** By name. */
  accounts(query: AccountQuery): Promise<readonly AccountLine[]>
  processes(): Promise<readonly ProcessLine[]>
  gifts(): Promise<GiftLine>
  /** The wallets of an organisation, oldest first. */
  walletsOf(orgId: string): Promise<readonly WalletId[]>
  /** Sums the hours that are over into the roll-ups; tells the time up to which it is done. */
  rollUp(): Promise<Instant>
  /** Forgets all sums, so that the next `rollUp` makes them anew. */
  forgetRollUps(): Promise<void>
}
