/**
 * Chat completions and embeddings, the answer in one piece: what the vendor sent, with the bill added.
 * Source of the format: OpenAI API reference, "The chat completion object" and "The embedding object".
 */
import {
  isObject,
  type Json,
  type JsonBody,
  type JsonObject,
  readJsonBody,
  splice,
} from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'

/** What is added to an answer; amounts are exact decimal texts. */
export type Bill = {
  /** USD. */
  readonly cost: string
  /** USD by usage class. */
  readonly details: Readonly<Record<string, string>>
  readonly estimated: boolean
}

export type Balance = { readonly remainingCredits: string; readonly warning: boolean }

/** Reads a vendor's answer; undefined when it is not one: no JSON, no list of choices or data, or an error inside a 200. */
export const readReply = (bytes: Uint8Array, list: 'choices' | 'data'): JsonBody | undefined => {
  // A list of embeddings has more numbers than any request may hold; its size is bounded by the transport.
  const body = readJsonBody(bytes, Number.MAX_SAFE_INTEGER)
  if (body instanceof Refusal || !Array.isArray(body.value[list])) return undefined
  return body
}

/** The vendor's answer with `usage.cost`, `usage.cost_details` and, if given, the balance members. */
export const writeReply = (
  reply: JsonBody,
  tokens: Totals,
  bill: Bill,
  balance: Balance | undefined,
): Uint8Array =>
  splice(reply, {
    usage: usageText(reply.value.usage, tokens, bill),
    ...(balance === undefined
      ? {}
      : { _balance_warning: String(balance.warning), _remaining_credits: balance.remainingCredits }),
  })

/** Inclusive totals, as this dialect counts. */
export type Totals = { readonly input: number; readonly output: number }

/** The usage object as JSON text: the vendor's own where there is one, with the bill behind it. */
export const usageText = (vendorUsage: Json | undefined, tokens: Totals, bill: Bill): string => {
  const base: JsonObject = isObject(vendorUsage)
    ? vendorUsage
    : {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        total_tokens: tokens.input + tokens.output,
      }
  const { cost: _cost, cost_details: _details, ...usage } = base
  const details = Object.entries(bill.details).map(([name, usd]) => `${JSON.stringify(name)}:${usd}`)
  const text = JSON.stringify(bill.estimated ? { ...usage, estimated: true } : usage)
  const separator = text === '{}' ? '' : ','
  return `${text.slice(0, -1)}${separator}"cost":${bill.cost},"cost_details":{${details.join(',')}}}`
}

/** Characters of the answer's text, for the estimate when the vendor gave no usage. */
export const deliveredCharacters = (reply: JsonObject): number => {
  if (!Array.isArray(reply.choices)) return 0
  let characters = 0
  for (const choice of reply.choices) if (isObject(choice)) characters += messageCharacters(choice.message)
  return characters
}

/** Characters of a message or of a stream's delta: text, reasoning, refusal and tool arguments. */
export const messageCharacters = (message: Json | undefined): number => {
  if (!isObject(message)) return 0
  let characters = 0
  for (const name of ['content', 'reasoning_content', 'reasoning', 'refusal'] as const) {
    const part = message[name]
    if (typeof part === 'string') characters += part.length
  }
  if (Array.isArray(message.tool_calls))
    for (const tool of message.tool_calls) if (isObject(tool)) characters += functionCharacters(tool.function)
  return characters + functionCharacters(message.function_call)
}

const functionCharacters = (called: Json | undefined): number => {
  if (!isObject(called)) return 0
  const { name, arguments: given } = called
  return (typeof name === 'string' ? name.length : 0) + (typeof given === 'string' ? given.length : 0)
}
