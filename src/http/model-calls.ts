/** The endpoints that call models: each says how its body is read; the rest is the life of a call. */
import type { Call } from '../core/call.ts'
import { bodyOf, isObject, type JsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, Refusal, refuse, unavailable } from '../core/refusal.ts'
import { decodeChatCall } from '../dialects/chat-call.ts'
import { decodeEmbeddingsCall } from '../dialects/embeddings.ts'
import { modelNameOf } from '../dialects/field-checks.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type Incoming, runCall } from '../gateway/run-call.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readBody } from './read-body.ts'
import type { Handler, HttpCall } from './routes.ts'

const answerCall = async (
  gateway: Gateway,
  call: HttpCall,
  endpoint: string,
  decode: Incoming['decode'],
): Promise<Answer> => {
  const { headers } = call.request
  if (gateway.book.health().openCalls >= gateway.options.openCallsMax)
    throw unavailable('The server has as many calls open as it takes.')
  return runCall(
    gateway,
    {
      endpoint,
      decode,
      authorization: headers.get('authorization'),
      maxCostUsd: headers.get('x-max-cost-usd') ?? undefined,
      paymentProtocol: headers.get('x-payment-protocol') ?? undefined,
      idempotencyKey: headers.get('idempotency-key') ?? undefined,
      readBody: () => readBody(call.request, gateway.options.bodyBytesMax),
      signal: call.request.signal,
    },
    call.trace,
  )
}

export const chatCompletions: Handler = (gateway, call) => answerCall(gateway, call, 'chat', decodeChatCall)

export const embeddings: Handler = (gateway, call) =>
  answerCall(gateway, call, 'embeddings', decodeEmbeddingsCall)

export const run: Handler = (gateway, call) => answerCall(gateway, call, 'run', decodeRun)

export const idempotentRun: Handler = async (gateway, call) => {
  const key = call.request.headers.get('idempotency-key')
  if (key === null || key === '')
    throw new HelperRefusal(
      400,
      'missing_idempotency_key',
      "Send an 'Idempotency-Key' header, such as a UUID; a retry with the same key is charged once.",
    )
  return answerCall(gateway, call, 'run', decodeRun)
}

/** `{model, inputs}`: the inputs are the body of the model's own kind. */
const decodeRun = (body: JsonBody, modelNamed: (name: string) => Model | undefined): Call | Refusal => {
  const name = modelNameOf(body.value)
  if (name instanceof Refusal) return name
  const { inputs } = body.value
  if (!isObject(inputs))
    return invalid(
      'inputs',
      '\'inputs\' is required: an object with what the model takes, such as {"messages": […]}.',
    )
  const model = modelNamed(name)
  if (model === undefined)
    return refuse(
      'model_not_found',
      `There is no model '${name}'; GET /v1/models lists those your key can use.`,
      { members: { param: 'model' } },
    )
  const inner = bodyOf({ ...inputs, model: name })
  return model.kind === 'chat' ? decodeChatCall(inner) : decodeEmbeddingsCall(inner)
}
