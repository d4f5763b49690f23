/** When the caller has hung up: stop the vendor, or read on to its usage where it bills to the end anyway. */
import type { Exchange } from '../transport/exchange.ts'
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

/** Bounds of reading on: time and bytes. */
const DRAIN_MS = 10_000
const DRAIN_BYTES = 64 * 1024

export type Drain = {
  readonly exchange: Exchange
  readonly read: (piece: Uint8Array) => unknown
  readonly done: () => boolean
}

export const drainVendor = async (gateway: Gateway, task: Task, drain: Drain): Promise<void> => {
  const policy = gateway.vendors.get(task.model.vendor)?.vendor.cancel
  try {
    if (policy !== 'drain') return
    const until = gateway.clock.monotonicMs() + DRAIN_MS
    let bytes = 0
    while (!drain.done() && bytes < DRAIN_BYTES && gateway.clock.monotonicMs() < until) {
      const piece = await drain.exchange.next()
      if (piece === undefined) break
      bytes += piece.length
      drain.read(piece)
    }
  } catch {
    // The vendor broke off: what was read until here is what is charged.
  } finally {
    drain.exchange.abort()
  }
}
