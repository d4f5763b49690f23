/** Waits for money to come back: from leases of other processes, or from open calls of any process. */
import type { Clock } from '../core/time.ts'

/** How long a waiting call waits before it asks the ledger again. It is random, so that not all ask at once. */
const LOOK_AGAIN_MS = 40
const LOOK_AGAIN_AFTER_MS = 160

export class Waits {
  readonly #clock: Clock
  readonly #random: () => number
  #waiting = 0
  #freed = Promise.withResolvers<void>()

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  /** Until other processes may have given back what the ledger recalled. */
  forRecall(): Promise<void> {
    return this.#clock.sleep(LOOK_AGAIN_MS * (1 + this.#random()))
  }

  /** Until a hold of this process ended, or it is time to ask again. */
  async forHolds(): Promise<void> {
    this.#waiting++
    try {
      const again = this.#clock.sleep(LOOK_AGAIN_MS + LOOK_AGAIN_AFTER_MS * this.#random())
      await Promise.race([this.#freed.promise, again])
    } finally {
      this.#waiting--
    }
  }

  /** A hold has ended: calls that wait for its money look again. */
  holdEnded(): void {
    if (this.#waiting === 0) return
    this.#freed.resolve()
    this.#freed = Promise.withResolvers()
  }
}
