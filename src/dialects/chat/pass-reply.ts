/**
 * Chat completions and embeddings, whole answers to callers of the same dialect: what the vendor sent, with the bill
 * added. Source of the format: OpenAI API reference, "The chat completion object" and "The embedding object".
 */
import { isObject, type Json, type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, noBalance, withBill } from '../bill-members.ts'
import { chatUsage, saidIn } from './reply.ts'

/** The answer with `usage.cost` and `usage.cost_details`. */
export const addChatBill = (reply: JsonBody, billed: Billed): Uint8Array => {
  const reported = isObject(reply.value.usage) ? reply.value.usage : chatUsage(billed.usage)
  return splice(reply, { usage: withBill(withoutBill(reported), billed.bill), ...noBalance })
}

/** A vendor that is itself a Turnpike sends its own bill, which is removed. */
const withoutBill = (usage: object): object => {
  if (!('cost' in usage) && !('cost_details' in usage)) return usage
  const { cost: _cost, cost_details: _details, ...rest } = usage as JsonObject
  return rest
}

/** Letters of the answer's text, for an estimate when the vendor gave no usage. */
export const chatLetters = (reply: JsonObject): number => {
  if (!Array.isArray(reply.choices)) return 0
  let letters = 0
  for (const choice of reply.choices) if (isObject(choice)) letters += messageLetters(choice.message)
  return letters
}

/** Letters in a message or a stream's delta: text, reasoning, refusal and tool arguments. */
export const messageLetters = (message: Json | undefined): number => {
  if (!isObject(message)) return 0
  let letters = 0
  for (const name of ['content', 'reasoning_content', 'reasoning', 'refusal'] as const) {
    const part = message[name]
    if (typeof part === 'string') letters += lettersIn(part)
    else if (Array.isArray(part)) for (const { text } of saidIn(part)) letters += lettersIn(text)
  }
  if (Array.isArray(message.tool_calls))
    for (const tool of message.tool_calls) if (isObject(tool)) letters += functionLetters(tool.function)
  return letters + functionLetters(message.function_call)
}

const functionLetters = (called: Json | undefined): number => {
  if (!isObject(called)) return 0
  const { name, arguments: given } = called
  return (typeof name === 'string' ? lettersIn(name) : 0) + (typeof given === 'string' ? lettersIn(given) : 0)
}
