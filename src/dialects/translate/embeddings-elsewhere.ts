/**
 * Embeddings where caller and vendor do not share the form of chat completions: the texts are written each vendor's
 * way, and the vectors come back in the form that the caller knows.
 * Sources: Gemini API reference, "models.batchEmbedContents"; Vertex AI reference, "Text embeddings API" (`:predict`)
 * and "Embed content" (`:embedContent`); Amazon Bedrock, "Amazon Titan Text Embeddings" and "Cohere Embed"
 * (InvokeModel).
 */
import type { Call } from '../../core/call.ts'
import { bodyOf, type Json, type JsonObject, present } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { inputTokens, soundUsage, type Usage } from '../../core/usage.ts'
import { readUsage, usageFinder } from '../../metering/read-usage.ts'
import type { Billed } from '../bill-members.ts'
import { addChatBill } from '../chat/pass.ts'
import type { Sides } from '../codec.ts'
import type { EmbeddingsStyle, VendorTraits } from '../dialect.ts'
import { embeddedContents, writeEmbeddings } from '../gemini/embeddings.ts'
import { base64Of, embeddingsRequest, isVector, type TextsToEmbed } from '../request/embeddings.ts'
import { listOf, numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { smallEmbeddings } from '../small-embeddings.ts'
import { refuseUnsupported } from './vendor-call.ts'

type Vectors = { readonly vectors: readonly Json[]; readonly tokens: number | undefined }

type Style = {
  path(model: Model): string
  write(toEmbed: TextsToEmbed, model: Model): JsonObject | Refusal
  /** `headers` are those of the answer. */
  read(value: JsonObject, headers: Headers, traits: VendorTraits): Vectors
  /** Members that only some vendors take, and this one does. */
  takes(model: Model): readonly string[]
}

/** For vendors that embed one text per request: several texts would mean several bills. */
const single = (toEmbed: TextsToEmbed): string | Refusal => {
  const [text, ...more] = toEmbed.texts
  return text === undefined || more.length > 0
    ? invalid(
        toEmbed.param,
        "The model's vendor embeds one text in a request; send each input in a call of its own.",
      )
    : text
}

const gemini: Style = {
  path: ({ upstreamName }) => `/models/${upstreamName}:batchEmbedContents`,
  takes: () => ['taskType', 'title'],
  write: ({ texts, dimensions, purposes }, { upstreamName }) => ({
    requests: texts.map((text, index) =>
      present({
        model: `models/${upstreamName}`,
        content: { parts: [{ text }] },
        outputDimensionality: dimensions,
        ...purposes?.[index],
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

/** The same object; undefined if it has no members. */
const configOf = (config: JsonObject): JsonObject | undefined =>
  Object.keys(config).length === 0 ? undefined : config

const vertex: Style = {
  takes: () => ['taskType', 'title'],
  path: (model) => `/models/${model.upstreamName}:${embedsContent(model) ? 'embedContent' : 'predict'}`,
  write: (toEmbed, model) => {
    const { texts, dimensions, purposes } = toEmbed
    const size = dimensions === undefined ? undefined : { outputDimensionality: dimensions }
    if (!embedsContent(model))
      return present({
        instances: texts.map((content, index) => {
          const { taskType, title } = purposes?.[index] ?? {}
          return present({ content, task_type: taskType, title })
        }),
        parameters: size,
      })
    const text = single(toEmbed)
    return text instanceof Refusal
      ? text
      : present({
          content: { parts: [{ text }] },
          embedContentConfig: configOf({ ...size, ...purposes?.[0] }),
        })
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
  takes: (model) => (isCohere(model) ? ['input_type'] : []),
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

/** Vendors of chat completions, for callers of another form. */
const chat: Style = {
  takes: () => [],
  path: () => '/embeddings',
  write: ({ texts, dimensions }, { upstreamName }) =>
    present({ model: upstreamName, input: texts, dimensions }),
  read: (value, _headers, traits) => {
    const raw = usageFinder(traits)(value)
    const usage = raw === undefined ? undefined : readUsage(raw, traits)
    const inOrder = objectsOf(value.data).toSorted(
      (a, b) => (numberOf(a.index) ?? 0) - (numberOf(b.index) ?? 0),
    )
    return {
      vectors: inOrder.map(({ embedding }) => embedding ?? null),
      tokens: usage === undefined ? undefined : inputTokens(usage),
    }
  },
}

const styles: Readonly<Record<EmbeddingsStyle, Style>> = { gemini, vertex, invoke }

const textsToEmbed = (request: JsonObject): TextsToEmbed | Refusal => {
  const { input, dimensions, input_type } = request
  const texts = (typeof input === 'string' ? [input] : listOf(input)).map(textOf)
  return texts.every((text) => text !== undefined)
    ? {
        param: 'input',
        texts,
        dimensions: numberOf(dimensions),
        inputType: textOf(input_type),
        ignored: [
          ...ignoredIn(embeddingsRequest, request),
          ...(input_type === undefined ? [] : ['input_type']),
        ],
      }
    : refuseUnsupported('input', 'lists of tokens')
}

const usageOf = (tokens: number | undefined): Usage | undefined =>
  tokens === undefined ? undefined : soundUsage({ input: tokens })

/** The answer in the form that callers of chat completions know. */
const writeList = (call: Call, vectors: readonly (readonly number[])[], billed: Billed): Uint8Array => {
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: call.body.value.encoding_format === 'base64' ? base64Of(vector) : vector,
  }))
  const used = inputTokens(billed.usage)
  const usage = { prompt_tokens: used, total_tokens: used }
  return addChatBill(bodyOf({ object: 'list', data, model: call.modelName, usage }), billed)
}

type EmbeddingsReply = { readonly usage: Usage | undefined; addBill(billed: Billed): Uint8Array }

type Elsewhere = {
  readonly path: string
  readonly body: Uint8Array
  readonly notCarried: readonly string[]
  /** Reads the vendor's answer; undefined when it is not one. */
  read(value: JsonObject, headers: Headers): EmbeddingsReply | undefined
}

/** A call for embeddings in the form that its vendor takes, and the answer in the form of its caller. */
export const embeddingsElsewhere = ({
  call,
  target: { model },
  traits,
  context,
}: Sides): Elsewhere | Refusal => {
  const style = traits.embeds === undefined ? chat : styles[traits.embeds]
  const [texts, write] =
    call.dialect === 'gemini'
      ? ([embeddedContents(call), writeEmbeddings] as const)
      : (smallEmbeddings(call) ?? ([textsToEmbed(call.body.value), writeList] as const))
  if (texts instanceof Refusal) return texts
  const body = style.write(texts, model)
  if (body instanceof Refusal) return body
  const taken = style.takes(model)
  return {
    path: style.path(model),
    body: bodyOf(body).bytes,
    notCarried: texts.ignored.filter((name) => !taken.includes(name)),
    read: (value, headers) => {
      const { vectors, tokens } = style.read(value, headers, traits)
      if (vectors.length !== texts.texts.length || !vectors.every(isVector)) return undefined
      return {
        usage: usageOf(tokens),
        addBill: (billed) => write(call, vectors, billed, context().requestId),
      }
    },
  }
}
