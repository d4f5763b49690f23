/** While a stream runs: extend the hold ahead of what is delivered, note checkpoints, and say when the money ends. */
import { least } from '../core/money.ts'
import type { ChatStreamState } from '../dialects/chat-stream.ts'
import { type Delivered, deliveredTokens } from '../metering/estimate.ts'
import { chargeFor } from '../pricing/charge.ts'
import { ceiling } from '../pricing/quote.ts'
import { estimateFor } from './bill.ts'
import type { Task } from './task.ts'

export type HoldKeeper = {
  /** Whether the hold covers the stream so far and a little further; false means it must end here. */
  covers(state: ChatStreamState): boolean | Promise<boolean>
}

/** Tokens between two checkpoints. */
const CHECKPOINT_TOKENS = 256
/** Share of the held tokens after which more is asked for. */
const EXTEND_SHARE = 0.75

export const holdKeeper = (task: Task): HoldKeeper => {
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
    const affordable = task.limit === undefined || amount <= task.limit
    if (affordable && (await hold.extend(amount, spentBy(delivered)))) {
      held = wanted
      extendAt = held * EXTEND_SHARE
      return true
    }
    // No more money: what is held covers the stream a little further.
    extendAt = held
    return tokens < held
  }

  return {
    covers: (state) => {
      const delivered = { characters: state.characters, events: state.contentEvents }
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
