/** The sockets to vendors that a process keeps open, each for one conversation on a client's socket. */
import { type SocketPlace, VendorSocket } from './vendor-socket.ts'

/** How long a vendor whose socket failed is asked over HTTP alone. */
const REST_MS = 60_000

export class VendorSockets {
  /** Those that were not used for longest come first. */
  readonly #all = new Set<VendorSocket>()
  /** Until when the sockets of a vendor's address rest. */
  readonly #rests = new Map<string, number>()

  /**
   * The socket of a place that may be asked now, opened if need be. Undefined while the address rests, while another
   * answer comes on it, and when all the others that may be open are in use.
   */
  take(place: SocketPlace, { most, nowMs }: { readonly most: number; readonly nowMs: number }) {
    if (nowMs < (this.#rests.get(place.url) ?? Number.NEGATIVE_INFINITY)) return undefined
    const known = this.#all.values().find((one) => isAt(one.place, place))
    if (known?.busy === true) return undefined
    if (known !== undefined && nowMs < known.place.endsMs) {
      this.#all.delete(known)
      this.#all.add(known)
      return known
    }
    known?.close('it is old')
    if (this.#all.size >= most) this.#idle()?.close('another one needs its place')
    if (this.#all.size >= most) return undefined
    const opened = new VendorSocket(place, (closed) => this.#all.delete(closed))
    this.#all.add(opened)
    return opened
  }

  /** Asks the vendor at this address over HTTP for a while. */
  rest(url: string, nowMs: number): void {
    this.#rests.set(url, nowMs + REST_MS)
  }

  /** Closes the sockets of a client's socket, those in use after their answers: what is read on is charged. */
  leave(owner: object): void {
    for (const one of [...this.#all]) if (one.place.owner === owner) one.closeAfterTurn()
  }

  /** How many are open. */
  get size(): number {
    return this.#all.size
  }

  #idle(): VendorSocket | undefined {
    return this.#all.values().find(({ busy }) => !busy)
  }
}

const isAt = (one: SocketPlace, place: SocketPlace): boolean =>
  one.owner === place.owner && one.name === place.name && one.url === place.url
