/**
 * While a stream runs: extends the hold ahead of what is delivered, writes checkpoints, and says when the money is used
 * up.
 */
import { lowerOf } from '../admission/ceiling.ts'
import { least, type Nano } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { Progress } from '../dialects/relay.ts'
import { type Delivered, deliveredTokens } from '../metering/estimate.ts'
import { chargeFor, priceOf, withCall } from '../pricing/charge.ts'
import { ceiling } from '../pricing/quote.ts'
import { estimateFor } from './bill.ts'
import type { Gateway } from './gateway.ts'
import { rulesFor } from './rules.ts'
import type { Task } from './task.ts'

export type HoldKeeper = {
  /** Whether the hold covers the stream so far and a little further; if not, the stream must end here. */
  covers(progress: Progress): boolean | Promise<boolean>
}

/** Whether the caller's ceiling and the wallet's present rules allow the call to cost this much. */
const allowed = async (gateway: Gateway, task: Task, amount: Nano): Promise<boolean> => {
  const rules = await rulesFor(gateway, task.key, task.model)
  if (rules instanceof Refusal) return false
  const limit = lowerOf(task.limit, rules.perCallMax)
  return limit === undefined || amount <= limit.amount
}

/** Tokens between two checkpoints. */
const CHECKPOINT_TOKENS = 256
/** Share of the held tokens after which we ask for more. */
const EXTEND_SHARE = 0.75
/** A hold doubles. If that does not fit, it grows a little, and waits for money that other calls hold. */
const STEPS = [
  { factor: 2, waits: false },
  { factor: 1.125, waits: true },
] as const
/** How long a stream that has used up its hold waits for more money, for example while the ledger is briefly away. */
const STREAM_WAIT_MS = 6_000
/** It waits piece by piece: a process that is stopped meanwhile, as by a suspended machine, has waited for one piece. */
const PIECE_MS = 500
/** How long the end of an answer waits for it. */
const END_WAIT_MS = 2_000
/** Tokens that a model may think per millisecond before its first output; few models are faster. */
const THOUGHT_A_MS = 0.5

export const holdKeeper = (gateway: Gateway, task: Task): HoldKeeper => {
  const { call, model, hold } = task
  const price = priceOf(model)
  const full = task.fullOutput
  const startedMs = gateway.clock.monotonicMs()
  let held = task.heldOutput
  let extendAt = held * EXTEND_SHARE
  let checkpointAt = CHECKPOINT_TOKENS
  let underWay: Promise<boolean> | undefined
  let thought = model.capabilities.includes('reasoning') ? undefined : 0
  const spentBy = (delivered: Delivered) =>
    least(chargeFor(price, withCall(price, estimateFor(task, delivered))), hold.amount())

  /** Takes more money; false if there is none. Money that arrives after the wait still counts. */
  const grow = async (delivered: Delivered): Promise<boolean> => {
    for (const { factor, waits } of STEPS) {
      const wanted = Math.min(Math.ceil(held * factor), full)
      const amount = ceiling(model, call.size, Math.ceil(wanted / call.choices), call.choices)
      const fits =
        (await allowed(gateway, task, amount)) && (await hold.extend(amount, spentBy(delivered), waits))
      if (!fits) continue
      held = wanted
      extendAt = held * EXTEND_SHARE
      return true
    }
    return false
  }

  /** Asks for more money while the stream goes on within its hold. If that fails, there is no more money. */
  const growing = (delivered: Delivered): Promise<boolean> => {
    underWay ??= grow(delivered)
      .catch(() => false)
      .then((grown) => {
        underWay = undefined
        if (!grown) extendAt = Math.max(extendAt, held)
        return grown
      })
    return underWay
  }

  /** The hold is used up, so wait for more. Reasoning may exceed the hold; delivered text may not. */
  const grown = async (delivered: Delivered, tokens: number): Promise<boolean> => {
    const more = growing(delivered)
    let has: boolean | undefined
    for (let waitedMs = 0; has === undefined && waitedMs < STREAM_WAIT_MS; waitedMs += PIECE_MS)
      has = await Promise.race([more, gateway.clock.sleep(PIECE_MS).then(() => undefined)])
    if (has === true) return true
    extendAt = held + (thought ?? 0)
    return tokens < held
  }

  /** What the model may have thought, unseen, before its first output. */
  const thoughtBy = ({ contentEvents }: Progress): number => {
    if (thought !== undefined) return thought
    if (contentEvents === 0) return 0
    thought = Math.min((gateway.clock.monotonicMs() - startedMs) * THOUGHT_A_MS, full)
    return thought
  }

  return {
    covers: (progress) => {
      const delivered = { letters: progress.letters, events: progress.contentEvents }
      const tokens = deliveredTokens(delivered)
      if (tokens >= checkpointAt) {
        checkpointAt = tokens + CHECKPOINT_TOKENS
        hold.checkpoint(spentBy(delivered))
      }
      // At its full bound the vendor itself ends the answer; if it goes on, we cut it. Each event has at least one
      // token.
      if (held >= full) return delivered.events <= full
      const used = tokens + thoughtBy(progress)
      if (used < extendAt) return true
      if (used >= held) return grown(delivered, tokens)
      void growing(delivered)
      return true
    },
  }
}

/**
 * Takes what an answer cost beyond its hold, up to its full bound. A stream that started with a small hold may be
 * billed for more tokens than its text suggested. If there is no more money, only the hold is charged.
 */
export const coverCost = async (gateway: Gateway, task: Task, cost: Nano): Promise<void> => {
  const { call, model, hold } = task
  // What the house risked above a tighter bound is charged to the caller while it has money.
  const { textTokens: _, ...size } = call.size
  const most = ceiling(model, size, Math.ceil(task.fullOutput / call.choices), call.choices)
  const amount = least(cost, most)
  if (amount <= hold.amount() || !(await allowed(gateway, task, amount))) return
  // An answer does not wait for a ledger that is away.
  await Promise.race([hold.extend(amount, hold.amount(), true), gateway.clock.sleep(END_WAIT_MS)])
}
