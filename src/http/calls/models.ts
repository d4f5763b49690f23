/** GET /v1/models: what is sold, and at what price; for Cohere's clients in their own style. */
import type { Model } from '../../core/model.ts'
import { invalid, must } from '../../core/refusal.ts'
import { modelFor, modelsFor } from '../../gateway/enter/rules.ts'
import { guestKey } from '../../gateway/paid/guest-key.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { cohereListing, messagesListing, modelListing } from '../../products/model-listing.ts'
import { toldModel } from '../../products/told-model.ts'
import { conditionsIn, together } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import { tellsNothing } from '../../tenancy/terms.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import { credentialOf, isOfMessages } from '../route/headers.ts'
import type { Handler, HttpCall } from '../route/route.ts'

/** A tenant sees its reseller's prices, or none. */
const listingFor = (gateway: Gateway, call: HttpCall, { terms }: Key) => {
  const listing = isOfMessages(call) ? messagesListing : modelListing
  return (model: Model) => {
    const whole = listing(
      toldModel(model, terms),
      gateway.options.creditNano,
      gateway.offering.vendors.get(model.vendor),
    )
    if (!tellsNothing(terms)) return whole
    const { cost: _cost, cost_unit: _unit, pricing: _pricing, coming: _coming, ...rest } = whole
    return rest
  }
}

/**
 * The caller. If calls can be paid one by one, a caller without a key may ask too, because it must learn names and
 * prices first.
 */
const readerOf = async (gateway: Gateway, call: HttpCall): Promise<Key> => {
  const { x402 } = gateway.payments
  const isGuest = credentialOf(call.request.headers, call.query, 'messages') === null
  if (!isGuest || x402 === undefined || x402.offers().length === 0) return callerOf(gateway, call, 'messages')
  takeGuestTurn(gateway, 'list', originOfCall(gateway, call), call.trace)
  return guestKey(gateway, x402, call.trace)
}

/**
 * A model and, before it, the same by its name alone: clients of messages know the family of a model from the beginning of
 * its id, such as `claude-sonnet-4-5`.
 */
const withShortName = <One extends { readonly id: string }>(
  { offering }: Gateway,
  { id, vendor }: Model,
  listing: One | undefined,
): readonly One[] => {
  if (listing === undefined) return []
  const name = id.slice(vendor.length + 1)
  const isKnown = name.startsWith('claude') && offering.catalogue.find(name)?.id === id
  return isKnown ? [{ ...listing, id: name }, listing] : [listing]
}

const LIMIT_MAX = 1_000

/** How many models a page may have: as many as there may be if nobody says. */
const sizeIn = (asked: URLSearchParams, name: string): number => {
  const size = asked.get(name) ?? String(LIMIT_MAX)
  if (/^[1-9]\d{0,3}$/.test(size) && Number(size) <= LIMIT_MAX) return Number(size)
  throw invalid(name, `'${name}' must be a whole number from 1 to ${LIMIT_MAX}.`)
}

/**
 * The part of the list that a client of messages asks for; the whole of it if it does not ask. Source: Anthropic API
 * reference, "List Models".
 */
const pageOf = <One extends { readonly id: string }>(all: readonly One[], { query }: HttpCall) => {
  const asked = new URLSearchParams(query)
  const limit = sizeIn(asked, 'limit')
  const [after, before] = [asked.get('after_id'), asked.get('before_id')]
  const placeOf = (name: string, id: string): number => {
    const place = all.findIndex((one) => one.id === id)
    if (place < 0) throw invalid(name, `'${name}' ('${id}') is no model of the list.`)
    return place
  }
  const rest = after === null ? all : all.slice(placeOf('after_id', after) + 1)
  if (before === null) return { data: rest.slice(0, limit), hasMore: rest.length > limit }
  const earlier = all.slice(0, placeOf('before_id', before))
  return { data: earlier.slice(-limit), hasMore: earlier.length > limit }
}

export const listModels: Handler = async (gateway, call) => {
  const reader = await readerOf(gateway, call)
  const asked = new URLSearchParams(call.query).get('require')
  const key =
    asked === null
      ? reader
      : { ...reader, requires: together(reader.requires, must(conditionsIn('require', asked))) }
  const models = await modelsFor(gateway, key)
  const known = models.map(listingFor(gateway, call, key))
  const all = isOfMessages(call)
    ? models.flatMap((model, at) => withShortName(gateway, model, known[at]))
    : known
  const { data, hasMore } = isOfMessages(call) ? pageOf(all, call) : { data: all, hasMore: false }
  return json({
    object: 'list',
    data,
    has_more: hasMore,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  })
}

export const getModel: Handler = async (gateway, call) => {
  const key = await readerOf(gateway, call)
  const model = await modelFor(gateway, key, { name: call.params.rest ?? '' })
  return json(listingFor(gateway, call, key)(model))
}

/** The models that Cohere's clients can call, or those for one of their addresses; none is the default of any. */
export const listCohereModels: Handler = async (gateway, call) => {
  const key = await readerOf(gateway, call)
  const asked = new URLSearchParams(call.query)
  const [after, wanted] = [asked.get('page_token'), asked.get('endpoint')]
  const most = sizeIn(asked, 'page_size')
  const known = asked.get('default_only') === 'true' ? [] : (await modelsFor(gateway, key)).map(cohereListing)
  const all = known.filter(({ endpoints }) => endpoints.some((one) => wanted === null || one === wanted))
  const start = after === null ? 0 : all.findIndex(({ name }) => name === after) + 1
  if (after !== null && start === 0)
    throw invalid('page_token', "'page_token' is no 'next_page_token' of this list.")
  const models = all.slice(start, start + most)
  const more = start + models.length < all.length
  return json({ models, ...(more ? { next_page_token: models.at(-1)?.name } : {}) })
}

export const getCohereModel: Handler = async (gateway, call) => {
  const key = await readerOf(gateway, call)
  return json(cohereListing(await modelFor(gateway, key, { name: call.params.rest ?? '' })))
}
