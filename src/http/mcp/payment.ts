/**
 * Payments call by call over MCP. A payment comes in a request's `_meta`, its settlement goes into the result's, and a
 * due payment is a result. Sources: x402, "MCP Transport", version 2; Payment Authentication Scheme, JSON-RPC and MCP
 * transport (IETF draft).
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { challengesIn, encodeRequest } from '../../payment/mpp/challenge.ts'
import type { McpCall } from './context.ts'

/** The extension with which clients and servers announce that they understand payments as results. */
export const X402 = 'org.x402/payment'

const CREDENTIAL = 'org.paymentauth/credential'
const RECEIPT = 'org.paymentauth/receipt'
const REQUIRED = 'org.paymentauth/payment-required'
const PAYMENT = 'x402/payment'
const RESPONSE = 'x402/payment-response'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const decoded = (header: string | undefined): Json | undefined =>
  header === undefined ? undefined : parseJson(Buffer.from(header, 'base64').toString('utf8'))

/** The payment of a request, in the form of the header that HTTP callers send. */
export const paymentIn = (meta: JsonObject): string | undefined =>
  isObject(meta[PAYMENT]) ? Buffer.from(JSON.stringify(meta[PAYMENT])).toString('base64') : undefined

/**
 * The credential of a request, in the form of the header that HTTP callers send. Here the request inside its challenge
 * is an object.
 */
export const credentialIn = (meta: JsonObject): string | undefined => {
  const credential = meta[CREDENTIAL]
  if (credential === undefined) return undefined
  const { challenge, ...rest } = isObject(credential) ? credential : {}
  const { request, ...named } = isObject(challenge) ? challenge : {}
  const sent = {
    ...rest,
    challenge: { ...named, request: isObject(request) ? encodeRequest(request) : null },
  }
  return `Payment ${Buffer.from(JSON.stringify(sent)).toString('base64url')}`
}

/** What a result says about a settled payment. */
export const settlementIn = ({ call }: McpCall): JsonObject => {
  const settlement = decoded(call.trace.headers['payment-response'])
  const receipt = decoded(call.trace.headers['payment-receipt'])
  return {
    ...(settlement === undefined ? {} : { [RESPONSE]: settlement }),
    ...(receipt === undefined ? {} : { [RECEIPT]: receipt }),
  }
}

/** What the scheme `Payment` asks for, where payers by it look in a result. */
const challengesOf = ({ headers, body }: Answer): JsonObject => {
  const challenges = challengesIn(headers['www-authenticate'] ?? '').map(({ request = '', ...named }) => ({
    ...named,
    request: parseJson(Buffer.from(request, 'base64url').toString('utf8')) ?? null,
  }))
  const problem = body instanceof Uint8Array ? parseJson(Buffer.from(body).toString('utf8')) : undefined
  const { type, title, status, detail } = isObject(problem) ? problem : {}
  return challenges.length === 0
    ? {}
    : { _meta: { [REQUIRED]: { httpStatus: 402, challenges, problem: { type, title, status, detail } } } }
}

/** Whether the client's envelope announces that it understands payments as results. */
const knowsPayments = (envelope: unknown): boolean => {
  const at = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return at(at(at(envelope, CAPABILITIES), 'extensions'), X402) !== undefined
}

/** The payment due for the call, as a result made from HTTP's answer. */
export const paymentDue = (answer: Answer, envelope: unknown) => {
  const required = decoded(answer.headers['payment-required'])
  const due = isObject(required) ? required : {}
  const more = challengesOf(answer)
  if (knowsPayments(envelope))
    return { ...more, resultType: 'payment_required', paymentRequired: due, content: [] }
  return {
    ...more,
    isError: true,
    structuredContent: due,
    content: [{ type: 'text' as const, text: JSON.stringify(due) }],
  }
}
