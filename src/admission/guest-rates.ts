/**
 * Requests per minute of callers without a key, by network address. Each process counts in memory, because counting in
 * the database would cost more than it saves. The memory is bounded: an address that is pushed out starts again.
 */

type Window = { readonly endsMs: number; used: number }

type GuestTurn = {
  readonly admitted: boolean
  readonly remaining: number
  /** Milliseconds from now to the end of the address's minute. */
  readonly leftMs: number
}

export type GuestRates = {
  /** Counts one request of this name, unless its minute is used up. */
  take(name: string, limit: number, nowMs: number): GuestTurn
  /** Takes a request out of the count, because it cost nothing after all. */
  giveBack(name: string): void
}

const WINDOW_MS = 60_000
const MOST = 20_000

export const newGuestRates = (most = MOST): GuestRates => {
  // In the order in which their minutes began, so that expired ones come first.
  const windows = new Map<string, Window>()
  const makeRoom = (nowMs: number): void => {
    for (const [name, { endsMs }] of windows) {
      if (endsMs > nowMs && windows.size < most) return
      windows.delete(name)
    }
  }
  const windowOf = (name: string, nowMs: number): Window => {
    const known = windows.get(name)
    if (known !== undefined && known.endsMs > nowMs) return known
    windows.delete(name)
    makeRoom(nowMs)
    const fresh = { endsMs: nowMs + WINDOW_MS, used: 0 }
    windows.set(name, fresh)
    return fresh
  }
  return {
    take: (name, limit, nowMs) => {
      const window = windowOf(name, nowMs)
      const admitted = window.used < limit
      if (admitted) window.used++
      return { admitted, remaining: Math.max(0, limit - window.used), leftMs: window.endsMs - nowMs }
    },
    giveBack: (name) => {
      const window = windows.get(name)
      if (window !== undefined && window.used > 0) window.used--
    },
  }
}
