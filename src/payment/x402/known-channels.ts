/**
 * The channels that this process charged last, so that their next vouchers need no question. The ledger takes a voucher only where
 * its channel stands, so what is remembered saves that question and decides nothing.
 */
import type { Nano } from '../../core/money.ts'
import type { Channel } from '../../store/payments/channel-port.ts'

/** Channels that are remembered, of about 1 kB each. */
const KNOWN_MOST = 10_000

/** A channel as the ledger had it last, and until when what its chain showed of it counts. */
export type KnownChannel = { readonly channel: Channel; readonly untilMs: number }

export class KnownChannels {
  readonly nowMs: () => number
  readonly #known = new Map<string, KnownChannel>()
  /** Those with a call whose voucher is on its way to the ledger. */
  readonly #opening = new Set<string>()

  constructor(nowMs: () => number) {
    this.nowMs = nowMs
  }

  /** The channel, for one call, if it stands where this voucher begins. From then on nobody has it, until `opened`. */
  take(id: string, begins: Nano, most: Nano): KnownChannel | undefined {
    const known = this.#known.get(id)
    if (known === undefined || known.channel.charged !== begins || known.channel.balance < most)
      return undefined
    if (known.untilMs <= this.nowMs()) return undefined
    this.#known.delete(id)
    this.#opening.add(id)
    return known
  }

  /** From now on the ledger is asked for it: false while a voucher is on its way there, whose call another one would waste. */
  leave(id: string): boolean {
    this.#known.delete(id)
    return !this.#opening.has(id)
  }

  /** The call's voucher is in the ledger, or will not be. */
  opened(id: string): void {
    this.#opening.delete(id)
  }

  /** The channel was charged with a call, and stands there now. */
  charged(it: KnownChannel): void {
    const [oldest] = this.#known.keys()
    if (this.#known.size >= KNOWN_MOST && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(it.channel.id, it)
  }
}
