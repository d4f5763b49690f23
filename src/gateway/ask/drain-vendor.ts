/** When the caller has hung up: stop the vendor, or read on to its usage if it bills to the end anyway. */

import type { Call } from '../../core/call.ts'
import type { Model } from '../../core/model.ts'
import type { StreamRelay } from '../../dialects/relay.ts'
import type { Exchange } from '../../transport/exchange.ts'
import type { CancelPolicy, Vendor } from '../../vendors/vendor.ts'
import type { Gateway } from '../parts/gateway.ts'

type Asked = { readonly model: Model; readonly call: Pick<Call, 'size'> }

/**
 * Whether to read on after the caller has gone. A reasoning model bills tokens that only its usage reports, and a model
 * that has finished reports its usage next. What tools of the vendor cost is only known at the end, too. Without this, a
 * caller that hangs up before the usage would get those tokens free.
 */
export const readsOn = ({ model, call }: Asked, cancel: CancelPolicy, relay: StreamRelay): boolean => {
  if (cancel === 'drain' || call.size.hosted !== undefined) return true
  const { progress } = relay
  const reported = relay.usage()
  if (reported === undefined) return progress.finished || model.capabilities.includes('reasoning')
  return progress.thought && !progress.finished && (reported.reasoning ?? 0) === 0
}

/**
 * The same question before the vendor has said anything, and for an answer in one piece. Products that are not chat are
 * made and billed whole, so we wait for them as if the caller were still there (`to the end`).
 */
export const readsOnUnheard = (
  { model, call }: Asked,
  { cancel, media }: Pick<Vendor, 'cancel' | 'media'>,
): 'to the end' | 'a while' | 'no' => {
  if (model.kind === 'media') return media?.stops === true ? 'no' : 'to the end'
  const unseen = model.capabilities.includes('reasoning') || call.size.hosted !== undefined
  return cancel === 'drain' || unseen ? 'a while' : 'no'
}

/** Bounds on reading on: time and bytes. */
const DRAIN_MS = 10_000
const DRAIN_BYTES = 64 * 1024

/** A vendor that falls silent must not keep the call open. */
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
  { exchange, keepsReading }: { readonly exchange: Exchange; readonly keepsReading: boolean },
  drain: Drain,
): Promise<void> => {
  try {
    if (!keepsReading) return
    const until = gateway.clock.monotonicMs() + DRAIN_MS
    let bytes = 0
    while (!drain.done() && bytes < DRAIN_BYTES && gateway.clock.monotonicMs() < until) {
      const piece = await exchange.next()
      if (piece === undefined) break
      bytes += piece.length
      drain.read(piece)
    }
  } catch {
    // The vendor broke off: what was read so far is charged.
  } finally {
    exchange.abort()
  }
}
