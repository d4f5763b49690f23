/**
 * Embeddings as Google's clients ask for them: `:embedContent` for one content, `:batchEmbedContents` for several.
 * Sources of the format: Gemini API reference, "models.embedContent" and "models.batchEmbedContents"; Vertex AI
 * reference, "Embed content" (`embedContentConfig`).
 */
import type { Call } from '../../core/call.ts'
import { bodyOf, type Json, type JsonBody, type JsonObject, present } from '../../core/json-body.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { inputTokens } from '../../core/usage.ts'
import type { Billed } from '../bill-members.ts'
import { embeddingsCall, INPUTS_MAX, type TextsToEmbed } from '../request/embeddings.ts'
import { listOf, numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { ignored, ignoredIn, needed, object, request } from '../request/request.ts'
import { integer, list, meant, such, text, Wrong } from '../request/shape.ts'
import { member } from '../request/spelling.ts'
import { refuseUnsupported } from '../translate/vendor-call.ts'
import { addGeminiBill } from './pass.ts'

export const embedMethods = ['embedContent', 'batchEmbedContents'] as const
type EmbedMethod = (typeof embedMethods)[number]

const part = object(
  {
    text: needed(
      such<string>(
        (value) => typeof value === 'string' && value !== '',
        (name) => `'${name}' must be a string that is not empty.`,
        { type: 'string', minLength: 1 },
      ),
      (name) => `'${name}' is required: embeddings are made of texts here.`,
    ),
  },
  {},
)

const PARTS = (name: string) => `'${name}' is required: a list with at least one {"text": …}.`

const content = object({ parts: needed(list(part, { say: PARTS, empty: PARTS }), PARTS), role: text })

const purpose = { taskType: ignored(text), title: ignored(text), outputDimensionality: integer(1, 65_536) }

const CONTENT = (name: string) => `'${name}' is required: {"parts": [{"text": …}]}.`

const members = {
  model: meant('string'),
  ...purpose,
  embedContentConfig: object(purpose, { spelled: true, place: '' }),
  content: needed(content, CONTENT),
}

const REQUESTS = (name: string) => `'${name}' is required: a list with at least one request.`

const embedContentRequest = request(members, {
  spelled: true,
  rule: ({ requests }) =>
    requests === undefined
      ? undefined
      : new Wrong((name) => `'${name}' belongs to ':batchEmbedContents'.`).under('requests'),
})

const batchEmbedContentsRequest = request(
  {
    requests: needed(
      list(object(members, { spelled: true, place: '' }), { say: REQUESTS, empty: REQUESTS }),
      REQUESTS,
    ),
  },
  {
    rule: ({ requests }) =>
      listOf(requests).length > INPUTS_MAX
        ? new Wrong((name) => `'${name}' may hold at most ${INPUTS_MAX} items.`).under('requests')
        : undefined,
  },
)

const requestOf = { embedContent: embedContentRequest, batchEmbedContents: batchEmbedContentsRequest }

/** What each text is asked for with. Only a batch has `requests`. */
const asked = ({ requests, ...one }: JsonObject): readonly JsonObject[] =>
  requests === undefined ? [one] : objectsOf(requests)

/** Reads and checks a body for the model and method of the path. */
export const decodeEmbedContent = (
  body: JsonBody,
  { modelName, method }: { readonly modelName: string; readonly method: EmbedMethod },
): Call | Refusal => {
  const call = embeddingsCall(requestOf[method], body, 'gemini', modelName)
  return call instanceof Refusal ? call : (otherModel(body.value, modelName) ?? call)
}

/** The address names the model; a request of a batch may repeat the name, but not name another model. */
const otherModel = (body: JsonObject, modelName: string): Refusal | undefined => {
  const at = asked(body).findIndex(
    ({ model = null }) => model !== null && textOf(model)?.replace(/^models\//, '') !== modelName,
  )
  if (at < 0) return undefined
  const name = body.requests === undefined ? 'model' : `requests[${at}].model`
  return invalid(name, `'${name}' must be 'models/${modelName}', as in the address.`)
}

const purposeOf = (one: JsonObject, name: string): Json | undefined =>
  member(one, name) ?? member(objectOf(member(one, 'embedContentConfig')), name)

/** What a call of this dialect asks for; what only vendors of this dialect take is in `purposes`. */
export const embeddedContents = ({ body: { value } }: Call): TextsToEmbed | Refusal => {
  const requests = asked(value)
  const parts = requests.map(({ content }) => objectsOf(objectOf(content).parts))
  const several = parts.findIndex(({ length }) => length > 1)
  const sizes = new Set(requests.map((one) => numberOf(purposeOf(one, 'outputDimensionality'))))
  const [param, place] =
    value.requests === undefined ? ['content', 'content'] : ['requests', `requests[${several}].content`]
  if (several >= 0) return refuseUnsupported(`${place}.parts`, 'several parts of one content')
  if (sizes.size > 1) return refuseUnsupported('requests', 'different outputDimensionality in one batch')
  return {
    param,
    texts: parts.map(([first]) => textOf(first?.text) ?? ''),
    dimensions: [...sizes][0],
    inputType: undefined,
    purposes: requests.map((one) =>
      present({ taskType: textOf(purposeOf(one, 'taskType')), title: textOf(purposeOf(one, 'title')) }),
    ),
    ignored: ignoredIn(
      requestOf[value.requests === undefined ? 'embedContent' : 'batchEmbedContents'],
      value,
    ),
  }
}

/** The answer in the form of the method. */
export const writeEmbeddings = (call: Call, vectors: readonly Json[], billed: Billed): Uint8Array => {
  const embeddings = vectors.map((values) => ({ values }))
  const tokens = inputTokens(billed.usage)
  const usageMetadata = { promptTokenCount: tokens, totalTokenCount: tokens }
  const answer = call.body.value.requests === undefined ? { embedding: embeddings[0] } : { embeddings }
  return addGeminiBill(bodyOf({ ...answer, usageMetadata }), billed)
}
