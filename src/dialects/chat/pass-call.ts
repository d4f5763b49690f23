/**
 * Chat completions to a vendor of the same dialect: the caller's bytes with a few members spliced in.
 * Source of the format: OpenAI API reference, "Create chat completion".
 */
import type { Call } from '../../core/call.ts'
import { isObject, type Json, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import type { Quirks } from '../translate/vendor-call.ts'
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
