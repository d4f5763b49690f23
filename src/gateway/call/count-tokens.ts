/**
 * Counts the tokens of an input: the vendor's own count if it speaks the caller's dialect, else an estimate. Free of
 * charge.
 */

import type { Call } from '../../core/call.ts'
import { isObject, type JsonBody, parseJson, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { must, Refusal } from '../../core/refusal.ts'
import { betaHeader, betasFor } from '../../dialects/messages/betas.ts'
import { checkReach } from '../../dialects/request/media-reach.ts'
import { upstreamDialect } from '../../dialects/upstream-dialect.ts'
import { estimateUsage } from '../../metering/estimate.ts'
import { inputBound } from '../../pricing/quote.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import type { OwnKeys } from '../../tenancy/own-keys.ts'
import { exchange } from '../../transport/exchange.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { meetsAll } from '../../vendors/handled-at.ts'
import { fullAt } from '../ask/ask-vendor.ts'
import { authorized } from '../ask/authorize.ts'
import { ownDeployments } from '../ask/own-places.ts'
import { deploymentsFor } from '../enter/deployments-for.ts'
import { modelOf } from '../enter/incoming.ts'
import { takeTurn } from '../enter/key-turn.ts'
import { isGuarded, rulesFor } from '../enter/rules.ts'
import { CountedAnswer, takePlace } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { guardCount } from './guard-call.ts'

type Count = { readonly key: Key; readonly call: Call; readonly trace: Trace }

/** Whether the vendor can count the request as it is. What asks for a summary is an item only in responses. */
const isPlain = ({ foreign, compacts, dialect }: Call): boolean =>
  foreign !== true && (compacts === undefined || dialect === 'messages')

/** Counts the tokens; an answer header says when the count is an estimate. Takes one request of the key's minute. */
export const countTokens = async (gateway: Gateway, it: Count): Promise<{ readonly tokens: number }> => {
  const refusal = checkReach(it.call)
  if (refusal) throw refusal
  const model = modelOf(gateway, it.call, it)
  const rules = must(await rulesFor(gateway, it.key, model, it.trace))
  await takeTurn(gateway, it.key, it.trace)
  takePlace(gateway.capacity, it.trace.taken)
  const call = isGuarded(it.key, rules) ? await guardCount(gateway, rules, it) : it.call
  const { conditions = NO_CONDITIONS } = it.trace
  const places = await placesToCount(gateway, it.key, { model, ownKeys: rules.ownKeys })
  const place = places.find((at) => conditions === NO_CONDITIONS || meetsAll(at.setup, at.model, conditions))
  const speaks = place === undefined ? undefined : upstreamDialect(it.call, place.model, place.setup.vendor)
  const asks = place !== undefined && speaks === it.call.dialect && isPlain(it.call)
  if (asks && fullAt(gateway, it.trace, place.setup.vendor.id) === undefined) {
    const counted = await askCount(gateway, { ...it, call }, place).catch(unreachable)
    if (counted !== undefined) return { tokens: counted }
  }
  it.trace.headers['x-estimated'] = 'true'
  const bound = inputBound(model, it.call.size)
  return { tokens: estimateUsage(model, it.call, bound, { letters: 0, events: 0 }).input ?? 0 }
}

/** A count goes out with the key that the call would have; where none can be used, it is an estimate. */
const placesToCount = async (
  gateway: Gateway,
  { orgId }: Key,
  { model, ownKeys: own }: { readonly model: Model; readonly ownKeys: OwnKeys | undefined },
): Promise<readonly Deployment[]> =>
  own?.[model.vendor] === undefined
    ? deploymentsFor(gateway.offering, model)
    : ownDeployments(gateway, { orgId, own }, model).catch(() => [])

const unreachable = (fault: unknown): undefined => {
  if (!(fault instanceof VendorFault)) throw fault
}

const ways = {
  messages: { path: () => '/messages/count_tokens', at: 'input_tokens' },
  gemini: { path: (name: string) => `/models/${name}:countTokens`, at: 'totalTokens' },
  responses: { path: () => '/responses/input_tokens', at: 'input_tokens' },
} as const

const isCounted = (dialect: Call['dialect']): dialect is keyof typeof ways => Object.hasOwn(ways, dialect)

const without = (body: JsonBody, name: string, members: readonly string[]): Uint8Array => {
  const left = ['stream', ...members].map((member): [string, undefined] => [member, undefined])
  return splice(body, { ...Object.fromEntries(left), model: JSON.stringify(name) })
}

/** What is sent to have an input counted: the request without what only an answer needs. */
const bodies: Readonly<Record<keyof typeof ways, (body: JsonBody, name: string) => Uint8Array>> = {
  messages: (body, name) =>
    without(body, name, ['max_tokens', 'context_management', 'compaction', 'betas', 'anthropic_beta']),
  gemini: (body, name) =>
    new TextEncoder().encode(
      JSON.stringify({ generateContentRequest: { ...body.value, model: `models/${name}` } }),
    ),
  responses: (body, name) =>
    without(body, name, ['max_output_tokens', 'store', 'include', 'metadata', 'prompt_cache_key']),
}

const askCount = async (
  gateway: Gateway,
  { call, trace }: Count,
  place: Deployment,
): Promise<number | undefined> => {
  const { setup, model } = place
  const { dialect } = call
  if (!isCounted(dialect)) return undefined
  const name = model.upstreamName
  const body = bodies[dialect](call.body, name)
  const betas = dialect === 'messages' ? betasFor(call.betas ?? [], 'header', model) : undefined
  const headers = betas === undefined || betas instanceof Refusal ? {} : betaHeader(betas.sent)
  const url = setup.baseUrl + ways[dialect].path(name)
  const answered = await exchange({
    fetch: setup.fetch ?? fetch,
    url,
    headers: { ...headers, ...(await authorized(place, trace.conditions, { url, body })) },
    body,
    timeouts: gateway.options.timeouts,
    counting: new CountedAnswer(gateway.capacity, trace.taken),
  })
  const value = parseJson(new TextDecoder().decode(await answered.all()))
  const count = isObject(value) ? value[ways[dialect].at] : undefined
  return answered.status === 200 && typeof count === 'number' && Number.isSafeInteger(count)
    ? count
    : undefined
}
