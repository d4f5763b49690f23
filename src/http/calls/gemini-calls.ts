/** The generate-content endpoints: model and method are in the path, `…/<vendor>/<model>:<method>`. */
import type { Call } from '../../core/call.ts'
import { bodyOf, isObject, type JsonBody, readJsonBody } from '../../core/json-body.ts'
import type { Product } from '../../core/model.ts'
import { invalid, must, type Refusal, refuse } from '../../core/refusal.ts'
import { decodeGeminiCall } from '../../dialects/gemini/call.ts'
import { decodeEmbedContent, embedMethods } from '../../dialects/gemini/embeddings.ts'
import { countTokens } from '../../gateway/call/count-tokens.ts'
import { modelFor, modelsFor } from '../../gateway/enter/rules.ts'
import { shownOperation } from '../../gateway/jobs/shown-operation.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { readWeighed } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { geminiListing } from '../../products/model-listing.ts'
import { json } from '../answer/reply.ts'
import { createGeminiBatch } from '../batches/gemini-batches.ts'
import { withFiles } from '../files/files-in-call.ts'
import { callerOf } from '../request/caller.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { decodeContentPicture, decodePredict, decodePredictLongRunning } from './gemini-media.ts'
import { answerCall } from './model-calls.ts'

const methods = [
  'generateContent',
  'streamGenerateContent',
  'countTokens',
  'batchGenerateContent',
  ...embedMethods,
  'predict',
  'predictLongRunning',
  'fetchPredictOperation',
] as const
type Method = (typeof methods)[number]

/** The model's name: what follows `models/`, or `publishers/<vendor>/models/` in Vertex AI's form. */
const nameIn = (path: string): string =>
  path.replace(/^models\//, '').replace(/^publishers\/([^/]+)\/models\//, '$1/')

/** Splits `models/<vendor>/<model>:<method>`; some libraries leave `models/` out, some escape the slash. */
const targetOf = (rest: string): { readonly modelName: string; readonly method: Method } => {
  const at = rest.lastIndexOf(':')
  const method = methods.find((one) => one === rest.slice(at + 1))
  if (at < 0 || method === undefined)
    throw refuse('not_found', `There is nothing at this address; models take ${methods.join(', ')}.`)
  return { modelName: nameIn(rest.slice(0, at)), method }
}

const decoded = (
  body: JsonBody,
  it: Parameters<typeof decodeGeminiCall>[1] & { readonly method: Method },
  product: Product | undefined,
): Call | Refusal => {
  const { modelName, method, stream } = it
  const embeds = embedMethods.find((one) => one === method)
  if (embeds !== undefined) return decodeEmbedContent(body, { modelName, method: embeds })
  const predicts = method === 'predict' || method === 'predictLongRunning'
  if (product === undefined)
    return predicts
      ? refuse(
          'model_not_found',
          `There is no model '${modelName}' that takes ${method}; ${embedMethods.join(' and ')} make embeddings.`,
        )
      : decodeGeminiCall(body, it)
  const target = { modelName, product }
  if (method === 'predict') return decodePredict(body, target)
  if (method === 'predictLongRunning') return decodePredictLongRunning(body, target)
  return product.category === 'image'
    ? decodeContentPicture(body, target, stream)
    : decodeGeminiCall(body, it)
}

export const geminiCall: Handler = (gateway, call) => methodCall(gateway, call, call.params.rest ?? '')

/** The same under a publisher, as clients of Vertex AI call it. */
export const publisherCall: Handler = (gateway, call) =>
  methodCall(gateway, call, `publishers/${call.params.rest ?? ''}`)

const methodCall = (gateway: Gateway, call: HttpCall, path: string): Promise<Answer> => {
  const { modelName, method } = targetOf(path)
  if (method === 'countTokens') return countGeminiTokens(gateway, call, modelName)
  if (method === 'batchGenerateContent') return createGeminiBatch(gateway, call, modelName)
  if (method === 'fetchPredictOperation') return fetchOperation(gateway, call)
  const stream = method === 'streamGenerateContent'
  const listed = stream && new URLSearchParams(call.query).get('alt') !== 'sse'
  return answerCall(gateway, call, {
    name: `gemini ${modelName} ${method} ${listed}`,
    decode: (body, modelNamed) =>
      decoded(body, { modelName, method, stream, listed }, modelNamed(modelName)?.product),
    credential: 'gemini',
    fill: withFiles,
  })
}

/** The state of an operation, for the key that began it or a key above that one. */
const fetchOperation = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await callerOf(gateway, call, 'gemini')
  const body = must(readJsonBody(await readBody(gateway, call, OPERATION_BYTES_MAX)))
  const name = body.value.operationName
  const id = typeof name === 'string' ? name.split('/operations/')[1] : undefined
  const run = id === undefined ? undefined : await gateway.store.runs.runFor(id, key.id)
  if (run === undefined)
    throw refuse('not_found', 'There is no operation of this name, it is not yours, or it is no longer kept.')
  return shownOperation(gateway, run)
}

const OPERATION_BYTES_MAX = 10_000

const countGeminiTokens = async (gateway: Gateway, call: HttpCall, modelName: string): Promise<Answer> => {
  const key = await callerOf(gateway, call, 'gemini')
  const body = readWeighed(
    gateway.capacity,
    call.trace.taken,
    await withFiles(gateway, call, await readBody(gateway, call, gateway.options.bodyBytesMax)),
  )
  const inner = body.value.generateContentRequest
  const read = decodeGeminiCall(isObject(inner) ? bodyOf(inner) : body, {
    modelName,
    stream: false,
    listed: false,
  })
  const { tokens } = await countTokens(gateway, { key, call: must(read), trace: call.trace })
  return json({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] })
}

export const listGeminiModels: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'gemini')
  const all = (await modelsFor(gateway, key)).filter(({ kind }) => kind !== 'media').map(geminiListing)
  const asked = new URLSearchParams(call.query)
  const size = asked.get('pageSize') ?? String(all.length)
  const after = asked.get('pageToken')
  if (!/^\d{1,6}$/.test(size)) throw invalid('pageSize', "'pageSize' must be a number of models.")
  const start = after === null ? 0 : all.findIndex(({ name }) => name === after) + 1
  if (after !== null && start === 0)
    throw invalid('pageToken', "'pageToken' is no 'nextPageToken' of this list.")
  const models = Number(size) === 0 ? all : all.slice(start, start + Number(size))
  const more = start + models.length < all.length
  return json({ models, ...(more ? { nextPageToken: models.at(-1)?.name } : {}) })
}

export const getGeminiModel: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'gemini')
  const name = (call.params.rest ?? '').replace(/^models\//, '')
  return json(geminiListing(await modelFor(gateway, key, { name, listing: '/v1beta/models' })))
}
