/**
 * How many bytes of answers are kept for repeats of each key, by the day in which a process kept the first of them: an estimate
 * in memory, which bounds what one tenant puts into the database.
 */
import { DAY_MS } from '../core/time.ts'

export type Kept = {
  add(owner: string, bytes: number, nowMs: number): void
  /** Bytes of the owner's day so far. */
  of(owner: string, nowMs: number): number
  /** Milliseconds to the end of that day. */
  leftMs(owner: string, nowMs: number): number
}

type KeptDay = { readonly endsMs: number; bytes: number }

const MOST = 20_000

export const newKept = (): Kept => {
  // In the order in which they began, so that those that are over stand in front.
  const days = new Map<string, KeptDay>()
  const known = (owner: string, nowMs: number): KeptDay | undefined => {
    const day = days.get(owner)
    return day !== undefined && day.endsMs > nowMs ? day : undefined
  }
  const begin = (owner: string, nowMs: number): KeptDay => {
    days.delete(owner)
    for (const [name, { endsMs }] of days) {
      if (endsMs > nowMs && days.size < MOST) break
      days.delete(name)
    }
    const day = { endsMs: nowMs + DAY_MS, bytes: 0 }
    days.set(owner, day)
    return day
  }
  return {
    add: (owner, bytes, nowMs) => {
      const day = known(owner, nowMs) ?? begin(owner, nowMs)
      day.bytes += bytes
    },
    of: (owner, nowMs) => known(owner, nowMs)?.bytes ?? 0,
    leftMs: (owner, nowMs) => Math.max(0, (known(owner, nowMs)?.endsMs ?? nowMs) - nowMs),
  }
}
