/**
 * How many bytes of answers each key has had kept for repeats today. The day begins when this process keeps the first
 * of them. It is an estimate in memory that limits what one tenant puts into the database.
 */
import { DAY_MS } from '../core/time.ts'

export type KeptBytes = {
  add(owner: string, bytes: number, nowMs: number): void
  /** Bytes so far in the owner's day. */
  of(owner: string, nowMs: number): number
  /** Milliseconds until that day ends. */
  leftMs(owner: string, nowMs: number): number
}

type KeptDay = { readonly endsMs: number; bytes: number }

const MOST = 20_000

export const newKeptBytes = (): KeptBytes => {
  // In the order in which their days began, so that expired ones come first.
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
