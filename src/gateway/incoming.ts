/** A call before it is admitted, however it is paid for: the request, the caller, and what it asks for. */
import { bearerToken, checkEnabled, trialEnded, unknownKey } from '../admission/caller.ts'
import { type Ceiling, readCeiling } from '../admission/ceiling.ts'
import type { Soon } from '../book/contract.ts'
import type { Call } from '../core/call.ts'
import type { JsonBody } from '../core/json-body.ts'
import { messageOf } from '../core/message-of.ts'
import type { Model } from '../core/model.ts'
import { must, type Refusal } from '../core/refusal.ts'
import { whenKnown } from '../core/soon.ts'
import { monthOf } from '../core/time.ts'
import { checkReach } from '../dialects/media-reach.ts'
import { upstreamDialect } from '../dialects/upstream-dialect.ts'
import type { PaymentHeaders } from '../payment/x402/presented.ts'
import { nameFor } from '../tenancy/aliases.ts'
import type { Key } from '../tenancy/key.ts'
import { finderFor } from './aliases.ts'
import { readWeighed, takePlace } from './capacity.ts'
import type { Gateway } from './gateway.ts'
import { moveKey } from './key-by-token.ts'
import { addNotCarried } from './not-carried.ts'
import { type Memory, recall } from './remember.ts'
import type { Task } from './task.ts'
import type { Trace } from './trace.ts'
import { otherKind, unknownModel } from './unknown-model.ts'

/** What the HTTP layer knows of a call before it reads the body. */
export type Incoming = {
  /** Name of the endpoint; part of the scope of an Idempotency-Key. */
  readonly endpoint: string
  readonly authorization: string | null
  readonly maxCostUsd: string | undefined
  readonly subWallet: string | undefined
  readonly paymentProtocol: string | undefined
  /** The payment it may bring, the address it asked for, and its origin; undefined where no payment is taken. */
  readonly payment: (PaymentHeaders & { readonly url: string; origin(): string }) | undefined
  readonly idempotencyKey: string | undefined
  readBody(): Promise<Uint8Array>
  /** Requests of this endpoint may name earlier answers. */
  readonly recalls?: boolean
  decode(body: JsonBody, modelNamed: (name: string) => Model | undefined): Call | Refusal
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
}

/** The request, read and checked. */
export type CheckedRequest = {
  /** The body as the caller sent it. */
  readonly body: JsonBody
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  readonly memory?: Memory
}

/** Who asks: the key whose aliases the request may use and, if answers are kept for it, whose earlier answers. */
type Requester = Pick<Task, 'key' | 'trace'> & { readonly keeps: boolean }

/** Reads and checks the request. */
export const readRequest = async (
  gateway: Gateway,
  incoming: Incoming,
  by: Requester,
): Promise<CheckedRequest> => {
  const { key, trace, keeps } = by
  takePlace(gateway.capacity, trace)
  const { maxCostUsd } = incoming
  const ceiling = maxCostUsd === undefined ? undefined : must(readCeiling(maxCostUsd))
  const sent = readWeighed(gateway.capacity, trace, await incoming.readBody())
  if (incoming.recalls !== true) {
    const { call, model } = readCall(gateway, incoming, by, sent)
    return { ceiling, body: sent, call, model }
  }
  const { body, memory } = await recall(gateway, keeps ? key : undefined, sent)
  const read = readCall(gateway, incoming, by, body)
  if (memory === undefined && sent.outline.store === true) addNotCarried(trace, ['store'])
  return { ceiling, body: sent, ...read, ...(memory === undefined ? {} : { memory }) }
}

const readCall = (gateway: Gateway, incoming: Incoming, by: Requester, body: JsonBody) => {
  const { find } = gateway.offering.catalogue
  const call = must(
    incoming.decode(
      body,
      by.key.aliases === undefined ? find : finderFor(gateway.offering.catalogue, by.key),
    ),
  )
  const refusal = checkReach(call)
  if (refusal) throw refusal
  const model = must(modelOf(gateway, call, by))
  return { call: withinModel(gateway, call, model), model }
}

/**
 * Clients of one dialect ask every model for as much output as their own vendor's models give. For a vendor of another
 * dialect, a bound that is too large becomes the model's maximum. In the model's own dialect it is kept, and refused.
 */
const withinModel = (gateway: Gateway, call: Call, model: Model): Call => {
  const most = model.maxOutputTokens
  if (call.maxOutput === undefined || call.maxOutput <= most) return call
  const vendor = gateway.offering.vendors.get(model.vendor)?.vendor ?? {}
  if (call.dialect === upstreamDialect(call, model, vendor)) return call
  return { ...call, maxOutput: most, boundLowered: true }
}

/** The output bound that replaces the caller's own: what was affordable, or the model's maximum. A header names it. */
export const boundSent = (call: Call, affordable: number | undefined, trace: Trace): number | undefined => {
  const bound = affordable ?? (call.boundLowered === true ? call.maxOutput : undefined)
  if (bound !== undefined) trace.headers['x-max-tokens-lowered'] = String(bound)
  return bound
}

/** The caller with this credential, if it may call now. */
export const whoCalls = (gateway: Gateway, authorization: string | null, trace: Trace): Soon<Key> => {
  return whenKnown(ownerOf(gateway, authorization, trace), enabled, gateway.clock, undefined)
}

const enabled = (key: Key, clock: Gateway['clock']): Key => {
  const refusal = checkEnabled(key, monthOf(clock.now()))
  if (refusal) throw refusal
  return key
}

/** The caller with this credential, disabled or not: a disabled key may still see and change its own limits. */
export const ownerOf = (gateway: Gateway, authorization: string | null, trace: Trace): Soon<Key> => {
  const token = must(bearerToken(authorization))
  const hash = gateway.hash(token)
  return whenKnown(gateway.book.caller(hash), ownerFound, gateway, { token, hash, trace })
}

type Credential = { readonly token: string; readonly hash: string; readonly trace: Trace }

const ownerFound = (
  found: Key | undefined | Refusal,
  gateway: Gateway,
  { token, hash, trace }: Credential,
): Soon<Key> => {
  const key = must(found)
  if (key === undefined) {
    if (gateway.book.isEndedTrial(hash)) throw trialEnded(gateway.options.signUpUrl)
    if (gateway.hash.before !== undefined)
      return ownerBefore(gateway, { hash, before: gateway.hash.before(token), token }, trace)
    throw unknownKey()
  }
  trace.keyId = key.id
  return key
}

type Moving = { readonly hash: string; readonly before: string; readonly token: string }

/** The caller whose key is stored under the previous secret; from now on it is found under the present one. */
const ownerBefore = async (gateway: Gateway, { hash, before, token }: Moving, trace: Trace): Promise<Key> => {
  const { book, log } = gateway
  const looked = book.caller(before)
  const key = must(await looked)
  if (key !== undefined) {
    trace.keyId = key.id
    moveKey(gateway, token, key).then(
      () => book.lookAgain(hash),
      (error: unknown) =>
        log.warn('a key is still noted under the old secret', { key: key.id, error: messageOf(error) }),
    )
    return key
  }
  if (book.isEndedTrial(before)) throw trialEnded(gateway.options.signUpUrl)
  // Another process may have moved the key between our two looks at the ledger.
  if (!(looked instanceof Promise)) throw unknownKey()
  book.lookAgain(hash)
  const moved = must(await book.caller(hash))
  if (moved === undefined) throw unknownKey()
  trace.keyId = moved.id
  return moved
}

/** The model that a key's call names, if it is of the call's kind. */
export const modelOf = (
  gateway: Gateway,
  call: Call,
  { key, trace }: Pick<Task, 'key' | 'trace'>,
): Model | Refusal => {
  const name = key.aliases === undefined ? call.modelName : nameFor(key, call.modelName)
  const model = gateway.offering.catalogue.find(name)
  if (model === undefined) return unknownModel(gateway.offering.catalogue, name, { kind: call.kind })
  if (model.kind !== call.kind) return otherKind(model, call.modelName, call.kind)
  trace.model = model.id
  trace.vendor = model.vendor
  return model
}
