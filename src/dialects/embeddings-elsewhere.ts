/**
 * Embeddings for vendors that do not take them in the form of chat completions: the texts are written each vendor's
 * way, and the vectors come back in the form that callers know.
 * Sources: Gemini API reference, "models.batchEmbedContents"; Vertex AI reference, "Text embeddings API" (`:predict`)
 * and "Embed content" (`:embedContent`); Amazon Bedrock, "Amazon Titan Text Embeddings" and "Cohere Embed"
 * (InvokeModel).
 */
import type { Call } from '../core/call.ts'
import { bodyOf, type Json, type JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { inputTokens, type Usage } from '../core/usage.ts'
import type { Billed } from './bill-members.ts'
import { addChatBill } from './chat/pass-reply.ts'
import type { EmbeddingsStyle } from './dialect.ts'
import { embeddingsRequest } from './embeddings.ts'
import { listOf, numberOf, objectOf, objectsOf, present, textOf } from './json-members.ts'
import { ignoredIn } from './request.ts'
import { type Encoded, refuseUnsupported } from './vendor-call.ts'

/** What a caller asks for, as far as other vendors take it. */
type TextsToEmbed = {
  readonly texts: readonly string[]
  readonly dimensions: number | undefined
  /** What the vectors are for, in the vendor's own words. */
  readonly inputType: string | undefined
}

type Vectors = { readonly vectors: readonly Json[]; readonly tokens: number | undefined }

type Style = {
  path(model: Model): string
  write(toEmbed: TextsToEmbed, model: Model): JsonObject | Refusal
  /** `headers` are those of the answer. */
  read(value: JsonObject, headers: Headers): Vectors
}

/** For vendors that embed one text per request: several texts would mean several bills. */
const single = (toEmbed: TextsToEmbed): string | Refusal => {
  const [text, ...more] = toEmbed.texts
  return text === undefined || more.length > 0
    ? invalid(
        'input',
        "The model's vendor embeds one text in a request; send each input in a call of its own.",
      )
    : text
}

const gemini: Style = {
  path: ({ upstreamName }) => `/models/${upstreamName}:batchEmbedContents`,
  write: ({ texts, dimensions }, { upstreamName }) => ({
    requests: texts.map((text) =>
      present({
        model: `models/${upstreamName}`,
        content: { parts: [{ text }] },
        outputDimensionality: dimensions,
      }),
    ),
  }),
  read: (value) => ({
    vectors: objectsOf(value.embeddings).map(({ values }) => values ?? null),
    tokens: numberOf(objectOf(value.usageMetadata).promptTokenCount),
  }),
}

/** Vertex has the models since gemini-embedding-2 under another method than older ones. */
const embedsContent = ({ upstreamName }: Model): boolean =>
  upstreamName.startsWith('gemini-') && upstreamName !== 'gemini-embedding-001'

const vertex: Style = {
  path: (model) => `/models/${model.upstreamName}:${embedsContent(model) ? 'embedContent' : 'predict'}`,
  write: (toEmbed, model) => {
    const { texts, dimensions } = toEmbed
    const size = dimensions === undefined ? undefined : { outputDimensionality: dimensions }
    if (!embedsContent(model))
      return present({ instances: texts.map((content) => ({ content })), parameters: size })
    const text = single(toEmbed)
    return text instanceof Refusal
      ? text
      : present({ content: { parts: [{ text }] }, embedContentConfig: size })
  },
  read: (value) => {
    if (value.embedding !== undefined)
      return {
        vectors: [objectOf(value.embedding).values ?? null],
        tokens: numberOf(objectOf(value.usageMetadata).promptTokenCount),
      }
    const found = objectsOf(value.predictions).map(({ embeddings }) => objectOf(embeddings))
    const counts = found.map(({ statistics }) => numberOf(objectOf(statistics).token_count))
    return {
      vectors: found.map(({ values }) => values ?? null),
      tokens: counts.some((count) => count === undefined)
        ? undefined
        : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    }
  },
}

const isCohere = ({ upstreamName }: Model): boolean => upstreamName.includes('cohere.')

/** Bedrock takes the body of each model's maker: Titan's for one text, Cohere's for several. */
const invoke: Style = {
  path: ({ upstreamName }) => `/model/${encodeURIComponent(upstreamName)}/invoke`,
  write: (toEmbed, model) => {
    const { texts, dimensions, inputType } = toEmbed
    if (isCohere(model)) {
      if (dimensions !== undefined && /embed-\w+-v3/.test(model.upstreamName))
        return refuseUnsupported('dimensions', 'a number of dimensions')
      return present({
        texts,
        input_type: inputType ?? 'search_document',
        embedding_types: ['float'],
        output_dimension: dimensions,
      })
    }
    if (dimensions !== undefined && model.upstreamName.includes('titan-embed-text-v1'))
      return refuseUnsupported('dimensions', 'a number of dimensions')
    const text = single(toEmbed)
    return text instanceof Refusal ? text : present({ inputText: text, dimensions })
  },
  read: (value, headers) => {
    const byType = objectOf(value.embeddings).float ?? value.embeddings
    const tokenCount = headers.get('x-amzn-bedrock-input-token-count')
    return {
      vectors: value.embedding === undefined ? listOf(byType) : [value.embedding],
      tokens: numberOf(value.inputTextTokenCount) ?? (tokenCount === null ? undefined : Number(tokenCount)),
    }
  },
}

const styles: Readonly<Record<EmbeddingsStyle, Style>> = { gemini, vertex, invoke }

const textsToEmbed = ({ input, dimensions, input_type }: JsonObject): TextsToEmbed | Refusal => {
  const texts = (typeof input === 'string' ? [input] : listOf(input)).map(textOf)
  return texts.every((text) => text !== undefined)
    ? { texts, dimensions: numberOf(dimensions), inputType: textOf(input_type) }
    : refuseUnsupported('input', 'lists of tokens')
}

/** The request for a vendor of this style. */
const encode = (style: Style, call: Call, model: Model): Encoded | Refusal => {
  const toEmbed = textsToEmbed(call.body.value)
  if (toEmbed instanceof Refusal) return toEmbed
  const body = style.write(toEmbed, model)
  if (body instanceof Refusal) return body
  const inputType = isCohere(model)
    ? []
    : ['input_type'].filter((name) => call.body.value[name] !== undefined)
  return { body, notCarried: [...ignoredIn(embeddingsRequest, call.body.value), ...inputType] }
}

const COUNT_MAX = 1_000_000_000

const usageOf = (tokens: number | undefined): Usage | undefined =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= COUNT_MAX
    ? { input: tokens }
    : undefined

const isVector = (value: Json): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'number')

/** Callers may ask for 32-bit floats in base64, in little-endian order. */
const written = (vector: readonly number[], base64: boolean): Json => {
  if (!base64) return vector
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

type EmbeddingsReply = { readonly usage: Usage | undefined; addBill(billed: Billed): Uint8Array }

type Elsewhere = {
  readonly path: string
  readonly body: Uint8Array
  readonly notCarried: readonly string[]
  /** Reads the vendor's answer; undefined when it is not one. */
  read(value: JsonObject, headers: Headers): EmbeddingsReply | undefined
}

/** A call for embeddings in the form that a vendor of another style takes and answers. */
export const embeddingsElsewhere = (
  style: EmbeddingsStyle,
  call: Call,
  model: Model,
): Elsewhere | Refusal => {
  const { path, read } = styles[style]
  const encoded = encode(styles[style], call, model)
  if (encoded instanceof Refusal) return encoded
  const request = call.body.value
  const count = typeof request.input === 'string' ? 1 : listOf(request.input).length
  return {
    path: path(model),
    body: bodyOf(encoded.body).bytes,
    notCarried: encoded.notCarried,
    read: (value, headers) => {
      const { vectors, tokens } = read(value, headers)
      if (vectors.length !== count || !vectors.every(isVector)) return undefined
      const data = vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: written(vector, request.encoding_format === 'base64'),
      }))
      return {
        usage: usageOf(tokens),
        addBill: (billed) => {
          const used = inputTokens(billed.usage)
          const usage = { prompt_tokens: used, total_tokens: used }
          return addChatBill(bodyOf({ object: 'list', data, model: call.modelName, usage }), billed)
        },
      }
    },
  }
}
