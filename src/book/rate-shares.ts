/** The shares of rates that a process has, by name, and those that ended without the store surely knowing. */
import type { InstanceId } from '../ledger/types.ts'
import type { RateStore } from '../store/calls/rate-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { RateName } from '../tenancy/rates.ts'

/** So many shares a process has at most. */
const SHARES_MOST = 20_000

type SharesParts = {
  readonly store: Pick<RateStore, 'returnRate'>
  readonly instance: InstanceId
  readonly draining: () => boolean
}

type Ended = { readonly keyId: KeyId; readonly rate: RateName; readonly share: string }

/** Those of one process. `Holder` is what spends from them. */
export class Shares<Holder> {
  readonly #parts: SharesParts
  readonly #holders = new Map<string, Holder>()
  #ended: Ended[] = []
  #serial = 0
  /** Whether all processes know shares. */
  allKnow = false

  constructor(parts: SharesParts) {
    this.#parts = parts
  }

  get may(): boolean {
    return this.allKnow && this.#holders.size < SHARES_MOST && !this.#parts.draining()
  }

  newName(): string {
    return `${this.#parts.instance}:${++this.#serial}`
  }

  add(name: string, holder: Holder): void {
    this.#holders.set(name, holder)
  }

  remove(name: string): void {
    this.#holders.delete(name)
  }

  of(name: string): Holder | undefined {
    return this.#holders.get(name)
  }

  /** All keys that have any. */
  all(): ReadonlySet<Holder> {
    return new Set(this.#holders.values())
  }

  /** Its answer was lost: the store is told again. */
  tellAgain(ended: Ended): void {
    this.#ended.push(ended)
  }

  /** Tells the store what it may not know. */
  tell(): void {
    const due = this.#ended
    this.#ended = []
    for (const one of due)
      void this.#parts.store
        .returnRate(one.keyId, { rate: one.rate, windowStart: 0, count: 0, share: one.share })
        .catch(() => this.tellAgain(one))
  }
}
