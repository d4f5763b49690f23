/**
 * While a stream runs: extends the hold ahead of what is delivered, writes checkpoints, and says when the money is used
 * up.
 */
import { lowerOf } from '../../admission/ceiling.ts'
import type { Extended, ListPriced } from '../../book/contract.ts'
import type { Model, Price } from '../../core/model.ts'
import { least, type Nano } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Progress } from '../../dialects/relay.ts'
import { type Delivered, deliveredTokens } from '../../metering/estimate.ts'
import { chargeFor, priceOf, withCall } from '../../pricing/charge.ts'
import { byList } from '../../pricing/own-price.ts'
import { ceiling } from '../../pricing/quote.ts'
import { estimateFor, type Metered } from '../ask/bill.ts'
import { rulesFor } from '../enter/rules.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'

/** Whether the hold covers a stream, or the stream must end: its money is spent, or the ledger has been away too long. */
export type Covered = 'covered' | 'spent' | 'away'

export type HoldKeeper = {
  /** Whether the hold covers the stream so far and a little further. */
  covers(progress: Progress): Covered | Promise<Covered>
}

type More = {
  readonly amount: Nano
  readonly spent: Nano
  readonly waits: boolean
  /** The same by the vendor's list price, for a call by an own key. */
  readonly list?: ListPriced | undefined
}

/** Raises the hold to this, if the caller's ceiling and the wallet's present rules allow the call to cost so much. */
const extended = async (
  gateway: Gateway,
  { key, model, limit, hold }: Task,
  { amount, spent, waits, list }: More,
): Promise<Extended> => {
  const rules = await rulesFor(gateway, key, model, {})
  if (rules instanceof Refusal) return rules.code === 'service_unavailable' ? 'away' : 'refused'
  const lower = lowerOf(limit, rules.perCallMax)
  return lower === undefined || amount <= lower.amount ? hold.extend(amount, spent, waits, list) : 'refused'
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
/**
 * A stream that has used up its hold waits for a ledger that is away, piece by piece: a process that is stopped
 * meanwhile, as by a suspended machine, has waited for one piece.
 */
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
  const patienceMs = gateway.options.ledgerPatienceMs
  let held = task.heldOutput
  let extendAt = held * EXTEND_SHARE
  let checkpointAt = CHECKPOINT_TOKENS
  let endedAt: number | undefined
  let underWay: Promise<Extended> | undefined
  let thought = model.capabilities.includes('reasoning') ? undefined : 0
  const costBy = (its: Price, delivered: Delivered) =>
    chargeFor(its, withCall(its, estimateFor(task, delivered)))
  const spentBy = (delivered: Delivered) => least(costBy(price, delivered), hold.amount())
  const estimatedBy = (delivered: Delivered) =>
    byList(model, (list) => least(costBy(priceOf(list), delivered), hold.estimate?.() ?? 0n))

  /** Takes more money. What arrives after the wait for it still counts. */
  const grow = async (delivered: Delivered): Promise<Extended> => {
    for (const { factor, waits } of STEPS) {
      const wanted = Math.min(Math.ceil(held * factor), full)
      const most = (its: Model) => ceiling(its, call.size, Math.ceil(wanted / call.choices), call.choices)
      const list = byList(model, (its) => ({ to: most(its), spent: estimatedBy(delivered) ?? 0n }))
      const more = { amount: most(model), spent: spentBy(delivered), waits, list }
      const outcome = await extended(gateway, task, more)
      if (outcome === 'away') return outcome
      if (outcome === 'refused') continue
      held = wanted
      extendAt = held * EXTEND_SHARE
      return outcome
    }
    return 'refused'
  }

  /**
   * Asks for more money while the stream goes on within its hold. If it is refused, there is no more; while the ledger is
   * away, it is asked again when half of what is left is used.
   */
  const growing = (delivered: Delivered): Promise<Extended> => {
    underWay ??= grow(delivered)
      .catch((): Extended => 'away')
      .then((outcome) => {
        underWay = undefined
        if (outcome === 'refused') extendAt = Math.max(extendAt, held)
        if (outcome === 'away') extendAt = (extendAt + held) / 2
        return outcome
      })
    return underWay
  }

  /** The hold is used up, so wait for more. Reasoning may exceed the hold; delivered text may not. */
  const grown = async (delivered: Delivered, tokens: number): Promise<Covered> => {
    let outcome: Extended | undefined
    for (let waitedMs = 0; outcome !== 'refused' && waitedMs < patienceMs; waitedMs += PIECE_MS) {
      const piece = gateway.clock.sleep(PIECE_MS).then(() => undefined)
      outcome = await Promise.race([growing(delivered), piece])
      if (outcome === 'extended') return 'covered'
      if (outcome === 'away') await piece
    }
    extendAt = held + (thought ?? 0)
    if (tokens < held) return 'covered'
    return outcome === 'refused' ? 'spent' : 'away'
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
        hold.checkpoint(spentBy(delivered), estimatedBy(delivered))
      }
      // An answer that has ended is whole, and what it cost comes next. Unless there is more of it, nothing is cut.
      if (progress.finished) endedAt ??= delivered.events
      if (endedAt === delivered.events) return 'covered'
      // At its full bound the vendor itself ends the answer; if it goes on, we cut it. Each event has at least one
      // token.
      if (held >= full) return delivered.events <= full ? 'covered' : 'spent'
      const used = tokens + thoughtBy(progress)
      if (used < extendAt) return 'covered'
      if (used >= held) return grown(delivered, tokens)
      void growing(delivered)
      return 'covered'
    },
  }
}

/**
 * Takes what an answer cost beyond its hold, up to its full bound. A stream that started with a small hold may be
 * billed for more tokens than its text suggested. If there is no more money, only the hold is charged.
 */
export const coverCost = async (
  gateway: Gateway,
  task: Task,
  { cost, byKey }: Pick<Metered, 'cost' | 'byKey'>,
): Promise<void> => {
  const { call, model, hold } = task
  // What the house risked above a tighter bound is charged to the caller while it has money.
  const { textTokens: _, ...size } = call.size
  const most = (its: Model) => ceiling(its, size, Math.ceil(task.fullOutput / call.choices), call.choices)
  const amount = least(cost, most(model))
  const [held, counted = 0n] = [hold.amount(), hold.estimate?.()]
  const list = byList(model, (its) => ({ to: least(byKey?.vendorEstimate ?? 0n, most(its)), spent: counted }))
  if (amount <= held && (list === undefined || list.to <= counted)) return
  // An answer does not wait for a ledger that is away.
  const covered = extended(gateway, task, { amount, spent: held, waits: true, list })
  await Promise.race([covered, gateway.clock.sleep(END_WAIT_MS)])
}
