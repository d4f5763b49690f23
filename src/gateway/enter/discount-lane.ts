/**
 * The lane of discounted calls: they use the capacity that full-price calls leave free. They start only while fewer
 * than a set number of calls are open. Each waits a little for that, then gets a refusal that says when to come back.
 */
import type { Model } from '../../core/model.ts'
import { type Refusal, refuse, retryIn } from '../../core/refusal.ts'
import type { Gateway } from '../parts/gateway.ts'

const WAIT_MS = 10_000
const LOOK_MS = 50

/**
 * Resolves when the model may be asked: at full price at once, at a discount when there is room. Throws the Refusal of
 * a call that waited in vain.
 */
export const waitForCapacity = async (gateway: Gateway, model: Model, signal: AbortSignal): Promise<void> => {
  if (model.cheaper === undefined) return
  const { book, clock, options, random } = gateway
  const until = clock.monotonicMs() + WAIT_MS
  while (book.health().openCalls >= options.discountOpenMax) {
    if (signal.aborted || clock.monotonicMs() >= until) throw laneFull()
    // Waiting calls check at random moments, so that they do not all start at once.
    await clock.sleep(LOOK_MS * (0.5 + random()))
  }
}

const laneFull = (): Refusal =>
  refuse(
    'service_unavailable',
    'There is no free capacity for discounted calls now. Nothing was charged; try again in 30 s, or use the model at its full price: without the trailing l, and without asking for a tier.',
    retryIn(30),
  )
