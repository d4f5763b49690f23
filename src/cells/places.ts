/** The gateways of the cells as they are now: whose turn it is, and which of them rest. */
import type { Cell, CellAddress } from './directory.ts'

/** How long an address rests after a connection to it was refused; whoever looks at it prolongs that. */
const REST_MS = 1_000

/** One address. It outlives the directory that names it, so that a change of the file forgets nothing. */
export type Place = {
  readonly url: string
  /** It grows by the weight with each choice, and the largest one is chosen: so calls alternate in proportion. */
  turn: number
  /** It gets calls only if no other of its cell is ready: it drains, or its ledger is away. */
  late: boolean
  /** Until then, in monotonic time, it gets none. */
  restsUntilMs: number
}

export class Places {
  readonly #places = new Map<string, Place>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** The state of an address; a new one takes calls. */
  at({ url }: Pick<CellAddress, 'url'>): Place {
    let place = this.#places.get(url)
    if (place === undefined) {
      place = { url, turn: 0, late: false, restsUntilMs: 0 }
      this.#places.set(url, place)
    }
    return place
  }

  /** The address for the next call to a cell, a ready one before a late one. Undefined if all rest. */
  choose({ addresses }: Cell): Place | undefined {
    return this.#next(addresses, false) ?? this.#next(addresses, true)
  }

  #next(addresses: readonly CellAddress[], late: boolean): Place | undefined {
    const nowMs = this.#nowMs()
    let best: Place | undefined
    let weights = 0
    for (const address of addresses) {
      const place = this.at(address)
      if (place.late !== late || address.weight === 0 || place.restsUntilMs > nowMs) continue
      place.turn += address.weight
      weights += address.weight
      if (best === undefined || place.turn > best.turn) best = place
    }
    if (best !== undefined) best.turn -= weights
    return best
  }

  /** How many of a cell's addresses take calls and are ready. */
  ready({ addresses }: Cell): number {
    return addresses.filter((one) => one.weight > 0 && this.#takes(one) && !this.at(one).late).length
  }

  /** Whether some address of the cell takes calls, ready or not. */
  has({ addresses }: Cell): boolean {
    return addresses.some((one) => one.weight > 0 && this.#takes(one))
  }

  #takes(address: CellAddress): boolean {
    return this.at(address).restsUntilMs <= this.#nowMs()
  }

  /** It takes no calls for a while. */
  rest(place: Place, forMs = REST_MS): void {
    place.restsUntilMs = this.#nowMs() + forMs
  }
}
