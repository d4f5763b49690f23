/** The journal of outcomes: calls of known keys that were refused or failed. None of them was charged; never any content. */
import type { Instant } from '../../core/time.ts'
import type { CallId, FailedTry } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Tags } from '../../tenancy/tags.ts'

/** What is told of a failed call beside its columns. */
export type FailureDetail = {
  readonly tookMs: number
  readonly firstByteMs?: number
  /** The address in the route table. */
  readonly endpoint?: string
  /** The limit that bound, and whether it is the key's own or that of a key above it. */
  readonly limit?: string
  readonly owner?: 'key' | 'parent'
  /** The field that was at fault. */
  readonly param?: string
  readonly tries?: readonly FailedTry[]
  /** What it was for. */
  readonly tags?: Tags
  /** What guardrails found in it, and did. */
  readonly guardrails?: Tags
}

export type Failure = {
  readonly id: CallId
  readonly keyId: KeyId
  readonly at: Instant
  readonly model?: string
  /** The last vendor that was asked; absent if none was. */
  readonly vendor?: string
  readonly code: string
  readonly status: number
  readonly detail: FailureDetail
}

/** How many calls of a key failed with a code. */
type FailureCount = { readonly keyId: KeyId; readonly code: string; readonly calls: number }

export type FailureStore = {
  /**
   * Counts failed calls of a UTC day, and stores rows of them: at most so many for each key and code of that day. May be
   * lost in a crash. Returns those whose rows are used up. Keys that were deleted leave nothing.
   */
  noteFailures(
    it: {
      readonly day: Instant
      readonly counts: readonly FailureCount[]
      readonly rows: readonly Failure[]
    },
    most: number,
  ): Promise<readonly Pick<FailureCount, 'keyId' | 'code'>[]>
}
