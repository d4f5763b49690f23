/**
 * The life of one call, top to bottom. Only this file knows the order: who calls, what they ask, whether they asked it
 * before, whether they may, hold the money, ask, meter, settle. A call that brings its payment has its own: run-paid-call.ts.
 */
import { type Ceiling, lowerOf } from '../admission/ceiling.ts'
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import { must } from '../core/refusal.ts'
import type { AccountId } from '../ledger/words.ts'
import { payingAccount, paymentMode } from '../payment/funding.ts'
import type { Key } from '../tenancy/key.ts'
import type { Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { waitForRoom } from './discount-lane.ts'
import type { Gateway } from './gateway.ts'
import { type Incoming, readAsked, takeTurn, whoCalls } from './incoming.ts'
import { onceOnly } from './once-only.ts'
import { requestHasher } from './receipt.ts'
import type { Keep } from './recording.ts'
import { reserve } from './reserve.ts'
import { rulesFor } from './rules.ts'
import { runPaidCall } from './run-paid-call.ts'
import type { PaymentFacts, Task } from './task.ts'
import type { Trace } from './trace.ts'

/** Answers one call, or throws the Refusal that says why not. */
export const runCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const mode = paymentMode(incoming.paymentProtocol, incoming.payment)
  if (mode === 'x402') return runPaidCall(gateway, incoming, trace)
  const key = await whoCalls(gateway, incoming.authorization, trace)
  const account = payingAccount(must(mode), key)
  const payment = { mode: must(mode) }
  const { body, ...asked } = await readAsked(gateway, incoming, trace)
  return onceOnly(gateway, { incoming, key, body, trace }, async (keep, signal) => {
    const { perCallMax } = must(await rulesFor(gateway, key, asked.model))
    await waitForRoom(gateway, asked.model, signal)
    await takeTurn(gateway, key, trace)
    const sent = body.bytes
    const ceiling = lowerOf(asked.ceiling, perCallMax)
    const sub = incoming.subWallet
    const payer = { key, sub, account, payment }
    const task = await openTask(gateway, { ...payer, ...asked, ceiling, sent, trace, keep, signal })
    return answerTask(gateway, task)
  })
}

type Opening = {
  readonly key: Key
  readonly sub: string | undefined
  readonly account: AccountId | undefined
  readonly call: Call
  readonly sent: Uint8Array
  readonly payment: PaymentFacts
  readonly model: Model
  readonly ceiling: Ceiling
  readonly trace: Trace
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
}

/** Holds the money and makes the task that carries it. */
const openTask = async (gateway: Gateway, opening: Opening): Promise<Task> => {
  const { ceiling, sent, sub: _sub, ...rest } = opening
  const reserved = must(await reserve(gateway, { ...opening, callId: opening.trace.callId }))
  const { lowered, ...held } = reserved
  if (lowered !== undefined) opening.trace.headers['x-max-tokens-lowered'] = String(lowered)
  return { ...rest, ...held, limit: ceiling, requestHash: requestHasher(gateway, sent) }
}
