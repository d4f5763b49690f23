/**
 * Embeddings as callers of Cohere's and Ollama's form ask for them: the texts and what is wanted of them, and the answer
 * in that form. Sources of the formats: npm cohere-ai 8.1.0, `V2EmbedRequest`, `EmbedByTypeResponse`; npm ollama 0.6.4,
 * `EmbedRequest`, `EmbeddingsRequest`.
 */
import type { Call } from '../core/call.ts'
import { bodyOf, type JsonBody, type JsonObject } from '../core/json-body.ts'
import type { Refusal } from '../core/refusal.ts'
import { inputTokens } from '../core/usage.ts'
import { type Billed, withBill } from './bill-members.ts'
import { addOllamaBill } from './ollama/reply.ts'
import { base64Of, embeddingsCall, input, type TextsToEmbed } from './request/embeddings.ts'
import { listOf, numberOf, textOf, textsOf } from './request/json-members.ts'
import { ignored, ignoredIn, modelName, needed, notOffered, request } from './request/request.ts'
import { any, flag, integer, list, type Shape, text, word } from './request/shape.ts'
import { refuseUnsupported } from './translate/vendor-call.ts'

export const cohereEmbedRequest = request({
  model: modelName,
  input_type: ignored(text),
  embedding_types: list(word(['float', 'base64'])),
  output_dimension: integer(1, 65_536),
  truncate: ignored(text),
  max_tokens: ignored(integer(1)),
  priority: ignored(integer(0)),
  ...notOffered(
    ['images', 'inputs'],
    (value) => listOf(value).length === 0 && Array.isArray(value),
    (name) => `'${name}' is not offered here: embeddings are made of 'texts'.`,
  ),
  texts: needed(input, (name) => `'${name}' is required: a list of strings.`),
})

const ofOllama = {
  model: modelName,
  options: ignored(any),
  keep_alive: ignored(any),
  truncate: ignored(flag),
}

export const ollamaEmbedRequest = request({
  ...ofOllama,
  dimensions: integer(1, 65_536),
  input: needed(input, (name) => `'${name}' is required: a string or a list.`),
})

/** The older form, for one text. */
export const ollamaEmbeddingsRequest = request({
  ...ofOllama,
  prompt: needed(text, (name) => `'${name}' is required: a string.`),
})

type Form = {
  readonly dialect: 'cohere' | 'ollama'
  readonly request: Shape
  /** The member with the texts, and the one with the number of dimensions. */
  readonly param: string
  readonly size: string
  write(vectors: readonly (readonly number[])[], it: Embedded): Uint8Array
}

type Embedded = {
  readonly body: JsonObject
  readonly billed: Billed
  /** The id of the answer. */
  readonly id: string
}

const cohere: Form = {
  dialect: 'cohere',
  request: cohereEmbedRequest,
  param: 'texts',
  size: 'output_dimension',
  write: (vectors, { body, billed: { usage, bill }, id }) => {
    const types = textsOf(body.embedding_types)
    const embeddings = Object.fromEntries(
      (types.length === 0 ? ['float'] : types).map((type) => [
        type,
        type === 'base64' ? vectors.map(base64Of) : vectors,
      ]),
    )
    const counted = { api_version: { version: '2' }, billed_units: { input_tokens: inputTokens(usage) } }
    const head = bodyOf({ response_type: 'embeddings_by_type', id, texts: body.texts ?? [], embeddings })
    const text = new TextDecoder().decode(head.bytes)
    return new TextEncoder().encode(`${text.slice(0, -1)},"meta":${withBill(counted, bill)}}`)
  },
}

const ollamaForm = (description: Shape, param: string): Form => ({
  dialect: 'ollama',
  request: description,
  param,
  size: 'dimensions',
  write: (vectors, { body, billed }) => {
    const counted = { model: textOf(body.model) ?? '', prompt_eval_count: inputTokens(billed.usage) }
    const made = param === 'prompt' ? { embedding: vectors[0] ?? [] } : { ...counted, embeddings: vectors }
    return addOllamaBill(bodyOf(made), billed)
  },
})
const ollama = ollamaForm(ollamaEmbedRequest, 'input')
const olderOllama = ollamaForm(ollamaEmbeddingsRequest, 'prompt')

const decodesAs =
  (form: Form) =>
  (body: JsonBody): Call | Refusal =>
    embeddingsCall(form.request, body, form.dialect)

/** Read and check the bodies of `/v2/embed`, `/api/embed` and `/api/embeddings`. */
export const decodeCohereEmbed = decodesAs(cohere)
export const decodeOllamaEmbed = decodesAs(ollama)
export const decodeOllamaEmbeddings = decodesAs(olderOllama)

/** What a checked call asks for, and how its answer is written; undefined for calls of other dialects. */
export const smallEmbeddings = ({ dialect, body: { value } }: Call) => {
  if (dialect !== 'cohere' && dialect !== 'ollama') return undefined
  const form = dialect === 'cohere' ? cohere : value.prompt === undefined ? ollama : olderOllama
  const given = [value[form.param] ?? []].flat()
  const texts = textsOf(given)
  const asked: TextsToEmbed | Refusal =
    texts.length < given.length
      ? refuseUnsupported(form.param, 'lists of tokens')
      : {
          param: form.param,
          texts,
          dimensions: numberOf(value[form.size]),
          inputType: textOf(value.input_type),
          ignored: ignoredIn(form.request, value),
        }
  const write = (_call: Call, vectors: readonly (readonly number[])[], billed: Billed, id: string) =>
    form.write(vectors, { body: value, billed, id })
  return [asked, write] as const
}
