/** GET /v1/models: what is sold, and at what price. Clients of the generate-content style get that style's list. */
import type { Model } from '../core/model.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { guestKey } from '../gateway/guest-key.ts'
import { takeGuestTurn } from '../gateway/guest-turn.ts'
import { modelFor, modelsFor } from '../gateway/rules.ts'
import { messagesListing, modelListing } from '../products/model-listing.ts'
import type { Key } from '../tenancy/key.ts'
import { callerOf } from './caller.ts'
import { getGeminiModel, listGeminiModels } from './gemini-calls.ts'
import { credentialOf } from './headers.ts'
import { originOfCall } from './origin.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

/** Newer libraries of the generate-content style also ask under /v1; only they send this header. */
const wantsGemini = ({ request }: HttpCall): boolean => request.headers.has('x-goog-api-key')

/** Only clients of messages send this header. */
const listingFor = (gateway: Gateway, { request }: HttpCall) => {
  const listing = request.headers.has('anthropic-version') ? messagesListing : modelListing
  return (model: Model) => listing(model, gateway.options.creditNano)
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

export const listModels: Handler = async (gateway, call) => {
  if (wantsGemini(call)) return listGeminiModels(gateway, call)
  const key = await readerOf(gateway, call)
  const data = (await modelsFor(gateway, key)).map(listingFor(gateway, call))
  // Clients of messages page through the list by these members.
  return json({
    object: 'list',
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  })
}

export const getModel: Handler = async (gateway, call) => {
  if (wantsGemini(call)) return getGeminiModel(gateway, call)
  const key = await readerOf(gateway, call)
  const model = await modelFor(gateway, key, { name: call.params.rest ?? '' })
  return json(listingFor(gateway, call)(model))
}
