/** The endpoints that call models: each says how its body is read; the rest is the life of a call. */
import type { Call } from '../core/call.ts'
import { bodyOf, isObject, type JsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, must, Refusal, refuse } from '../core/refusal.ts'
import { decodeChatCall } from '../dialects/chat/call.ts'
import { decodeEmbeddingsCall } from '../dialects/embeddings.ts'
import { modelNameOf } from '../dialects/field-checks.ts'
import { decodeMessagesCall } from '../dialects/messages/call.ts'
import { decodeResponsesCall } from '../dialects/responses/call.ts'
import type { Answer } from '../gateway/answer.ts'
import { checkDoor } from '../gateway/doors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { runCall } from '../gateway/run-call.ts'
import { type CredentialStyle, credentialOf } from './credential.ts'
import { paymentHeaders } from './headers.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { originOfCall } from './origin.ts'
import { addressOf } from './path.ts'
import { readBody } from './read-body.ts'
import type { Handler, HttpCall } from './route.ts'

type ModelNamed = (name: string) => Model | undefined

type Endpoint = {
  /** Part of the scope of an Idempotency-Key. */
  readonly name: string
  readonly decode: (body: JsonBody, modelNamed: ModelNamed, headers: Headers) => Call | Refusal
  readonly credential?: CredentialStyle
  readonly recalls?: boolean
}

/** Runs one call to a model. */
export const answerCall = async (gateway: Gateway, call: HttpCall, endpoint: Endpoint): Promise<Answer> => {
  const { headers } = call.request
  checkDoor(gateway)
  return runCall(
    gateway,
    {
      endpoint: endpoint.name,
      decode: (body, modelNamed) => endpoint.decode(body, modelNamed, headers),
      ...(endpoint.recalls === true ? { recalls: true } : {}),
      authorization: must(credentialOf(headers, call.query, endpoint.credential ?? 'bearer')),
      maxCostUsd: headers.get('x-max-cost-usd') ?? undefined,
      subWallet: headers.get('x-sub-wallet') ?? undefined,
      paymentProtocol: headers.get('x-payment-protocol') ?? undefined,
      payment: {
        url: addressOf(call.request),
        origin: () => originOfCall(gateway, call),
        ...paymentHeaders(headers),
      },
      idempotencyKey: headers.get('idempotency-key') ?? undefined,
      readBody: () => readBody(gateway, call, gateway.options.bodyBytesMax),
      signal: call.request.signal,
    },
    call.trace,
  )
}

const endpoint =
  (it: Endpoint): Handler =>
  (gateway, call) =>
    answerCall(gateway, call, it)

export const chatCompletions = endpoint({ name: 'chat', decode: decodeChatCall })

export const messages = endpoint({
  name: 'messages',
  decode: (body, _models, headers) => decodeMessagesCall(body, { beta: headers.get('anthropic-beta') }),
  credential: 'messages',
})

export const responses = endpoint({ name: 'responses', decode: decodeResponsesCall, recalls: true })

export const embeddings = endpoint({ name: 'embeddings', decode: decodeEmbeddingsCall })

/** `{model, inputs}`: the inputs are the body of the model's own kind. */
const decodeRun = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
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

export const run = endpoint({ name: 'run', decode: decodeRun })

export const idempotentRun: Handler = async (gateway, call) => {
  const key = call.request.headers.get('idempotency-key')
  if (key === null || key === '')
    throw new HelperRefusal(
      'missing_idempotency_key',
      "Send an 'Idempotency-Key' header, such as a UUID; a retry with the same key is charged once.",
    )
  return run(gateway, call)
}
