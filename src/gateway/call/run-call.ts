/**
 * The life of one call, top to bottom. Only this file knows the order: who calls, what they ask, whether they asked it
 * before, whether they may, hold the money, ask, meter, settle. A call that brings its own payment has another order:
 * run-paid-call.ts.
 */
import { trialShort } from '../../admission/caller.ts'
import { lowerOf } from '../../admission/ceiling.ts'
import type { Soon } from '../../book/contract.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { must, Refusal } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import type { AnswerGuard } from '../../guardrails/answer-guard.ts'
import { WALLET_MINIMUM } from '../../ledger/lend.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import { type PaymentMode, payingAccount, paymentMode } from '../../payment/funding.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { SUB_TAG, tagPathOf } from '../../tenancy/tags.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { withOwnKeys } from '../ask/own-call.ts'
import { tagMembers, tagsOfCall } from '../enter/call-tags.ts'
import { requiring, underConditions } from '../enter/conditions.ts'
import { waitForCapacity } from '../enter/discount-lane.ts'
import {
  boundSent,
  type CheckedRequest,
  type Incoming,
  readCall,
  readRequest,
  whoCalls,
} from '../enter/incoming.ts'
import { takeCallTurn } from '../enter/key-turn.ts'
import { onceOnly } from '../enter/once-only.ts'
import { withMediaRead } from '../enter/read-media.ts'
import { isGuarded, rulesFor } from '../enter/rules.ts'
import { correctingAtEnd, outputWithin, type TokenTurn } from '../enter/token-turn.ts'
import { type Reserved, type ReserveRequest, reserve } from '../hold/reserve.ts'
import { answerRun, orItsRun } from '../jobs/answer-job.ts'
import { answerBegun } from '../jobs/follow-response.ts'
import type { Answer } from '../parts/answer.ts'
import { creditsOf } from '../parts/credits.ts'
import type { Gateway } from '../parts/gateway.ts'
import { requestHasher } from '../parts/receipt.ts'
import type { Keep } from '../parts/recording.ts'
import type { Memory, PaymentFacts, Task } from '../parts/task.ts'
import type { Trace } from '../parts/trace.ts'
import { answerTask } from './answer-task.ts'
import { guardRequest } from './guard-call.ts'
import { runPaidCall } from './run-paid-call.ts'

/** Answers one call, or throws the Refusal that says why not. */
export const runCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const named = paysByCall(gateway, incoming)
    ? 'x402'
    : paymentMode(incoming.paymentProtocol, incoming.payment)
  if (named === 'x402') return runPaidCall(gateway, incoming, trace)
  const caller = whoCalls(gateway, incoming.authorization, trace)
  const known = caller instanceof Promise ? await caller : caller
  const key = incoming.requires === undefined ? known : requiring(known, incoming.requires)
  const mode = must(named)
  const request = await readRequest(gateway, incoming, { key, trace, keeps: true })
  const header = incoming.tags
  // A plain call must not pay for what it does not say.
  if (header !== undefined || key.tags !== undefined || mayName(request.body.outline))
    trace.tags = tagsOfCall({ key, header, body: request.body.outline })
  const it = { key, sub: incoming.subWallet, mode, request, trace, incoming }
  return incoming.idempotencyKey === undefined && request.call.media === undefined
    ? runChecked(gateway, it, undefined, incoming.signal)
    : runKept(gateway, incoming, it)
}

/** Whether a body may say what its call is for. */
const mayName = (body: JsonObject): boolean => {
  for (const name of tagMembers) if (body[name] !== undefined) return true
  return false
}

/** The part of its lease's path that its tags and its sub-wallet make, where some of them are under budget. */
export const pathTags = (
  { tags }: Trace,
  { budgeted }: Pick<WalletRules, 'budgeted'>,
  sub: string | undefined,
): string | undefined => {
  if (budgeted === undefined || (tags === undefined && sub === undefined)) return undefined
  return tagPathOf(sub === undefined ? (tags ?? {}) : { ...tags, [SUB_TAG]: sub }, budgeted)
}

/** Runs a call that may be a job, or whose answer is kept for repeats. */
const runKept = (gateway: Gateway, incoming: Incoming, it: CallToRun): Promise<Answer> => {
  const { idempotencyKey, signal } = incoming
  const { request, key, trace } = it
  const { call } = request
  const { background, form } = request.memory ?? {}
  const ofRun = (id: string, ref?: IdempotencyRef) =>
    background === undefined || form === undefined
      ? answerRun(gateway, { id, call, trace, ref })
      : answerBegun(gateway, { keyId: placeOf(key), id: form.idOf(id) }, background)
  const mayBeJob = call.media !== undefined
  const run = (keep: Keep | undefined, itsOwn: AbortSignal): Promise<Answer> => {
    const answer = () => runChecked(gateway, it, keep, itsOwn)
    return mayBeJob ? orItsRun(gateway, { keep, trace, ofRun }, answer) : answer()
  }
  return idempotencyKey === undefined
    ? run(undefined, signal)
    : onceOnly(gateway, { incoming, idempotencyKey, key, body: request.body, trace }, run, ofRun)
}

type CallToRun = {
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  readonly mode: PaymentMode
  readonly request: CheckedRequest
  readonly trace: Trace
  readonly incoming: Incoming
}

/** Runs a call that was read: may they, hold, ask, meter, settle. What is known in memory is not awaited. */
const runChecked = async (
  gateway: Gateway,
  { key, sub, mode, request, trace, incoming }: CallToRun,
  keep: Keep | undefined,
  ends: AbortSignal,
): Promise<Answer> => {
  const { model } = request
  // What is made in the background is stopped by name, not by a connection that ends.
  const signal = request.memory?.background?.stop.signal ?? ends
  const rules = rulesFor(gateway, key, model, trace)
  const its = must(rules instanceof Promise ? await rules : rules)
  const memory = trace.conditions === NO_CONDITIONS ? request.memory : underConditions(request, trace)
  const { perCallMax, ownKeys } = its
  if (model.cheaper !== undefined) await waitForCapacity(gateway, model, signal)
  const pending = takeCallTurn(gateway, { key, call: request.call, model, trace })
  const turn = pending instanceof Promise ? await pending : pending
  const { unread } = request.call.media ?? {}
  const call =
    unread === undefined ? request.call : await withMediaRead(gateway, request.call, { key, trace, signal })
  const opening: TaskParts = {
    callId: trace.callId,
    key,
    sub,
    payer: payingAccount(mode, key),
    tags: pathTags(trace, its, sub ?? key.subWallet),
    payment: { mode },
    call,
    model,
    ceiling: perCallMax === undefined ? request.ceiling : lowerOf(request.ceiling, perCallMax),
    outputMost: turn && outputWithin(model, call, turn),
    request,
    incoming,
    late:
      model.cheaper !== undefined || unread !== undefined || (its.guardrails ?? key.guardrails) !== undefined,
    memory,
    trace,
    keep,
    signal,
  }
  // A late call finds its keys once it is admitted.
  const mine = ownKeys === undefined || opening.late ? opening : await withOwnKeys(gateway, opening, ownKeys)
  const opened = turn === undefined ? openTask(gateway, mine) : openCorrecting(gateway, turn, mine)
  return answerTask(gateway, opened instanceof Promise ? await opened : opened)
}

/** When the call ends, the reserved tokens of its key that it did not use go back. */
const openCorrecting = (gateway: Gateway, turn: TokenTurn, opening: TaskParts): Soon<Task> =>
  correctingAtEnd(turn, () => openTask(gateway, opening))

/**
 * A call with neither a key nor any payment header. If calls can be paid one by one, it gets a quote, as payers that
 * know nothing of this server expect; if not, it is asked for a key.
 */
const paysByCall = ({ payments: { x402 } }: Gateway, incoming: Incoming): boolean =>
  incoming.authorization === null &&
  incoming.paymentProtocol === undefined &&
  incoming.payment !== undefined &&
  (x402?.offers().length ?? 0) > 0

type TaskParts = ReserveRequest & {
  readonly request: CheckedRequest
  readonly incoming: Incoming
  /** It asks for the rules again: it may have waited for room, or for media at other servers, or they are about its texts. */
  readonly late: boolean
  readonly payment: PaymentFacts
  readonly memory: Memory | undefined
  readonly trace: Trace
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
  readonly guard?: AnswerGuard | undefined
}

/** Holds the money and makes the call's task. */
const openTask = (gateway: Gateway, opening: TaskParts): Soon<Task> => {
  if (opening.late) return openLate(gateway, opening)
  return whenKnown(reserve(gateway, opening), taskOf, gateway, opening)
}

/** A call that waited is admitted by the rules of now, as it is by the present state of its key. */
const openLate = async (gateway: Gateway, opening: TaskParts): Promise<Task> => {
  const { key, model, trace, request } = opening
  const its = must(await rulesFor(gateway, key, model, trace))
  const guarded = isGuarded(key, its) ? await guardCall(gateway, its, opening) : opening
  const tags = pathTags(trace, its, opening.sub ?? key.subWallet)
  const memory =
    trace.conditions === NO_CONDITIONS
      ? opening.memory
      : underConditions({ ...opening, body: request.body }, trace)
  const now = await withOwnKeys(
    gateway,
    { ...guarded, tags, memory, ceiling: lowerOf(opening.ceiling, its.perCallMax) },
    its.ownKeys,
  )
  return taskOf(await reserve(gateway, now), gateway, now)
}

/** The call as guardrails let it go to its vendor. */
const guardCall = async (gateway: Gateway, rules: WalletRules, opening: TaskParts): Promise<TaskParts> => {
  const { request, incoming, key, trace, signal } = opening
  const body = request.filled ?? request.body
  const { body: passed, guard } = await guardRequest(gateway, rules, { ...opening, body })
  if (passed === body) return { ...opening, guard }
  const { call: read } = readCall(gateway, incoming, opening, passed)
  const unread = read.media?.unread
  const call = unread === undefined ? read : await withMediaRead(gateway, read, { key, trace, signal })
  return { ...opening, call, guard }
}

const taskOf = (reserved: Reserved | Refusal, gateway: Gateway, opening: TaskParts): Task => {
  const { key, payer, payment, model, memory, trace, keep, signal, guard } = opening
  if (reserved instanceof Refusal && key.trialUntil !== undefined) throw shortTrial(gateway, reserved)
  const { call, hold, outputBound, heldOutput, fullOutput } = must(reserved)
  return {
    key,
    payer,
    payment,
    call,
    model,
    trace,
    keep,
    memory,
    signal,
    guard,
    hold,
    outputBound: boundSent(call, outputBound, trace),
    heldOutput,
    fullOutput,
    limit: opening.ceiling,
    requestHash: requestHasher(gateway, opening.request.body.bytes),
  }
}

const shortTrial = (gateway: Gateway, refusal: Refusal): Refusal =>
  trialShort(refusal, creditsOf(gateway)(WALLET_MINIMUM), gateway.options.signUpUrl)
