/**
 * Payments call by call over MCP: a payment comes in a request's `_meta`, its settlement goes into the result's, and what is
 * due is told as a result. Source: x402, "MCP Transport", version 2.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { McpCall } from './context.ts'

/** The extension by which clients and servers tell each other that they know payments as results. */
export const X402 = 'org.x402/payment'

const PAYMENT = 'x402/payment'
const RESPONSE = 'x402/payment-response'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const decoded = (header: string | undefined): Json | undefined =>
  header === undefined ? undefined : parseJson(Buffer.from(header, 'base64').toString('utf8'))

/** The payment of a request, in the words of the header that HTTP callers send it in. */
export const paymentIn = (meta: JsonObject): string | undefined =>
  isObject(meta[PAYMENT]) ? Buffer.from(JSON.stringify(meta[PAYMENT])).toString('base64') : undefined

/** What a result tells of a payment that was settled. */
export const settlementIn = ({ call }: McpCall): JsonObject => {
  const told = decoded(call.trace.headers['payment-response'])
  return told === undefined ? {} : { [RESPONSE]: told }
}

/** Whether the client says in its envelope that it knows payments as a kind of result. */
const knowsPayments = (envelope: unknown): boolean => {
  const at = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return at(at(at(envelope, CAPABILITIES), 'extensions'), X402) !== undefined
}

/** What is to be paid for the call, as a result; `header` is that of the 402 of HTTP. */
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
