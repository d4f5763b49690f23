/**
 * The forms of batches: how each writes a line, and how its results look. Sources: OpenAI API reference, "Batch"; Anthropic
 * API reference, "Message Batches"; Gemini API reference, "Batch API".
 */
import type { Call } from '../../core/call.ts'
import { isObject, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, Refusal, type RefusalCode, refuse } from '../../core/refusal.ts'
import { refusalTable } from '../../core/refusal-table.ts'
import { decodeChatCall } from '../../dialects/chat/call.ts'
import { decodeGeminiCall } from '../../dialects/gemini/call.ts'
import { callerDialects } from '../../dialects/index.ts'
import { decodeMessagesCall } from '../../dialects/messages/call.ts'
import { decodeEmbeddingsCall } from '../../dialects/request/embeddings.ts'
import { decodeResponsesCall } from '../../dialects/responses/call.ts'
import type { AskedOfBatch, BatchForm, LineResult } from '../../store/batches/batch-port.ts'

type ModelNamed = (name: string) => Model | undefined
type Line = { readonly customId: string; readonly body: JsonObject }

type Form = {
  readonly readLine: (line: JsonObject, n: number, asked: AskedOfBatch) => Line | Refusal
  readonly decode: (body: JsonBody, asked: AskedOfBatch, modelNamed: ModelNamed) => Call | Refusal
  /** The line of the results' file; of that of failed lines, where the form has one. */
  readonly written: (line: LineResult) => string
  readonly splits: boolean
}

const CUSTOM_ID_MAX = 512

const customIdOf = (value: unknown, name: string): string | Refusal =>
  typeof value === 'string' && value.length > 0 && value.length <= CUSTOM_ID_MAX
    ? value
    : invalid(name, `'${name}' must be a text of 1 to ${CUSTOM_ID_MAX} characters.`)

const lineWith = (id: string | Refusal, body: unknown, name: string): Line | Refusal => {
  if (id instanceof Refusal) return id
  return isObject(body) ? { customId: id, body } : invalid(name, `'${name}' must be an object: the request.`)
}

const decoders: Readonly<Record<string, (body: JsonBody, modelNamed: ModelNamed) => Call | Refusal>> = {
  '/v1/chat/completions': decodeChatCall,
  '/v1/responses': decodeResponsesCall,
  '/v1/embeddings': decodeEmbeddingsCall,
}
export const openaiEndpoints = Object.keys(decoders)

/** Why lines were never sent, in the words of results. */
const stops: Readonly<Record<string, string>> = {
  cancelled: 'The batch was cancelled before this line was sent. Nothing was charged for it.',
  expired: 'The line could not be sent before the batch expired. Nothing was charged for it.',
  insufficient_credit:
    'What the key may spend was used up before this line was sent. Nothing was charged for it.',
}
const stopText = (why: string): string =>
  stops[why] ?? `The key could not go on (${why}) when this line was to be sent. Nothing was charged for it.`

const isCode = (text: string): text is RefusalCode => Object.hasOwn(refusalTable, text)

/** The refusal that ended a line, or why it was never sent. */
const refusalOf = ({ state, result = '' }: LineResult): Refusal => {
  if (state === 'stopped')
    return refuse(
      isCode(result) ? result : result === 'expired' ? 'upstream_error' : 'insufficient_balance',
      stopText(result),
    )
  const { code, message, members } = JSON.parse(result)
  return refuse(code, message, { members })
}

/** A refusal as it is kept until the results are written. */
export const keptRefusal = ({ code, message, members }: Refusal): string =>
  JSON.stringify({ code, message, members })

const receiptIn = ({ receipt }: LineResult): string =>
  receipt === undefined ? '' : `,"receipt":${JSON.stringify(receipt)}`

const openai: Form = {
  splits: true,
  readLine: ({ custom_id, method, url, body }, _n, { endpoint }) => {
    if (method !== 'POST') return invalid('method', "'method' must be POST.")
    if (url !== endpoint)
      return invalid('url', `'url' must be ${endpoint}, the endpoint of the batch: all lines have the same.`)
    return lineWith(customIdOf(custom_id, 'custom_id'), body, 'body')
  },
  decode: (body, { endpoint }, modelNamed) =>
    decoders[endpoint]?.(body, modelNamed) ??
    invalid('endpoint', `'endpoint' must be one of ${openaiEndpoints.join(', ')}.`),
  written: (line) => {
    const { customId, callId = null, state, result = '' } = line
    const head = `{"id":"batch_req_${callId ?? line.n}","custom_id":${JSON.stringify(customId)}`
    if (state === 'stopped') {
      const code = result === 'cancelled' || result === 'expired' ? `batch_${result}` : result
      return `${head},"response":null,"error":${JSON.stringify({ code, message: stopText(result) })}}`
    }
    const body =
      state === 'succeeded'
        ? result
        : JSON.stringify(callerDialects.chat.refusal(refusalOf(line), callId ?? ''))
    const status = state === 'succeeded' ? 200 : refusalOf(line).status
    return `${head},"response":{"status_code":${status},"request_id":${JSON.stringify(callId)},"body":${body}},"error":null${receiptIn(line)}}`
  },
}

/** The results that clients of this form know by a name of their own. */
const unsent: Readonly<Record<string, string>> = { cancelled: 'canceled', expired: 'expired' }

const anthropic: Form = {
  splits: false,
  readLine: ({ custom_id, params }) => lineWith(customIdOf(custom_id, 'custom_id'), params, 'params'),
  decode: (body, { beta = null }) => decodeMessagesCall(body, { beta }),
  written: (line) => {
    const { customId, callId, state, result = '' } = line
    const type = state === 'stopped' ? unsent[result] : undefined
    const said =
      state === 'succeeded'
        ? `{"type":"succeeded","message":${result}}`
        : JSON.stringify(
            type === undefined
              ? { type: 'errored', error: callerDialects.messages.refusal(refusalOf(line), callId ?? '') }
              : { type },
          )
    return `{"custom_id":${JSON.stringify(customId)},"result":${said}${receiptIn(line)}}`
  },
}

/** The codes of google.rpc by their names, and for lines that were not sent; what is not among them is the server's fault. */
const rpcCodes: Readonly<Record<string, number>> = {
  cancelled: 1,
  INVALID_ARGUMENT: 3,
  expired: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
}
const INTERNAL = 13

const rpcError = (line: LineResult): JsonObject => {
  const { error } = callerDialects.gemini.refusal(refusalOf(line), line.callId ?? '')
  const { status, message, details } = isObject(error) ? error : {}
  const stopped = line.state === 'stopped' ? rpcCodes[line.result ?? ''] : undefined
  return { code: stopped ?? rpcCodes[String(status)] ?? INTERNAL, message, details }
}

/** Lines have no name of their own: theirs is their number, and behind it the metadata that go back with the result. */
const gemini: Form = {
  splits: false,
  readLine: ({ request, metadata }, n, { model }) => {
    if (!isObject(request)) return lineWith('', request, 'request')
    const { model: named, ...body } = request
    if (named !== undefined && named !== model && named !== `models/${model}`)
      return invalid('request.model', `'request.model' must be that of the address, ${model}: leave it out.`)
    if (metadata === undefined || metadata === null) return lineWith(String(n), body, 'request')
    const kept = JSON.stringify(metadata)
    return isObject(metadata) && kept.length <= CUSTOM_ID_MAX
      ? lineWith(`${n} ${kept}`, body, 'request')
      : invalid('metadata', `'metadata' must be an object of at most ${CUSTOM_ID_MAX} characters as JSON.`)
  },
  decode: (body, { model: modelName = '' }) =>
    decodeGeminiCall(body, { modelName, stream: false, listed: false }),
  written: (line) => {
    const { customId, state, result = '' } = line
    const said = state === 'succeeded' ? `"response":${result}` : `"error":${JSON.stringify(rpcError(line))}`
    const space = customId.indexOf(' ')
    const metadata = space < 0 ? '' : `,"metadata":${customId.slice(space + 1)}`
    return `{${said}${metadata}${receiptIn(line)}}`
  },
}

export const forms: Readonly<Record<BatchForm, Form>> = { openai, anthropic, gemini }
