/** A call before it is admitted, however it is paid for: the request, the caller, and what it asks for. */
import {
  bearerToken,
  checkEnabled,
  elsewhere,
  signInEnded,
  trialEnded,
  unknownKey,
} from '../../admission/caller.ts'
import { type Ceiling, readCeiling } from '../../admission/ceiling.ts'
import type { Soon } from '../../book/contract.ts'
import { checkCell } from '../../cells/wrong-cell.ts'
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { warning } from '../../core/log.ts'
import type { Model } from '../../core/model.ts'
import { invalid, must, type Refusal } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import { monthOf } from '../../core/time.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import { checkReach } from '../../dialects/request/media-reach.ts'
import { OUTPUT_MIN } from '../../dialects/responses/encode-call.ts'
import { upstreamDialect } from '../../dialects/upstream-dialect.ts'
import type { PaymentHeaders } from '../../payment/x402/presented.ts'
import { inTier } from '../../pricing/catalogue.ts'
import { nameFor } from '../../tenancy/aliases.ts'
import { awayOf, type Key } from '../../tenancy/key.ts'
import { readWeighed, takePlace } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { addNotCarried } from '../parts/not-carried.ts'
import type { OnSocket } from '../parts/socket-memory.ts'
import type { Memory, Task } from '../parts/task.ts'
import { noteKey, type Trace } from '../parts/trace.ts'
import { ACCESS, keyFor, readAccessToken } from './access-token.ts'
import { finderFor } from './aliases.ts'
import { compactsForNobody, withSummaries } from './compaction.ts'
import { usableHere } from './key-bounds.ts'
import { earlierHashes, moveKey } from './key-by-token.ts'
import { recall } from './recall.ts'
import { otherKind, unknownModel } from './unknown-model.ts'

type BroughtPayment = PaymentHeaders & {
  readonly url: string
  /** The other headers, for what only a payer says. */
  readonly headers: Pick<Headers, 'get'>
  /** The body's bytes are made here, so the caller cannot know their digest. */
  readonly remade: boolean
  origin(): string
}

/** What the HTTP layer knows of a call before it reads the body. */
export type Incoming = {
  /** Name of the endpoint; part of the scope of an Idempotency-Key. */
  readonly endpoint: string
  readonly authorization: string | null
  readonly maxCostUsd: string | undefined
  readonly subWallet: string | undefined
  /** What it is for, as its header says. */
  readonly tags?: string | undefined
  /** The conditions of its header. */
  readonly requires?: string | undefined
  readonly paymentProtocol: string | undefined
  /** The payment it may bring, the address it asked for, and its origin; undefined where no payment is taken. */
  readonly payment: BroughtPayment | undefined
  readonly idempotencyKey: string | undefined
  /** The body's bytes; what was read from a message is counted and parsed. */
  readBody(): Promise<Uint8Array | JsonBody>
  /** Requests of this endpoint may name earlier answers, which are kept in this form. */
  readonly recalls?: KeptForm | undefined
  /** The socket it came on, which remembers its own answers. */
  readonly socket?: OnSocket
  decode(body: JsonBody, modelNamed: (name: string) => Model | undefined): Call | Refusal
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
}

/** The request, read and checked. */
export type CheckedRequest = {
  /** The body as the caller sent it. */
  readonly body: JsonBody
  /** The same with the earlier turns that it names, if it can name some. */
  readonly filled?: JsonBody
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
  takePlace(gateway.capacity, trace.taken)
  const { maxCostUsd } = incoming
  const ceiling = maxCostUsd === undefined ? undefined : must(readCeiling(maxCostUsd, key.terms))
  const read = await incoming.readBody()
  const sent = read instanceof Uint8Array ? readWeighed(gateway.capacity, trace.taken, read) : read
  if (incoming.recalls === undefined) {
    const { call, model } = readCall(gateway, incoming, by, sent)
    return { ceiling, body: sent, call, model }
  }
  const { body, memory } = await recall(
    gateway,
    { form: incoming.recalls, key: keeps ? key : undefined, trace, socket: incoming.socket },
    sent,
  )
  const filled = withSummaries(gateway, { key, trace }, body, sent)
  const asked = readCall(gateway, incoming, by, filled)
  if (asked.call.compacts !== undefined && trace.key === undefined) throw compactsForNobody()
  if (asked.call.compacts?.window === true && memory?.background !== undefined)
    throw invalid('background', "A compaction is answered at once; leave 'background' out.")
  if (memory?.stored !== true && sent.outline.store === true) addNotCarried(trace, ['store'])
  // The next request brings the window of a compaction itself.
  const keepsIt = memory !== undefined && asked.call.compacts?.window !== true
  return { ceiling, body: sent, filled, ...asked, ...(keepsIt ? { memory } : {}) }
}

/** The call that a body asks for, and its model. Throws the Refusal of what is wrong. */
export const readCall = (
  gateway: Gateway,
  incoming: Pick<Incoming, 'decode'>,
  by: Pick<Requester, 'key' | 'trace'>,
  body: JsonBody,
) => {
  const { find } = gateway.offering.catalogue
  const call = must(
    incoming.decode(
      body,
      by.key.aliases === undefined ? find : finderFor(gateway.offering.catalogue, by.key),
    ),
  )
  const refusal = checkReach(call)
  if (refusal) throw refusal
  const model = modelOf(gateway, call, by)
  return { call: withinModel(gateway, call, model), model }
}

/**
 * Clients of one dialect ask every model for as much output as their own vendor's models give. For a vendor of another
 * dialect, a bound that is too large becomes the model's maximum. In the model's own dialect it is kept, and refused. A
 * bound that is too small for the vendor becomes the least that it takes, before the call is priced.
 */
const withinModel = (gateway: Gateway, asked: Call, model: Model): Call => {
  const call = asked.size.compacts === true ? heldBy(gateway, asked, model) : asked
  const { maxOutput: bound } = call
  const most = model.maxOutputTokens
  if (bound === undefined || call.kind !== 'chat' || (bound >= OUTPUT_MIN && bound <= most)) return call
  const vendor = gateway.offering.vendors.get(model.vendor)?.vendor ?? {}
  const speaks = upstreamDialect(call, model, vendor)
  if (speaks === 'responses' && bound < OUTPUT_MIN)
    return { ...call, maxOutput: OUTPUT_MIN, boundRaised: true }
  if (bound <= most || call.dialect === speaks) return call
  return { ...call, maxOutput: most, boundLowered: true }
}

/** A vendor that writes no summary costs no more for being asked. */
const heldBy = (gateway: Gateway, call: Call, model: Model): Call => {
  const vendor = gateway.offering.vendors.get(model.vendor)?.vendor
  if (vendor?.compacts !== undefined && upstreamDialect(call, model, vendor) === call.dialect) return call
  const { compacts: _none, ...size } = call.size
  return { ...call, size }
}

/** The output bound that replaces the caller's own: what was affordable, or the model's maximum. A header names it. */
export const boundSent = (call: Call, affordable: number | undefined, trace: Trace): number | undefined => {
  const bound = affordable ?? (call.boundLowered === true ? call.maxOutput : undefined)
  if (bound !== undefined) trace.headers['x-max-tokens-lowered'] = String(bound)
  if (call.boundRaised === true) trace.headers['x-max-tokens-raised'] = String(call.maxOutput)
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
  const { own } = gateway.options.cell
  if (own !== undefined) checkCell(own, token, trace.from?.request.headers)
  if (token.startsWith(ACCESS)) return ownerByAccess(gateway, token, trace)
  const hash = gateway.hash(token)
  return whenKnown(gateway.book.caller(hash), ownerFound, gateway, { token, hash, trace })
}

/** The caller with the access token of a sign-in. */
const ownerByAccess = async (gateway: Gateway, token: string, trace: Trace): Promise<Key> => {
  const access = must(readAccessToken(gateway.hash, token, gateway.clock.now()))
  const key = must(await gateway.book.callerById(access.keyId))
  return calls(gateway, must(keyFor(access, key) ?? signInEnded()), trace)
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
    return ownerBefore(gateway, { hash, token, trace })
  }
  return calls(gateway, key, trace)
}

/**
 * The request is this key's from now on, as far as the key may be used here. While its organisation is moved to another cell the
 * request waits a little.
 */
const calls = (gateway: Gateway, key: Key, trace: Trace): Soon<Key> => {
  trace.key = key
  noteKey(trace, key.id)
  const { above, limits } = key
  // A plain call must not pay for what nothing sets.
  const free =
    key.cell === undefined &&
    above.length === 0 &&
    limits.expiresAt === undefined &&
    limits.allowedAddresses === undefined &&
    limits.allowedModels === undefined &&
    limits.requires === undefined
  return free ? key : key.cell === undefined ? usableHere(gateway, key, trace) : whenHere(gateway, key, trace)
}

/** How long a request waits for its organisation to arrive, and how often it looks. */
const MOVING_MS = 900
const LOOK_MS = 50

/** The key when its organisation is here again, because a move was taken back; the refusal that says where it is. */
const whenHere = async (gateway: Gateway, key: Key, trace: Trace): Promise<Key> => {
  const { book, clock } = gateway
  const untilMs = clock.monotonicMs() + MOVING_MS
  for (let known = key; ; known = must((await book.callerById(key.id)) ?? unknownKey())) {
    const away = awayOf(known)
    if (away === undefined) return calls(gateway, known, trace)
    if (!away.leaving || clock.monotonicMs() >= untilMs) throw elsewhere(away)
    await clock.sleep(LOOK_MS)
  }
}

/** The caller whose key is stored under an earlier hash; from now on it is found under the present one. */
const ownerBefore = async (gateway: Gateway, { hash, token, trace }: Credential): Promise<Key> => {
  const { book, log } = gateway
  const [first, ...others] = earlierHashes(gateway.hash, token)
  // Another process may have moved the key since our first look at the ledger.
  const key = must(await book.caller(first, [...others, hash]))
  if (key === undefined) throw book.isEndedTrial(first) ? trialEnded(gateway.options.signUpUrl) : unknownKey()
  moveKey(gateway, token, key).then(
    () => book.lookAgain(hash),
    warning(log, 'a key is still noted under an earlier hash', { key: key.id }),
  )
  return calls(gateway, key, trace)
}

/** The model that a key's call names; by its tier the discounted one, where there is one. Throws the Refusal of one that is unknown or of another kind. */
export const modelOf = (gateway: Gateway, call: Call, { key, trace }: Pick<Task, 'key' | 'trace'>): Model => {
  const name = key.aliases === undefined ? call.modelName : nameFor(key, call.modelName)
  const { catalogue } = gateway.offering
  const named = catalogue.find(name)
  if (named === undefined) throw unknownModel(catalogue, name, { kind: call.kind })
  if (named.kind !== call.kind) throw otherKind(named, call.modelName, call.kind)
  const { tier } = call
  const sold = tier === undefined ? named : inTier(catalogue, named, tier)
  if (sold === undefined) addNotCarried(trace, [call.dialect === 'gemini' ? 'serviceTier' : 'service_tier'])
  const model = sold ?? named
  trace.model = model.id
  trace.vendor = model.vendor
  if (trace.span !== undefined) trace.span.asked = call
  return model
}
