/**
 * Tokens per minute: a call reserves the most it may use before it runs, and gives back what it did not use at its end.
 */
import type { Hold, RateVerdict, Soon, TokenRequest } from '../../book/contract.ts'
import type { Call } from '../../core/call.ts'
import type { Model } from '../../core/model.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { inputTokens, outputTokens } from '../../core/usage.ts'
import { inputBound } from '../../pricing/quote.ts'
import { holdWith } from '../parts/hold-with.ts'
import type { Task } from '../parts/task.ts'

/**
 * A call without an output bound leaves room for others: it reserves at most this share of the limit, or this many
 * tokens.
 */
const SHARE = 4
const FIRST_OUTPUT = 4_096
/** With less output than this the call is of little use, so it waits for the next minute. */
const LEAST_OUTPUT = 256

/** A request's turn, for a key with tokens per minute. */
export type TokenTurn = NonNullable<RateVerdict['tokens']>

/** The turns of one call at several keys as one: what all of them leave, corrected at all of them. */
export const jointTurn = (turns: readonly TokenTurn[]): TokenTurn | undefined => {
  const [first, ...more] = turns
  if (first === undefined || more.length === 0) return first
  const tightest = more.reduce((tight, one) => (one.remaining < tight.remaining ? one : tight), first)
  return {
    ...tightest,
    reserved: Math.min(...turns.map(({ reserved }) => reserved)),
    correct: (used) => {
      for (const turn of turns) turn.correct(used)
    },
  }
}

/** What the call reserves of `limit` tokens a minute; a 400 when it needs more than any minute has. */
export const tokensFor = (model: Model, call: Call, limit: number): TokenRequest | Refusal => {
  const input = inputBound(model, call.size)
  const withOutput = (tokens: number) => input + (call.kind === 'chat' ? tokens * call.choices : 0)
  const own = call.maxOutput
  const least = withOutput(own ?? Math.min(LEAST_OUTPUT, model.maxOutputTokens))
  if (least > limit)
    return invalid(
      'max_tokens',
      `The call may use ${least} tokens, more than the ${limit} a minute of the tpm_limit that binds the key; lower max_tokens or shorten the prompt.`,
    )
  const share = Math.max(FIRST_OUTPUT, Math.floor(limit / SHARE))
  const most = withOutput(own ?? Math.min(model.maxOutputTokens, share))
  return { least, most: Math.min(limit, most) }
}

/** The output, in each answer, that the reserved tokens leave for the call. */
export const outputWithin = (model: Model, call: Call, { reserved }: TokenTurn): number =>
  Math.max(0, Math.floor((reserved - inputBound(model, call.size)) / call.choices))

/** Makes a task that corrects the reservation by the call's real usage, however the call ends. */
export const correctingAtEnd = async (turn: TokenTurn, open: () => Soon<Task>): Promise<Task> => {
  try {
    const task = await open()
    return { ...task, hold: correcting(task.hold, turn) }
  } catch (thrown) {
    turn.correct(0)
    throw thrown
  }
}

const correcting = (hold: Hold, turn: TokenTurn): Hold =>
  holdWith(hold, {
    void: () => {
      turn.correct(0)
      return hold.void()
    },
    settle: (cost, detail, answer) => {
      turn.correct(inputTokens(detail.usage) + outputTokens(detail.usage))
      return hold.settle(cost, detail, answer)
    },
  })
