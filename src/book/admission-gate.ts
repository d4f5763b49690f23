/** The gate of admission: whether this process may admit a call now, or let an admitted one continue. */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import { isEnabled, isKnown, type Key, type KeyId } from '../tenancy/key.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { LeaseRequest } from './lease.ts'
import type { OperationQueue } from './operation-queue.ts'

/**
 * A bound on memory. It is above what all open calls of a process queue at once; we notice a slow ledger by the age of
 * the queue.
 */
const QUEUE_MAX = 20_000
const QUEUE_AGE_MAX_MS = 1_000
const STALE_WAITS = 3
/** A call that finds our knowledge too old gets its answer within this time. */
const STALE_WAIT_MS = 1_500

type GateParts = {
  readonly clock: Clock
  readonly keys: { readonly get: (id: KeyId) => Key | undefined }
  readonly heartbeat: Pick<Heartbeat, 'away' | 'fresh' | 'beatNow'>
  readonly queue: Pick<OperationQueue, 'length' | 'oldestMs'>
}

export class AdmissionGate {
  readonly #parts: GateParts
  #draining = false

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  get draining(): boolean {
    return this.#draining
  }

  /** From now on only calls that were already admitted continue. */
  close(): void {
    this.#draining = true
  }

  /** Why no new call is admitted; undefined when calls are admitted. */
  refusesNew(): Refusal | undefined {
    return this.#refuses(false)
  }

  /**
   * The last check before money is held for a call: by what is known now, not by what was known when the call arrived.
   */
  stillRefused({ keyId, alreadyHeld }: LeaseRequest): Refusal | undefined {
    const { keys, clock } = this.#parts
    const key = keys.get(keyId)
    const now = clock.now()
    if (key === undefined || !isKnown(key, now)) return unknownKey()
    const admitted = alreadyHeld !== undefined
    return this.#refuses(admitted) ?? (isEnabled(key, monthOf(now), admitted) ? undefined : disabledKey(key))
  }

  /** Knowledge that is merely late is fetched. If the ledger does not answer, the call is refused; at once if it is away. */
  async untilFresh(): Promise<void> {
    if (!this.#parts.heartbeat.away())
      await Promise.race([this.#beatUntilFresh(), this.#parts.clock.sleep(STALE_WAIT_MS)])
  }

  /** Shutdown and overload only affect new calls; admitted ones continue. */
  #refuses(admitted: boolean): Refusal | undefined {
    const { clock, heartbeat, queue } = this.#parts
    if (this.#draining && !admitted) return unavailable('The server is shutting down.')
    const nowMs = clock.monotonicMs()
    if (!heartbeat.fresh(nowMs)) return unavailable('The server has lost touch with the ledger.')
    if (admitted) return undefined
    if (queue.length > QUEUE_MAX || nowMs - (queue.oldestMs ?? nowMs) > QUEUE_AGE_MAX_MS)
      return unavailable('The ledger is overloaded.')
    return undefined
  }

  async #beatUntilFresh(): Promise<void> {
    const { heartbeat } = this.#parts
    for (let waits = 0; !heartbeat.fresh() && waits < STALE_WAITS; waits++) await heartbeat.beatNow()
  }
}
