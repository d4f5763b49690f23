/** `POST /v1/rerank` in the shape that Cohere and Jina share, and `POST /v1/moderations` in OpenAI's. */
import type { Call } from '../../core/call.ts'
import { bodyOf, isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { inputsOf, type ModelNamed, mediaCall, productNamed } from './media-calls.ts'

type Utility = {
  readonly body: JsonBody
  readonly modelNamed: ModelNamed
  /** The input that a product of this endpoint must have. */
  readonly marked: string
  readonly inputs: JsonObject
}

const utilityCall = ({ body, modelNamed, marked, inputs }: Utility): Call | Refusal => {
  const found = productNamed(body, modelNamed, 'utility')
  if (found instanceof Refusal) return found
  if (!found.product.inputs.includes(marked))
    return refuse('model_not_found', `'${found.name}' is not a model of this endpoint.`, {
      members: { param: 'model' },
    })
  return mediaCall(found.name, body, { product: found.product, inputs, results: 'plain', flat: true })
}

/** Documents are strings, or objects that contain one. */
const textOf = (document: Json): Json =>
  isObject(document) && typeof document.text === 'string' ? document.text : document

/** Sources: Cohere API reference, "Rerank (v2)"; Jina API, "Rerank". */
export const decodeRerankCall = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
  const { documents, return_documents: returned } = body.value
  if (returned === true)
    return invalid(
      'return_documents',
      "Documents are not sent back; each result names its document by 'index'.",
    )
  const inputs = {
    ...inputsOf(body.value, ['return_documents']),
    ...(Array.isArray(documents) ? { documents: documents.map(textOf) } : {}),
  }
  return utilityCall({ body, modelNamed, marked: 'documents', inputs })
}

/** OpenAI's default when no model is named. */
const MODERATION = 'openai/omni-moderation-latest'

const MODERATIONS: readonly Json[] = [MODERATION, 'omni-moderation-latest']

/** Source: OpenAI API reference, "Create moderation". */
export const decodeModerationCall = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
  const { model } = body.value
  const unnamed = model === undefined || model === null
  if (MODERATIONS.includes(unnamed ? MODERATION : model) && modelNamed(MODERATION) === undefined)
    return refuse(
      'model_not_found',
      `'${MODERATION}', the model of moderations, is not sold here: the operator has not set OPENAI_API_KEY.`,
      { members: { param: 'model' } },
    )
  const named = unnamed ? bodyOf({ ...body.value, model: MODERATION }) : body
  return utilityCall({ body: named, modelNamed, marked: 'input', inputs: inputsOf(named.value, []) })
}
