/** The endpoints that call models: each says how to read its body; the rest is the life of a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { must, type Refusal } from '../../core/refusal.ts'
import { decodeChatCall } from '../../dialects/chat/call.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import { decodeMessagesCall } from '../../dialects/messages/call.ts'
import { decodeEmbeddingsCall } from '../../dialects/request/embeddings.ts'
import { decodeCompactCall, decodeResponsesCall } from '../../dialects/responses/call.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { runCall } from '../../gateway/call/run-call.ts'
import type { Incoming } from '../../gateway/enter/incoming.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { enter } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { originOfCall } from '../request/origin.ts'
import { readBody } from '../request/read-body.ts'
import { readFormOrJson } from '../request/read-form.ts'
import { type CredentialStyle, callerOf, credentialOf, paymentHeaders } from '../route/headers.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import { decodeEditsCall, decodeImageCall, decodeImagesCall } from './image-calls.ts'
import { decodeRun, decodeSpeechCall } from './media-calls.ts'
import { decodeTranscriptionCall, decodeTranslationCall } from './transcription-calls.ts'
import { decodeModerationCall, decodeRerankCall } from './utility-calls.ts'

type ModelNamed = (name: string) => Model | undefined

type Endpoint = {
  /** Part of the scope of an Idempotency-Key. */
  readonly name: string
  readonly decode: (body: JsonBody, modelNamed: ModelNamed, headers: Headers) => Call | Refusal
  readonly credential?: CredentialStyle
  readonly recalls?: KeptForm
  /** Its body may also be a form with a file. */
  readonly form?: true
  /** The body with what it names. */
  readonly fill?: (gateway: Gateway, call: HttpCall, body: Uint8Array) => Promise<Uint8Array>
}

/** Runs one model call. */
export const answerCall = (gateway: Gateway, call: HttpCall, endpoint: Endpoint): Promise<Answer> => {
  enter(gateway.capacity, gateway.options.openCallsMax, callerOf(call.headers), call.trace.taken)
  return runCall(gateway, new HttpIncoming(gateway, call, endpoint), call.trace)
}

/** An HTTP request, as the life of a call sees it. */
class HttpIncoming implements Incoming {
  readonly endpoint: string
  readonly recalls: KeptForm | undefined
  readonly authorization: string | null
  readonly signal: AbortSignal
  readonly tags: string | undefined
  readonly requires: string | undefined
  readonly maxCostUsd: string | undefined
  readonly subWallet: string | undefined
  readonly paymentProtocol: string | undefined
  readonly idempotencyKey: string | undefined
  readonly #gateway: Gateway
  readonly #call: HttpCall
  readonly #endpoint: Endpoint

  constructor(gateway: Gateway, call: HttpCall, endpoint: Endpoint) {
    this.#gateway = gateway
    this.#call = call
    this.#endpoint = endpoint
    this.endpoint = endpoint.name
    this.recalls = endpoint.recalls
    this.signal = call.request.signal
    this.tags = call.request.headers.get('x-turnpike-tags') ?? undefined
    this.requires = call.request.headers.get('x-turnpike-require') ?? undefined
    this.maxCostUsd = call.headers.get('x-max-cost-usd') ?? undefined
    this.subWallet = call.headers.get('x-sub-wallet') ?? undefined
    this.paymentProtocol = call.headers.get('x-payment-protocol') ?? undefined
    this.idempotencyKey = call.headers.get('idempotency-key') ?? undefined
    this.authorization = must(credentialOf(call.headers, call.query, endpoint.credential ?? 'bearer'))
  }

  get payment(): Incoming['payment'] {
    const { headers, request } = this.#call
    const { v1, v2, mpp } = paymentHeaders(headers)
    const origin = () => originOfCall(this.#gateway, this.#call)
    // The bytes of a form are not the same when it is sent again, and what names files is filled in here.
    const { form, fill } = this.#endpoint
    return {
      url: addressOf(request),
      origin,
      v1,
      v2,
      mpp,
      headers,
      remade: form === true || fill !== undefined,
    }
  }

  decode(body: JsonBody, modelNamed: ModelNamed): Call | Refusal {
    return this.#endpoint.decode(body, modelNamed, this.#call.request.headers)
  }

  readBody(): Promise<Uint8Array> {
    const { fill } = this.#endpoint
    return fill === undefined ? this.#read() : this.#filled(fill)
  }

  #read(): Promise<Uint8Array> {
    const read = this.#endpoint.form === true ? readFormOrJson : readBody
    return read(this.#gateway, this.#call, this.#gateway.options.bodyBytesMax)
  }

  async #filled(fill: NonNullable<Endpoint['fill']>): Promise<Uint8Array> {
    return fill(this.#gateway, this.#call, await this.#read())
  }
}

/** The handler of an address that calls models. */
export const endpoint =
  (it: Endpoint): Handler =>
  (gateway, call) =>
    answerCall(gateway, call, it)

export const chatCompletions = endpoint({ name: 'chat', decode: decodeChatCall })

export const messages = endpoint({
  name: 'messages',
  decode: (body, _models, headers) => decodeMessagesCall(body, { beta: headers.get('anthropic-beta') }),
  credential: 'messages',
})

export const responses = endpoint({ name: 'responses', decode: decodeResponsesCall, recalls: responseForm })

export const compaction = endpoint({ name: 'compaction', decode: decodeCompactCall, recalls: responseForm })

export const embeddings = endpoint({ name: 'embeddings', decode: decodeEmbeddingsCall })

export const run = endpoint({ name: 'run', decode: decodeRun })

export const generateImage = endpoint({ name: 'image', decode: decodeImageCall })

export const generateImages = endpoint({ name: 'images', decode: decodeImagesCall })

export const editImages = endpoint({ name: 'edits', decode: decodeEditsCall, form: true })

export const speech = endpoint({ name: 'speech', decode: decodeSpeechCall })

export const transcription = endpoint({
  name: 'transcription',
  decode: decodeTranscriptionCall,
  form: true,
})

export const translation = endpoint({ name: 'translation', decode: decodeTranslationCall, form: true })

export const rerank = endpoint({ name: 'rerank', decode: decodeRerankCall })

export const moderation = endpoint({ name: 'moderation', decode: decodeModerationCall })

export const idempotentRun: Handler = async (gateway, call) => {
  const key = call.request.headers.get('idempotency-key')
  if (key === null || key === '')
    throw new HelperRefusal(
      'missing_idempotency_key',
      "Send an 'Idempotency-Key' header, such as a UUID; a retry with the same key is charged once.",
    )
  return run(gateway, call)
}
