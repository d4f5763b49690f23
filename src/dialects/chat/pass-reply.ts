/**
 * Chat completions and embeddings to the same, the answer in one piece: what the vendor sent, with the bill added.
 * Source of the format: OpenAI API reference, "The chat completion object" and "The embedding object".
 */
import { isObject, type Json, type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import { noBalance, type Told, withBill } from '../told.ts'
import { chatUsage, saidIn } from './reply.ts'

/** The answer with `usage.cost` and `usage.cost_details`. */
export const tellChatReply = (reply: JsonBody, told: Told): Uint8Array => {
  const reported = isObject(reply.value.usage) ? reply.value.usage : chatUsage(told.usage)
  const { cost: _cost, cost_details: _details, ...usage } = reported
  return splice(reply, { usage: withBill(usage, told.bill), ...noBalance })
}

/** Characters of the answer's text, for the estimate when the vendor gave no usage. */
export const chatCharacters = (reply: JsonObject): number => {
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
    else if (Array.isArray(part)) for (const { text } of saidIn(part)) characters += text.length
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
