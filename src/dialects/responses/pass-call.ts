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
import type { Model } from '../../core/model.ts'
import { hostedArePriced } from '../../pricing/quote.ts'
import { listOf, objectsOf, textOf } from '../request/json-members.ts'
import { hasSignature, splitId } from '../translate/signatures.ts'
import type { Target } from '../translate/vendor-call.ts'
import { hasMaker, withoutMaker } from './compaction.ts'
import { addedBy, allowsHosted, hostedIn, offeredIn, toolsOf } from './own-tools.ts'
import { isSealed } from './thoughts.ts'

/** The body to send. */
export const passResponsesCall = (call: Call, { model, quirks, outputBound }: Target): Uint8Array => {
  const { outline: value } = call.body
  const searching = isSearching(call, model)
  const edits: Record<string, string | undefined> = {
    model: JSON.stringify(model.upstreamName),
    ...withoutUnsold(value, searching),
    ...withoutStrangers(call.body, searching),
  }
  if (value.store !== false) edits.store = 'false'
  // Nothing is stored, so thoughts come back with the next turn or not at all. Clients that rely on storage do not ask
  // for them.
  if (model.capabilities.includes('reasoning') && !asksForThoughts(value))
    edits.include = JSON.stringify([...listOf(value.include), THOUGHTS])
  if (outputBound !== undefined) edits.max_output_tokens = String(outputBound)
  const tier = model.cheaper?.tier ?? quirks.standardTier
  edits.service_tier = tier === undefined ? undefined : `"${tier}"`
  return splice(call.body, edits)
}

/** Whether the vendor's search goes along: the call is held for it, and this model's have a price. */
const isSearching = ({ size }: Call, model: Model): boolean =>
  size.hosted !== undefined && hostedArePriced(model, size.hosted.rounds)

/** The value of `include` that asks for reasoning in a form that can be sent back. */
export const THOUGHTS = 'reasoning.encrypted_content'

const asksForThoughts = (value: JsonObject): boolean => listOf(value.include).includes(THOUGHTS)

/** Members and content that are not carried, by name. */
export const responsesNotCarried = (call: Call, { model }: Target): readonly string[] => {
  const { outline: value } = call.body
  const searching = isSearching(call, model)
  return [
    ...new Set([
      ...hostedIn(toolsOf(value), searching),
      ...(allowsHosted(value.tool_choice, searching) ? ['tool_choice'] : []),
      ...(isObject(value.context_management) || Array.isArray(value.context_management)
        ? ['context_management']
        : []),
      ...(objectsOf(value.input).some(isStrangeThought) ? ['thinking'] : []),
    ]),
  ]
}

/** The vendor's own tools, and members that make it write more than the answer we priced. */
const withoutUnsold = (value: JsonObject, searching: boolean): Edits => {
  const offered = offeredIn(value.tools, searching)
  return {
    ...(hostedIn(value.tools, searching).length === 0
      ? {}
      : { tools: offered.length === 0 ? undefined : JSON.stringify(offered) }),
    ...(allowsHosted(value.tool_choice, searching)
      ? { tool_choice: JSON.stringify(offeredOf(value.tool_choice, searching)) }
      : {}),
    ...(value.context_management === undefined ? {} : { context_management: undefined }),
  }
}

/** The choice without the vendor's own tools: what is not allowed stays so. */
const offeredOf = (choice: JsonObject, searching: boolean): Json => {
  const tools = offeredIn(choice.tools, searching)
  return tools.length === 0 ? 'none' : { ...choice, tools }
}

/** The input without what this vendor would not know: thoughts of other vendors, and their marks in ids. */
const withoutStrangers = (body: JsonBody, searching: boolean): Edits => {
  const isStrange = (item: Json): item is JsonObject => isObject(item) && isStrangeItem(item, searching)
  if (!listOf(body.outline.input).some(isStrange)) return {}
  const input = listOf(body.value.input)
  return {
    input: JSON.stringify(
      input.flatMap((item: Json): readonly Json[] => (isStrange(item) ? mended(item, searching) : [item])),
    ),
  }
}

const isStrangeItem = (item: JsonObject, searching: boolean): boolean =>
  isStrangeThought(item) ||
  hasMaker(item) ||
  hasSignature(item.call_id) ||
  hostedIn(addedBy(item), searching).length > 0

/** A thought that another vendor sealed, or that is only referred to: this vendor would look for it in its storage. */
const isStrangeThought = ({ type, encrypted_content, content }: JsonObject): boolean =>
  type === 'item_reference' ||
  (type === 'reasoning' &&
    (isSealed(encrypted_content) || (!textOf(encrypted_content) && listOf(content).length === 0)))

const mended = (item: JsonObject, searching: boolean): readonly JsonObject[] => {
  if (isStrangeThought(item)) return []
  if (hasMaker(item)) return [withoutMaker(item)]
  if (hasSignature(item.call_id)) return [{ ...item, call_id: splitId(textOf(item.call_id) ?? '').id }]
  const tools = offeredIn(item.tools, searching)
  return tools.length === 0 && item.type === 'additional_tools' ? [] : [{ ...item, tools }]
}
