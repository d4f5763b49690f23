/**
 * Responses to a vendor of the same dialect: the caller's bytes with a few members spliced in. The vendor stores
 * nothing: one key must not be able to refer to what another asked, and at the vendor all keys are one customer.
 * Source of the format: OpenAI API reference, "Create a model response".
 */
import type { Call } from '../../core/call.ts'
import {
  type Edits,
  isObject,
  type Json,
  type JsonBody,
  type JsonObject,
  splice,
} from '../../core/json-body.ts'
import { listOf, objectsOf, textOf } from '../json-members.ts'
import { hasSignature, splitId } from '../signatures.ts'
import type { Target } from '../vendor-call.ts'
import { addedBy, allowsHosted, hostedIn, ownToolsIn, toolsOf } from './own-tools.ts'
import { isSealed } from './thoughts.ts'

/** The body to send. */
export const passResponsesCall = (call: Call, { model, outputBound }: Target): Uint8Array => {
  const { outline: value } = call.body
  const edits: Record<string, string | undefined> = {
    model: JSON.stringify(model.upstreamName),
    ...withoutUnsold(value),
    ...withoutStrangers(call.body),
  }
  if (value.store !== false) edits.store = 'false'
  // Nothing is stored, so thoughts come back with the next turn or not at all. Clients that rely on storage do not ask
  // for them.
  if (model.capabilities.includes('reasoning') && !asksForThoughts(value))
    edits.include = JSON.stringify([...listOf(value.include), THOUGHTS])
  if (outputBound !== undefined) edits.max_output_tokens = String(outputBound)
  if (model.cheaper !== undefined) edits.service_tier = JSON.stringify(model.cheaper.tier)
  return splice(call.body, edits)
}

/** The value of `include` that asks for reasoning in a form that can be sent back. */
export const THOUGHTS = 'reasoning.encrypted_content'

const asksForThoughts = (value: JsonObject): boolean => listOf(value.include).includes(THOUGHTS)

/** Members and content that are not carried, by name. */
export const responsesNotCarried = ({ body: { outline: value } }: Call): readonly string[] => [
  ...new Set([
    ...hostedIn(toolsOf(value)),
    ...(allowsHosted(value.tool_choice) ? ['tool_choice'] : []),
    ...(isObject(value.context_management) || Array.isArray(value.context_management)
      ? ['context_management']
      : []),
    ...(objectsOf(value.input).some(isStrangeThought) ? ['thinking'] : []),
  ]),
]

/** The vendor's own tools, and members that make it write more than the answer we priced. */
const withoutUnsold = (value: JsonObject): Edits => {
  const own = ownToolsIn(value.tools)
  return {
    ...(hostedIn(value.tools).length === 0
      ? {}
      : { tools: own.length === 0 ? undefined : JSON.stringify(own) }),
    ...(allowsHosted(value.tool_choice) ? { tool_choice: JSON.stringify(ownOf(value.tool_choice)) } : {}),
    ...(value.context_management === undefined ? {} : { context_management: undefined }),
  }
}

/** The choice without the vendor's own tools: what is not allowed stays so. */
const ownOf = (choice: JsonObject): Json => {
  const tools = ownToolsIn(choice.tools)
  return tools.length === 0 ? 'none' : { ...choice, tools }
}

/** The input without what this vendor would not know: thoughts of other vendors, and their marks in ids. */
const withoutStrangers = (body: JsonBody): Edits => {
  if (!listOf(body.outline.input).some(isStrange)) return {}
  const input = listOf(body.value.input)
  return {
    input: JSON.stringify(
      input.flatMap((item: Json): readonly Json[] => (isStrange(item) ? mended(item) : [item])),
    ),
  }
}

const isStrange = (item: Json): item is JsonObject =>
  isObject(item) &&
  (isStrangeThought(item) || hasSignature(item.call_id) || hostedIn(addedBy(item)).length > 0)

/** A thought that another vendor sealed, or that is only referred to: this vendor would look for it in its storage. */
const isStrangeThought = ({ type, encrypted_content, content }: JsonObject): boolean =>
  type === 'item_reference' ||
  (type === 'reasoning' &&
    (isSealed(encrypted_content) || (!textOf(encrypted_content) && listOf(content).length === 0)))

const mended = (item: JsonObject): readonly JsonObject[] => {
  if (isStrangeThought(item)) return []
  if (hasSignature(item.call_id)) return [{ ...item, call_id: splitId(textOf(item.call_id) ?? '').id }]
  const tools = ownToolsIn(item.tools)
  return tools.length === 0 && item.type === 'additional_tools' ? [] : [{ ...item, tools }]
}
