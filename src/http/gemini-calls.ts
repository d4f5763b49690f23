/** The generate-content endpoints: model and method stand in the path, `…/<vendor>/<model>:<method>`. */
import { bodyOf, isObject } from '../core/json-body.ts'
import { must, refuse } from '../core/refusal.ts'
import { decodeGeminiCall } from '../dialects/gemini/call.ts'
import type { Answer } from '../gateway/answer.ts'
import { countTokens } from '../gateway/count-tokens.ts'
import { readWeighed } from '../gateway/doors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { modelFor, modelsFor } from '../gateway/rules.ts'
import { geminiListing } from '../products/model-listing.ts'
import { callerOf } from './caller.ts'
import { answerCall } from './model-calls.ts'
import { readBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

const methods = ['generateContent', 'streamGenerateContent', 'countTokens'] as const

/** Splits `models/<vendor>/<model>:<method>`; some libraries leave `models/` out, some escape the slash. */
const targetOf = (
  rest: string,
): { readonly modelName: string; readonly method: (typeof methods)[number] } => {
  const at = rest.lastIndexOf(':')
  const method = methods.find((one) => one === rest.slice(at + 1))
  if (at < 0 || method === undefined)
    throw refuse('not_found', `There is nothing at this address; models take ${methods.join(', ')}.`)
  return { modelName: rest.slice(0, at).replace(/^models\//, ''), method }
}

export const geminiCall: Handler = (gateway, call) => {
  const { modelName, method } = targetOf(call.params.rest ?? '')
  if (method === 'countTokens') return countGeminiTokens(gateway, call, modelName)
  const stream = method === 'streamGenerateContent'
  const listed = stream && new URLSearchParams(call.query).get('alt') !== 'sse'
  return answerCall(gateway, call, {
    name: `gemini ${modelName} ${method} ${listed}`,
    decode: (body) => decodeGeminiCall(body, { modelName, stream, listed }),
    credential: 'gemini',
  })
}

const countGeminiTokens = async (gateway: Gateway, call: HttpCall, modelName: string): Promise<Answer> => {
  const key = await callerOf(gateway, call, 'gemini')
  const body = readWeighed(
    gateway.doors,
    call.trace,
    await readBody(gateway, call, gateway.options.bodyBytesMax),
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
  return json({
    models: (await modelsFor(gateway, key)).filter(({ kind }) => kind === 'chat').map(geminiListing),
  })
}

export const getGeminiModel: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call, 'gemini')
  const name = (call.params.rest ?? '').replace(/^models\//, '')
  return json(geminiListing(await modelFor(gateway, key, { name, listing: '/v1beta/models' })))
}
