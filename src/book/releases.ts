/**
 * Leases that this process has given up. Each is released in the ledger, again and again until that is known: what an
 * answer that was lost had lent on it, nobody else would return. None of them is taken from any more.
 */
import type { Clock } from '../core/time.ts'
import type { InstanceId, LeaseId } from '../ledger/types.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'

/** An answer that was sent before the release has arrived after this time, or never will. */
const LATE_MS = 10_000

type ReleasesParts = {
  readonly store: Pick<LedgerStore, 'release'>
  readonly clock: Clock
  readonly instance: InstanceId
}

export class Releases {
  readonly #parts: ReleasesParts
  /** Whether the release is under way or has failed; else when it was known. */
  readonly #state = new Map<LeaseId, 'asked' | 'failed' | number>()

  constructor(parts: ReleasesParts) {
    this.#parts = parts
  }

  has(lease: LeaseId): boolean {
    return this.#state.has(lease)
  }

  /** Releases them; resolves when the outcome is known or unknown. */
  async add(leases: readonly LeaseId[]): Promise<void> {
    if (leases.length === 0) return
    const { store, clock, instance } = this.#parts
    const become = (state: 'asked' | 'failed' | number) => {
      for (const id of leases) this.#state.set(id, state)
    }
    become('asked')
    await store.release(instance, leases).then(
      () => become(clock.monotonicMs()),
      () => become('failed'),
    )
  }

  /** Releases again what has failed, and forgets what is long known. Called with each heartbeat. */
  look(): void {
    const before = this.#parts.clock.monotonicMs() - LATE_MS
    const failed: LeaseId[] = []
    for (const [id, state] of this.#state) {
      if (state === 'failed') failed.push(id)
      else if (state !== 'asked' && state < before) this.#state.delete(id)
    }
    void this.add(failed)
  }
}
