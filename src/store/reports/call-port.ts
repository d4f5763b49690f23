/** Calls as reports ask for them: which ones, and what is told of each. */
import type { Nano } from '../../core/money.ts'
import type { Instant, Month } from '../../core/time.ts'
import type { CallId, UsageDetail } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { TagFilter } from '../../tenancy/tags.ts'
import type { Failure } from '../calls/failure-port.ts'

/** What a report is about: the calls of organisations, or of one person's or some keys'. */
export type Scope = {
  /** Of these organisations. Required, so that nobody reads others' calls by forgetting it. */
  readonly orgs: readonly string[] | 'all'
  /** It is only looked at, so a replica may answer, which lags a little. */
  readonly mayLag?: true
  /** Only calls of keys that this person made, or of keys of teams that they lead. */
  readonly madeBy?: string
  readonly leads?: readonly string[]
  /** Only calls of keys of this team, as they are now. */
  readonly team?: string
  readonly keyId?: KeyId
  /** Only calls of this key and of all below it. */
  readonly tree?: KeyId
  /** Only calls of keys below others. */
  readonly tenants?: boolean
  /** Only calls of one tenant's keys, and of keys below them. */
  readonly tenant?: KeyId
}

export type CallLine = {
  readonly id: string
  readonly at: Instant
  readonly keyId: KeyId
  readonly label: string
  readonly prefix: string
  readonly amount: Nano
  /** How much of it was given back. */
  readonly refunded: Nano
  /** The month that its charge counts in. */
  readonly month?: Month
  /** Absent for calls that recovery charged, if it was deleted, and for calls that were not charged. */
  readonly detail?: UsageDetail
  /** How it failed, if it was not charged. */
  readonly failure?: Omit<Failure, 'id' | 'keyId' | 'at'>
}

/** Where a call is among others, for the page after it. */
export type CallPlace = { readonly at: Instant; readonly id: CallId }

export type CallFilter = {
  readonly model?: string | undefined
  readonly vendor?: string | undefined
  /** How it ended; `not_ok` is everything but `ok`. */
  readonly status?: string | undefined
  /** The error code or HTTP status of a call that failed. */
  readonly code?: string | undefined
  /** Only calls for which a vendor was asked. */
  readonly asked?: true
  readonly costFrom?: Nano | undefined
  readonly costTo?: Nano | undefined
  readonly tag?: TagFilter | undefined
}

export type CallQuery = Scope & {
  /** Only calls before this place, or before the call with this id. */
  readonly before?: CallPlace | CallId
  readonly id?: CallId
  /** Only calls of this batch's lines. */
  readonly batch?: string
  /** Charged, or failed, from then on and before then. */
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
  readonly only?: CallFilter
  readonly most: number
  /** The newest by when they began rather than ended, for organisations with many keys: the newest of all are looked through first. */
  readonly byStart?: boolean
  /** How long to look for calls that the filter takes; a first look is always made. */
  readonly searchMs?: number
}

/** How often calls of a key were refused or failed with a code. */
export type FailureLine = {
  readonly keyId: KeyId
  readonly label: string
  readonly code: string
  readonly calls: number
}

export type FailureQuery = Scope & {
  /** By whole UTC days. */
  readonly from: Instant
  readonly codes?: readonly string[]
  readonly most: number
}

/** Calls, newest first, and where those before them begin: older ones may fit even if these are fewer than asked for. */
export type CallPage = { readonly lines: readonly CallLine[]; readonly next?: CallPlace }
