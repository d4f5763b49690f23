/**
 * Chat completions towards a vendor of the same dialect: the caller's bytes with a few members spliced in.
 * Source of the format: OpenAI API reference, "Create chat completion".
 */
import type { Call } from '../../core/call.ts'
import { type Edits, isObject, type Json, type JsonObject, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import type { Taste } from '../vendor-call.ts'

/**
 * The body to send. `outputBound` is the bound that was priced when the caller gave none or a larger one was not
 * affordable; undefined sends the caller's own bound, or none.
 */
export const passChatCall = (
  call: Call,
  model: Model,
  taste: Taste,
  outputBound: number | undefined,
): Uint8Array => {
  const edits: Record<string, string | undefined> = { model: JSON.stringify(model.upstreamName) }
  const bound = outputBound ?? call.maxOutput
  if (bound !== undefined) {
    const other = taste.outputBound === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    if (call.body.value[taste.outputBound] !== bound) edits[taste.outputBound] = String(bound)
    if (call.body.value[other] !== undefined) edits[other] = undefined
  }
  if (model.cheaper !== undefined) edits.service_tier = JSON.stringify(model.cheaper.tier)
  return splice(call.body, { ...edits, ...streamOptions(call, taste), ...withoutReasoning(call, taste) })
}

/** Members by which vendors tell their reasoning, and clients send it back. */
const reasoningMembers = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

const holdsReasoning = (message: Json): message is JsonObject =>
  isObject(message) && reasoningMembers.some((name) => message[name] !== undefined)

/** What of a call to this vendor must be left out: reasoning that it would refuse as a member it does not know. */
export const notPassed = (call: Call, taste: Taste): readonly string[] => {
  const { messages } = call.body.value
  return taste.reasoningBack === 'refused' && Array.isArray(messages) && messages.some(holdsReasoning)
    ? ['thinking']
    : []
}

const withoutReasoning = (call: Call, taste: Taste): Edits => {
  const { messages } = call.body.value
  if (!Array.isArray(messages) || notPassed(call, taste).length === 0) return {}
  const kept = messages.map((message): Json => {
    if (!holdsReasoning(message)) return message
    const { reasoning_content: _text, reasoning: _other, reasoning_details: _details, ...rest } = message
    return rest
  })
  return { messages: JSON.stringify(kept) }
}

/** Usage is always asked of the vendor; whether the caller sees it is decided on the way back. */
const streamOptions = (call: Call, taste: Taste): Edits => {
  const options = call.body.value.stream_options
  if (!call.stream || !taste.takesStreamOptions)
    return options === undefined ? {} : { stream_options: undefined }
  if (call.showUsage) return {}
  return { stream_options: JSON.stringify({ ...(isObject(options) ? options : {}), include_usage: true }) }
}
