/** While a stream runs: extend the hold ahead of what is delivered, note checkpoints, and say when the money ends. */
import { lowerOf } from '../admission/ceiling.ts'
import { least, type Nano } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { Progress } from '../dialects/relay.ts'
import { type Delivered, deliveredTokens } from '../metering/estimate.ts'
import { chargeFor } from '../pricing/charge.ts'
import { ceiling } from '../pricing/quote.ts'
import { estimateFor } from './bill.ts'
import type { Gateway } from './gateway.ts'
import { rulesFor } from './rules.ts'
import type { Task } from './task.ts'

export type HoldKeeper = {
  /** Whether the hold covers the stream so far and a little further; false means it must end here. */
  covers(progress: Progress): boolean | Promise<boolean>
}

/** Whether the caller's ceiling and the wallet's rules, as they stand now, allow the call to cost this much. */
const allowed = async (gateway: Gateway, task: Task, amount: Nano): Promise<boolean> => {
  const rules = await rulesFor(gateway, task.key, task.model)
  if (rules instanceof Refusal) return false
  const limit = lowerOf(task.limit, rules.perCallMax)
  return limit === undefined || amount <= limit.amount
}

/** Tokens between two checkpoints. */
const CHECKPOINT_TOKENS = 256
/** Share of the held tokens after which more is asked for. */
const EXTEND_SHARE = 0.75

export const holdKeeper = (gateway: Gateway, task: Task): HoldKeeper => {
  const { call, model, hold } = task
  const full = task.fullOutput
  let held = task.heldOutput
  let extendAt = held * EXTEND_SHARE
  let checkpointAt = CHECKPOINT_TOKENS
  const spentBy = (delivered: Delivered) =>
    least(chargeFor(model.price, estimateFor(task, delivered)), hold.amount())

  const extend = async (delivered: Delivered, tokens: number): Promise<boolean> => {
    const wanted = Math.min(held * 2, full)
    const amount = ceiling(model, call.size, Math.ceil(wanted / call.choices), call.choices)
    if ((await allowed(gateway, task, amount)) && (await hold.extend(amount, spentBy(delivered)))) {
      held = wanted
      extendAt = held * EXTEND_SHARE
      return true
    }
    // No more money: what is held covers the stream a little further.
    extendAt = held
    return tokens < held
  }

  return {
    covers: (progress) => {
      const delivered = { letters: progress.letters, events: progress.contentEvents }
      const tokens = deliveredTokens(delivered)
      if (tokens >= checkpointAt) {
        checkpointAt = tokens + CHECKPOINT_TOKENS
        hold.checkpoint(spentBy(delivered))
      }
      // At its full bound the vendor ends the answer itself; one that goes on is cut. An event is one token or more.
      if (held >= full) return delivered.events <= full
      return tokens < extendAt || extend(delivered, tokens)
    },
  }
}

const EXTEND_WAIT_MS = 2_000

/**
 * Takes what a stream turned out to cost beyond its hold, within its full bound: one that started small may have been
 * billed for more tokens than its letters told. Where there is no more money, the hold is what is charged.
 */
export const coverCost = async (gateway: Gateway, task: Task, cost: Nano): Promise<void> => {
  const { call, model, hold } = task
  const most = ceiling(model, call.size, Math.ceil(task.fullOutput / call.choices), call.choices)
  const amount = least(cost, most)
  if (amount <= hold.amount() || !(await allowed(gateway, task, amount))) return
  // An answer does not wait for a ledger that is away.
  await Promise.race([hold.extend(amount, hold.amount()), gateway.clock.sleep(EXTEND_WAIT_MS)])
}
