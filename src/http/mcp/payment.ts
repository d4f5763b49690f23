/**
 * Payments call by call over MCP. A payment comes in a request's `_meta`, its settlement goes into the result's, and a
 * due payment is a result. Source: x402, "MCP Transport", version 2.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { McpCall } from './context.ts'

/** The extension with which clients and servers announce that they understand payments as results. */
export const X402 = 'org.x402/payment'

const PAYMENT = 'x402/payment'
const RESPONSE = 'x402/payment-response'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const decoded = (header: string | undefined): Json | undefined =>
  header === undefined ? undefined : parseJson(Buffer.from(header, 'base64').toString('utf8'))

/** The payment of a request, in the form of the header that HTTP callers send. */
export const paymentIn = (meta: JsonObject): string | undefined =>
  isObject(meta[PAYMENT]) ? Buffer.from(JSON.stringify(meta[PAYMENT])).toString('base64') : undefined

/** What a result says about a settled payment. */
export const settlementIn = ({ call }: McpCall): JsonObject => {
  const settlement = decoded(call.trace.headers['payment-response'])
  return settlement === undefined ? {} : { [RESPONSE]: settlement }
}

/** Whether the client's envelope announces that it understands payments as results. */
const knowsPayments = (envelope: unknown): boolean => {
  const at = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return at(at(at(envelope, CAPABILITIES), 'extensions'), X402) !== undefined
}

/** The payment due for the call, as a result; `header` is the header of HTTP's 402. */
export const paymentDue = (header: string | undefined, envelope: unknown) => {
  const required = decoded(header)
  const due = isObject(required) ? required : {}
  if (knowsPayments(envelope)) return { resultType: 'payment_required', paymentRequired: due, content: [] }
  return {
    isError: true,
    structuredContent: due,
    content: [{ type: 'text' as const, text: JSON.stringify(due) }],
  }
}
