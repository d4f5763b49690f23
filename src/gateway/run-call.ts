/**
 * The life of one call, top to bottom. Only this file knows the order:
 * who calls, what they ask, whether they asked it before, whether they may, hold the money, ask, meter, settle.
 */
import { bearerToken, checkEnabled, unknownKey } from '../admission/caller.ts'
import { type Ceiling, readCeiling } from '../admission/ceiling.ts'
import { rateLimited } from '../admission/rate.ts'
import type { Call } from '../core/call.ts'
import { type JsonBody, readJsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { must, type Refusal, refuse } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import { paymentMode } from '../payment/funding.ts'
import type { Key } from '../tenancy/key.ts'
import type { Answer } from './answer.ts'
import { answerStream } from './answer-stream.ts'
import { answerWhole } from './answer-whole.ts'
import type { Gateway } from './gateway.ts'
import { onceOnly } from './once-only.ts'
import type { Keep } from './recording.ts'
import { reserve } from './reserve.ts'
import type { Task } from './task.ts'
import type { Trace } from './trace.ts'

/** What the HTTP layer knows of a call before its body is read. */
export type Incoming = {
  /** Name of the endpoint, part of the scope of an Idempotency-Key. */
  readonly endpoint: string
  readonly authorization: string | null
  readonly maxCostUsd: string | undefined
  readonly paymentProtocol: string | undefined
  readonly idempotencyKey: string | undefined
  readonly readBody: () => Promise<Uint8Array>
  readonly decode: (body: JsonBody, modelNamed: (name: string) => Model | undefined) => Call | Refusal
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
}

/** Answers one call, or throws the Refusal that says why not. */
export const runCall = async (gateway: Gateway, incoming: Incoming, trace: Trace): Promise<Answer> => {
  const key = await whoCalls(gateway, incoming.authorization, trace)
  must(paymentMode(incoming.paymentProtocol))
  const ceiling = must(readCeiling(incoming.maxCostUsd))
  const body = must(readJsonBody(await incoming.readBody()))
  const call = must(incoming.decode(body, gateway.catalogue.find))
  const model = must(modelOf(gateway, call, trace))
  return onceOnly(gateway, { incoming, key, body, trace }, async (keep, signal) => {
    await takeTurn(gateway, key, trace)
    const task: Task = await openTask(gateway, { key, call, model, ceiling, trace, keep, signal })
    return call.stream ? answerStream(gateway, task) : answerWhole(gateway, task)
  })
}

/** The caller behind the credential, if it may call now. */
export const whoCalls = async (
  gateway: Gateway,
  authorization: string | null,
  trace: Trace,
): Promise<Key> => {
  const key = await ownerOf(gateway, authorization, trace)
  const refusal = checkEnabled(key, monthOf(gateway.clock.now()))
  if (refusal) throw refusal
  return key
}

/** The caller behind the credential, disabled or not: a disabled key may still see and change its own limits. */
export const ownerOf = async (gateway: Gateway, authorization: string | null, trace: Trace): Promise<Key> => {
  const token = must(bearerToken(authorization))
  const key = must(await gateway.book.caller(gateway.hash(token)))
  if (key === undefined) throw unknownKey()
  trace.keyId = key.id
  return key
}

const modelOf = (gateway: Gateway, call: Call, trace: Trace): Model | Refusal => {
  const model = gateway.catalogue.find(call.modelName)
  if (model === undefined || model.kind !== call.kind)
    return refuse(
      'model_not_found',
      `There is no ${call.kind} model '${call.modelName}'; GET /v1/models lists those your key can use.`,
      {
        members: { param: 'model' },
      },
    )
  trace.model = model.id
  trace.vendor = model.vendor
  return model
}

/** One request of the key's minute. */
const takeTurn = async (gateway: Gateway, key: Key, trace: Trace): Promise<void> => {
  const rate = must(await gateway.book.takeRate(key.id, key.limits.rpm ?? gateway.options.planRpm))
  trace.rate = rate
  if (!rate.admitted) throw rateLimited(rate.limit, rate.retryAfterMs)
}

type Opening = {
  readonly key: Key
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  readonly trace: Trace
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
}

/** Holds the money and makes the task that carries it. */
const openTask = async (gateway: Gateway, opening: Opening): Promise<Task> => {
  const { ceiling, ...rest } = opening
  const reserved = must(await reserve(gateway, { ...opening, callId: opening.trace.callId }))
  const { lowered, ...held } = reserved
  if (lowered !== undefined) opening.trace.headers['x-max-tokens-lowered'] = String(lowered)
  return { ...rest, ...held, limit: ceiling }
}
