/** GET /v1/models: what is sold, and for how much. */
import { refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { whoCalls } from '../gateway/run-call.ts'
import { modelListing } from '../pricing/model-listing.ts'
import { json } from './reply.ts'
import type { HttpCall } from './routes.ts'

export const listModels = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  await whoCalls(gateway, call.request.headers.get('authorization'), call.trace)
  const data = gateway.catalogue.list().map((model) => modelListing(model, gateway.options.creditNano))
  return json({ object: 'list', data })
}

export const getModel = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  await whoCalls(gateway, call.request.headers.get('authorization'), call.trace)
  const model = gateway.catalogue.find(call.params.id ?? '')
  if (model === undefined)
    throw refuse(
      'model_not_found',
      `There is no model '${call.params.id}'; GET /v1/models lists those your key can use.`,
    )
  return json(modelListing(model, gateway.options.creditNano))
}
