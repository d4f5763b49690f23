/** The store's port for the processes that serve. */
import type { Instant } from '../../core/time.ts'
import type { InstanceId, LeaseId } from '../../ledger/types.ts'
import type { Key } from '../../tenancy/key.ts'
import type { KnownRules } from '../../tenancy/wallet-rules.ts'
import type { SubWalletNews } from '../accounts/sub-wallet-port.ts'

export type Beat = {
  /** Database time of this heartbeat's write. */
  readonly at: Instant
  /** That of the instance's heartbeat before, 0 if the ledger has none; undefined where none can get lost. */
  readonly before: Instant | undefined
  /** Names the database server that answered; undefined where there can be no other. */
  readonly server: string | undefined
  /** Keys made or changed since `seen` and in the 10 s before it (or before `at`), read after that write. */
  readonly changed: readonly Key[]
  /** Wallet rules and sub-wallets changed in the same span. */
  readonly rules: readonly KnownRules[]
  readonly subWallets: readonly SubWalletNews[]
  /** The instance's own leases that others wait for. */
  readonly recalled: readonly LeaseId[]
  /** The names of its own shares of rates that others wait for. */
  readonly recalledShares: readonly string[]
  readonly liveInstances: number
  /** Whether all of these keep leases; a process of a former version ends leases that live for long. */
  readonly allKeep: boolean
  /** Whether all of these know shares of rates. */
  readonly allShare: boolean
}

/** The processes that serve: heartbeats that prove which key changes each process has seen. */
export type InstanceStore = {
  /**
   * One heartbeat: writes (in its own statement), then reads in a newer snapshot. `seen` is the `at` of the last
   * heartbeat that completed.
   */
  beat(instance: InstanceId, seen: Instant | undefined, nudge?: string): Promise<Beat>
  /**
   * Instances that may still admit on knowledge older than `since`: the beat they have seen is older, and they sent one
   * within `freshMs`.
   */
  unaware(since: Instant, freshMs: number): Promise<readonly { id: InstanceId; nudge?: string }[]>
  leave(instance: InstanceId): Promise<void>
}
