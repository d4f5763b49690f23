/** GET /v1/models: what is sold, and for how much. Clients of the generate-content style get that style's list. */
import { modelFor, modelsFor } from '../gateway/rules.ts'
import { modelListing } from '../pricing/model-listing.ts'
import { callerOf } from './caller.ts'
import { getGeminiModel, listGeminiModels } from './gemini-calls.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

/** Newer libraries of the generate-content style ask under /v1 too; only they send this header. */
const wantsGemini = ({ request }: HttpCall): boolean => request.headers.has('x-goog-api-key')

export const listModels: Handler = async (gateway, call) => {
  if (wantsGemini(call)) return listGeminiModels(gateway, call)
  const key = await callerOf(gateway, call, 'messages')
  const data = (await modelsFor(gateway, key)).map((model) => modelListing(model, gateway.options.creditNano))
  // The messages style reads its pages from the members behind the list.
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
  const key = await callerOf(gateway, call, 'messages')
  const model = await modelFor(gateway, key, { name: call.params.rest ?? '' })
  return json(modelListing(model, gateway.options.creditNano))
}
