/**
 * Chat completions and embeddings between a caller and a vendor of the same dialect: the caller's bytes with a few members
 * spliced in, and what the vendor sent, with the bill added. Source of the format: OpenAI API reference, "Create chat
 * completion", "The chat completion object" and "The embedding object".
 */
import type { Call } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, noBalance, withBill } from '../bill-members.ts'
import type { Quirks } from '../translate/vendor-call.ts'
import { chatUsage, saidIn } from './reply.ts'
import { holdsReasoning } from './request.ts'

type NewEdits = Record<string, string | undefined>

/**
 * The body to send. `outputBound` is the bound that was priced when the caller gave none or could not afford its own;
 * undefined keeps the caller's own bound, or none.
 */
export const passChatCall = (
  call: Call,
  model: Model,
  quirks: Quirks,
  outputBound: number | undefined,
): Uint8Array => {
  const edits: NewEdits = { model: JSON.stringify(model.upstreamName) }
  const bound = outputBound ?? call.maxOutput
  if (bound !== undefined) {
    const other = quirks.outputBound === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    if (call.body.outline[quirks.outputBound] !== bound) edits[quirks.outputBound] = String(bound)
    if (call.body.outline[other] !== undefined) edits[other] = undefined
  }
  const tier = model.cheaper?.tier ?? quirks.standardTier
  edits.service_tier = tier === undefined ? undefined : `"${tier}"`
  addStreamOptions(edits, call, quirks)
  leaveOutReasoning(edits, call, quirks)
  return splice(call.body, edits)
}

/** What of a call this vendor does not get: reasoning, if the vendor refuses the member. */
export const chatNotCarried = ({ thoughts }: Call, { reasoningBack }: Quirks): readonly string[] =>
  thoughts === true && reasoningBack === 'refused' ? ['thinking'] : []

const leaveOutReasoning = (edits: NewEdits, call: Call, quirks: Quirks): void => {
  if (chatNotCarried(call, quirks).length === 0) return
  const { messages } = call.body.value
  if (!Array.isArray(messages)) return
  const kept = messages.map((message): Json => {
    if (!holdsReasoning(message)) return message
    const { reasoning_content: _text, reasoning: _other, reasoning_details: _details, ...rest } = message
    return rest
  })
  edits.messages = JSON.stringify(kept)
}

/** We always ask the vendor for usage; whether the caller sees it is decided on the way back. */
const addStreamOptions = (edits: NewEdits, call: Call, quirks: Quirks): void => {
  const options = call.body.outline.stream_options
  if (!call.stream || !quirks.takesStreamOptions) {
    if (options !== undefined) edits.stream_options = undefined
  } else if (!call.showUsage)
    edits.stream_options = JSON.stringify({ ...(isObject(options) ? options : {}), include_usage: true })
}

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

/** Letters in a message or a stream's delta: text, reasoning, refusal and what tools get. */
export const messageLetters = (message: Json | undefined): number => {
  if (!isObject(message)) return 0
  let letters = 0
  for (const name of ['content', 'reasoning_content', 'reasoning', 'refusal'] as const) {
    const part = message[name]
    if (typeof part === 'string') letters += lettersIn(part)
    else if (Array.isArray(part)) for (const { text } of saidIn(part)) letters += lettersIn(text)
  }
  if (Array.isArray(message.tool_calls))
    for (const tool of message.tool_calls)
      if (isObject(tool)) letters += functionLetters(tool.function) + functionLetters(tool.custom)
  return letters + functionLetters(message.function_call)
}

const functionLetters = (called: Json | undefined): number => {
  if (!isObject(called)) return 0
  const { name, arguments: args, input: given = args } = called
  return (typeof name === 'string' ? lettersIn(name) : 0) + (typeof given === 'string' ? lettersIn(given) : 0)
}
