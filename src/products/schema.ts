/** What a product takes, as JSON Schema: the same description that checks its calls. */
import { FILE_ID } from '../core/file-id.ts'
import { isObject, type JsonObject } from '../core/json-body.ts'
import type { Model, Product } from '../core/model.ts'
import { chatRequest } from '../dialects/chat/request.ts'
import { embeddingsRequest } from '../dialects/request/embeddings.ts'

const known = new WeakMap<Model, JsonObject>()

/** Inputs of the run interface; for a chat or embeddings model, the body of its own endpoint without the model. */
export const inputSchemaOf = (model: Model): JsonObject => {
  const made = known.get(model)
  if (made !== undefined) return made
  const schema = model.product === undefined ? withoutModel(model) : withFiles(model.product)
  known.set(model, schema)
  return schema
}

/** Where the product does not take an address or file itself, the server reads the caller's for it. */
const READ_HERE: readonly JsonObject[] = [
  { type: 'string', pattern: '^[hH][tT][tT][pP][sS]://', description: 'A public https address' },
  { type: 'string', pattern: FILE_ID.source, description: 'The id of a file of POST /v1/files' },
]

const withFiles = ({ schema, media }: Product): JsonObject => {
  const whole = schema()
  const properties = isObject(whole.properties) ? whole.properties : {}
  const widened = media.flatMap(({ name, types }) => {
    const one = properties[name]
    if (!isObject(one)) return []
    const widen = (of: JsonObject): JsonObject => ({ anyOf: [of, ...READ_HERE], 'x-media': types })
    return [[name, isObject(one.items) ? { ...one, items: widen(one.items) } : widen(one)]]
  })
  return { ...whole, properties: { ...properties, ...Object.fromEntries(widened) } }
}

const withoutModel = (model: Model): JsonObject => {
  const whole = (model.kind === 'embeddings' ? embeddingsRequest : chatRequest).schema ?? {}
  const { model: _model, ...properties } = isObject(whole.properties) ? whole.properties : {}
  const required = Array.isArray(whole.required) ? whole.required : []
  const bounded = Object.entries(properties).map(([name, one]) => [
    name,
    (name === 'max_tokens' || name === 'max_completion_tokens') && isObject(one)
      ? { ...one, maximum: model.maxOutputTokens }
      : one,
  ])
  return {
    ...whole,
    properties: Object.fromEntries(bounded),
    required: required.filter((name) => name !== 'model'),
  }
}
