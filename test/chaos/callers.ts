/**
 * The callers' own books: what each call may cost, what it did cost as far as its caller knows, and how much of every
 * limit that leaves. They know nothing of the product's counters.
 *
 * The law of false refusals: a call whose bound fits in what its limits have left is not answered 402, with every call
 * that may still be open counted at its bound. Where a caller does not know, it assumes what leaves less. A call
 * without an answer holds its bound until a crash is surely cleared up, and then has cost the most it can. Money held
 * by a call that was refused or failed is free a moment later.
 */
import { TOTAL_SECONDS } from './gateways.ts'

export type Limit = { readonly name: string; readonly room: bigint }

type Entry = {
  readonly limits: readonly Limit[]
  readonly bound: bigint
  readonly sentMs: number
  /** When its held money is free at the latest; unset while it is open. */
  freeMs: number | undefined
  cost: bigint
  /** An attempt of it ended without an answer: it may have been charged, or still hold its money. */
  unknown: boolean
}

export type CallerBooks = {
  /** Notes a call that is about to be sent. A repeat of a call is the same entry. */
  send(id: string, limits: readonly Limit[], bound: bigint): void
  /** It ended and cost this much, by its answer. */
  end(id: string, cost: bigint): void
  /** It ended without an answer: it may have cost up to `most`. */
  lose(id: string, most: bigint): void
  /**
   * It was answered 402: notes whether it should have been admitted. `least` is the smallest bound under which it can
   * be answered.
   */
  refused(id: string, least: bigint, reason: string): void
  readonly falseRefusals: readonly string[]
  /** Refusals that were checked, and how many of them were right by these books. */
  readonly refusals: () => number
}

/** A wallet with less than this refuses every call. */
const MINIMUM = 10_000_000n
/** How long a call's money may stay held after its caller learnt that it came to nothing. */
const FREED_MS = 2_000
/** How long the money of a call without an answer may stay held: a lease, the longest call, the reaper's rounds. */
export const CLEARED_MS = (10 + TOTAL_SECONDS + 5 + 12) * 1000
/** Entries older than this are summed up. */
const SUMMED_MS = 60_000

export const openCallerBooks = (now = Date.now): CallerBooks => {
  const entries = new Map<string, Entry>()
  const summed = new Map<string, bigint>()
  const falseRefusals: string[] = []
  let refusals = 0
  let summedAtMs = now()

  const sumUp = () => {
    if (now() - summedAtMs < SUMMED_MS) return
    summedAtMs = now()
    for (const [id, { freeMs, cost, limits }] of entries) {
      if (freeMs === undefined || freeMs > now() - SUMMED_MS) continue
      for (const { name } of limits) summed.set(name, (summed.get(name) ?? 0n) + cost)
      entries.delete(id)
    }
  }

  /** The least that can have been left of a limit while the call was on its way. */
  const leftOf = ({ name, room }: Limit, of: Entry): bigint => {
    let used = summed.get(name) ?? 0n
    for (const one of entries.values()) {
      if ((one === of && !of.unknown) || !one.limits.some((limit) => limit.name === name)) continue
      used += (one.freeMs ?? Number.POSITIVE_INFINITY) >= of.sentMs ? one.bound : one.cost
    }
    return room - used
  }

  return {
    falseRefusals,
    refusals: () => refusals,
    send: (id, limits, bound) => {
      sumUp()
      const known = entries.get(id)
      const { cost, unknown } = known ?? { cost: 0n, unknown: false }
      entries.set(id, { limits, bound, sentMs: now(), freeMs: undefined, cost, unknown })
    },
    end: (id, cost) => {
      const entry = entries.get(id)
      if (entry === undefined) return
      // The refusal of one attempt says nothing about the attempt before it.
      if (entry.unknown && cost === 0n) entry.freeMs = now() + CLEARED_MS
      // A charge is durable before its answer ends, and with it the rest of the hold is free.
      else Object.assign(entry, { cost, unknown: false, freeMs: now() + (cost > 0n ? 0 : FREED_MS) })
    },
    lose: (id, most) => {
      const entry = entries.get(id)
      if (entry !== undefined) Object.assign(entry, { cost: most, unknown: true, freeMs: now() + CLEARED_MS })
    },
    refused: (id, least, reason) => {
      const entry = entries.get(id)
      if (entry === undefined) return
      refusals++
      const short = entry.limits.find((limit) => {
        const need = limit.name.startsWith('wallet') && least < MINIMUM ? MINIMUM : least
        return leftOf(limit, entry) < need
      })
      if (short !== undefined) return
      const rooms = entry.limits.map((limit) => `${limit.name} ${leftOf(limit, entry)}`).join(', ')
      falseRefusals.push(`${id} needs at most ${least} and had: ${rooms}; told: ${reason}`)
    },
  }
}
