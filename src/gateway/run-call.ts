/**
 * The life of one call, top to bottom. Only this file knows the order: who calls, what they ask, whether they asked it
 * before, whether they may, hold the money, ask, meter, settle. A call that brings its payment has its own: run-paid-call.ts.
 */
import { trialShort } from '../admission/caller.ts'
import { lowerOf } from '../admission/ceiling.ts'
import { must, Refusal } from '../core/refusal.ts'
import { WALLET_MINIMUM } from '../ledger/grant.ts'
import { payingAccount, paymentMode } from '../payment/funding.ts'
import type { Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { creditsOf } from './credits.ts'
import { waitForRoom } from './discount-lane.ts'
import type { Gateway } from './gateway.ts'
import { boundSent, type Incoming, readAsked, takeCallTurn, whoCalls } from './incoming.ts'
import { onceOnly } from './once-only.ts'
import { requestHasher } from './receipt.ts'
import type { Keep } from './recording.ts'
import type { Memory } from './remember.ts'
import { type Ask, reserve } from './reserve.ts'
import { rulesFor } from './rules.ts'
import { runPaidCall } from './run-paid-call.ts'
import type { PaymentFacts, Task } from './task.ts'
import { correctingAtEnd, outputWithin } from './token-turn.ts'
import type { Trace } from './trace.ts'

/** Answers one call, or throws the Refusal that says why not. */
export const runCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const mode = paysByCall(gateway, incoming)
    ? 'x402'
    : paymentMode(incoming.paymentProtocol, incoming.payment)
  if (mode === 'x402') return runPaidCall(gateway, incoming, trace)
  const key = await whoCalls(gateway, incoming.authorization, trace)
  const account = payingAccount(must(mode), key)
  const payment = { mode: must(mode) }
  const asked = await readAsked(gateway, incoming, { key, trace, keeps: true })
  const { body, call, model } = asked
  return onceOnly(gateway, { incoming, key, body, trace }, async (keep, signal) => {
    const { perCallMax } = must(await rulesFor(gateway, key, model))
    await waitForRoom(gateway, model, signal)
    const turn = await takeCallTurn(gateway, { key, call, model, trace })
    const opening = {
      callId: trace.callId,
      key,
      sub: incoming.subWallet,
      account,
      payment,
      call,
      model,
      ceiling: lowerOf(asked.ceiling, perCallMax),
      outputMost: turn && outputWithin(model, call, turn),
      sent: body.bytes,
      memory: asked.memory,
      trace,
      keep,
      signal,
    }
    return answerTask(gateway, await correctingAtEnd(turn, () => openTask(gateway, opening)))
  })
}

/**
 * A call with neither a key nor a word about payment: where calls can be paid one by one it gets a quote, as payers
 * expect that know nothing of this server; elsewhere it is asked for a key.
 */
const paysByCall = ({ x402 }: Gateway, { authorization, paymentProtocol, payment }: Incoming): boolean =>
  authorization === null &&
  paymentProtocol === undefined &&
  payment !== undefined &&
  (x402?.offers().length ?? 0) > 0

type Opening = Ask & {
  readonly sent: Uint8Array
  readonly payment: PaymentFacts
  readonly memory: Memory | undefined
  readonly trace: Trace
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
}

/** Holds the money and makes the task that carries it. */
const openTask = async (gateway: Gateway, opening: Opening): Promise<Task> => {
  const { key, account, payment, model, memory, trace, keep, signal } = opening
  const reserved = await reserve(gateway, opening)
  if (reserved instanceof Refusal && key.trialUntil !== undefined) throw shortTrial(gateway, reserved)
  const { call, hold, outputBound, heldOutput, fullOutput } = must(reserved)
  return {
    key,
    account,
    payment,
    call,
    model,
    trace,
    keep,
    ...(memory === undefined ? {} : { memory }),
    signal,
    hold,
    outputBound: boundSent(call, outputBound, trace),
    heldOutput,
    fullOutput,
    limit: opening.ceiling,
    requestHash: requestHasher(gateway, opening.sent),
  }
}

const shortTrial = (gateway: Gateway, refusal: Refusal): Refusal =>
  trialShort(refusal, creditsOf(gateway)(WALLET_MINIMUM), gateway.options.signUpUrl)
