/** When the caller has hung up: stop the vendor, or read on to its usage where it bills to the end anyway. */

import type { Model } from '../core/model.ts'
import type { StreamRelay } from '../dialects/relay.ts'
import type { Exchange } from '../transport/exchange.ts'
import type { CancelPolicy, Vendor } from '../vendors/vendor.ts'
import type { Gateway } from './gateway.ts'

/**
 * Whether the vendor is read on after its caller has gone. A model that thinks out of sight has billed what only its
 * usage tells, and one that has finished tells it next: a caller that hangs up in between would have the rest for nothing.
 */
export const readsOn = (model: Model, cancel: CancelPolicy, { progress, usage }: StreamRelay): boolean => {
  if (cancel === 'drain') return true
  const reported = usage()
  if (reported === undefined) return progress.finished || model.capabilities.includes('reasoning')
  return progress.thought && !progress.finished && (reported.reasoning ?? 0) === 0
}

/**
 * The same before the vendor has said anything, and for an answer in one piece. Products that are not chat are made and
 * billed whole, whoever has gone: their answer is waited for as long as if its caller were there (`to the end`).
 */
export const readsOnUnheard = (
  model: Model,
  { cancel, media }: Pick<Vendor, 'cancel' | 'media'>,
): 'to the end' | 'a while' | 'no' => {
  if (model.kind === 'media') return media?.stops === true ? 'no' : 'to the end'
  return cancel === 'drain' || model.capabilities.includes('reasoning') ? 'a while' : 'no'
}

/** Bounds of reading on: time and bytes. */
const DRAIN_MS = 10_000
const DRAIN_BYTES = 64 * 1024

/** A vendor that says nothing more must not keep the call open. */
export const endReadingOn = async (gateway: Gateway, stop: () => void): Promise<void> => {
  await gateway.clock.sleep(DRAIN_MS)
  stop()
}

type Drain = {
  readonly read: (piece: Uint8Array) => unknown
  readonly done: () => boolean
}

export const drainVendor = async (
  gateway: Gateway,
  { exchange, goesOn }: { readonly exchange: Exchange; readonly goesOn: boolean },
  drain: Drain,
): Promise<void> => {
  try {
    if (!goesOn) return
    const until = gateway.clock.monotonicMs() + DRAIN_MS
    let bytes = 0
    while (!drain.done() && bytes < DRAIN_BYTES && gateway.clock.monotonicMs() < until) {
      const piece = await exchange.next()
      if (piece === undefined) break
      bytes += piece.length
      drain.read(piece)
    }
  } catch {
    // The vendor broke off: what was read until here is what is charged.
  } finally {
    exchange.abort()
  }
}
