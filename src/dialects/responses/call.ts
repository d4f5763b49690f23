/**
 * Responses, the request: what a caller may send, and what of it the meter must know. Whole by now: what it named and was
 * kept stands in its place, so what still refers to something stored is refused.
 * Source of the format: OpenAI API reference, "Create a model response".
 */
import type { Call, InputSize } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import {
  type Check,
  checkMembers,
  integerIn,
  isBoolean,
  isRecord,
  isText,
  listOf,
  modelNameOf,
  named,
  numberIn,
  oneOf,
} from '../field-checks.ts'
import { objectOf, objectsOf, textOf } from '../json-members.ts'
import { type MediaSize, newMediaSize } from '../media-size.ts'
import { toolsOf } from './own-tools.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

const members: Readonly<Record<string, Check>> = {
  instructions: isText,
  temperature: numberIn(0, 2),
  top_p: numberIn(0, 1),
  max_output_tokens: integerIn(1, ANY_COUNT),
  stream: isBoolean,
  tools: listOf(named('type')),
  parallel_tool_calls: isBoolean,
  text: isRecord,
  reasoning: isRecord,
  user: isText,
  top_logprobs: integerIn(0, 20),
  service_tier: oneOf('auto', 'default', 'flex'),
  prompt_cache_options: isRecord,
}

/** Values at which a member changes the vendor's bill beyond the listed price, or names another model for a part of the work. */
const unpriced: readonly (readonly [name: string, sold: (value: JsonObject) => boolean])[] = [
  ['access_programs', ({ access_programs }) => isAbsent(access_programs)],
  ['moderation', ({ moderation }) => isAbsent(moderation)],
  ['reasoning.mode', ({ reasoning }) => isOneOf(objectOf(reasoning).mode, 'standard')],
  ['prompt_cache_options.ttl', (value) => isOneOf(objectOf(value.prompt_cache_options).ttl, '30m')],
]

const isAbsent = (value: Json | undefined): boolean => value === undefined || value === null
const isOneOf = (value: Json | undefined, ...sold: readonly string[]): boolean =>
  isAbsent(value) || sold.some((one) => one === value)

const checkUnpriced = (value: JsonObject): Refusal | undefined => {
  const found = unpriced.find(([, sold]) => !sold(value))
  return found === undefined
    ? undefined
    : invalid(
        found[0],
        `'${found[0]}' is not sold with this value: it changes the vendor's bill beyond the listed price.`,
      )
}

const stored: Readonly<Record<string, string>> = {
  previous_response_id:
    'Nothing is stored here (the operator did not set RESPONSES_STORE, or the call is paid for by itself): leave ' +
    "'previous_response_id' out and send in 'input' the whole conversation, with the items " +
    "of each earlier response's 'output' in it ('store: false' asks for answers made for that).",
  conversation: "Nothing is stored here: send the conversation's items in 'input' instead.",
  background: 'Answers are not kept here, so they cannot be made in the background; use a stream.',
  prompt: "Stored prompts are not known here: send their text in 'instructions' and 'input'.",
}

/** Reads and checks a body. */
export const decodeResponsesCall = (body: JsonBody): Call | Refusal => {
  const value = body.value
  const modelName = modelNameOf(value)
  if (modelName instanceof Refusal) return modelName
  const refusal =
    checkMembers(value, members) ?? checkUnpriced(value) ?? checkStored(value) ?? checkInput(value.input)
  if (refusal) return refusal
  return {
    kind: 'chat',
    dialect: 'responses',
    modelName,
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_output_tokens === 'number' ? { maxOutput: value.max_output_tokens } : {}),
    choices: 1,
    size: sizeOf(body),
  }
}

const checkStored = (value: JsonObject): Refusal | undefined => {
  for (const [name, message] of Object.entries(stored)) {
    const member = value[name]
    if (member !== undefined && member !== null && member !== false) return invalid(name, message)
  }
  return undefined
}

const NO_REFERENCES =
  'Nothing is stored here (the operator did not set RESPONSES_STORE, or the call is paid for by itself): send the item ' +
  'itself, not a reference to it. Clients do so when they are told that nothing is ' +
  "stored: 'store: false' in the request (openai), in 'providerOptions.openai' (AI SDK), 'zdrEnabled: true' (LangChain)."

/** A reference to an item of reasoning, by its id: without the thought the same is asked. */
const isThought = ({ type, id }: JsonObject): boolean =>
  type === 'item_reference' && typeof id === 'string' && id.startsWith('rs_')

const checkInput = (input: Json | undefined): Refusal | undefined => {
  if (typeof input === 'string' && input !== '') return undefined
  if (!Array.isArray(input) || input.length === 0)
    return invalid('input', "'input' is required: a text or a list of items that is not empty.")
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`
    if (!isObject(item)) return invalid(at, `'${at}' must be an object.`)
    const refers = item.type === 'item_reference' || (item.type === undefined && item.role === undefined)
    if (refers && !isThought(item)) return invalid(`${at}.type`, NO_REFERENCES)
  }
  return undefined
}

/** Text that the vendor puts around tools, in tokens at most. */
const TOOLS_TEMPLATE = 1_000

const sizeOf = (body: JsonBody): InputSize => {
  const media = newMediaSize()
  for (const item of objectsOf(body.value.input)) {
    for (const part of [...objectsOf(item.content), ...objectsOf(item.output)]) countPart(part, media)
    if (item.type === 'image_generation_call') countMade(item, media)
  }
  return media.of(body, toolsOf(body.value).length > 0 ? TOOLS_TEMPLATE : 0)
}

const countPart = (part: JsonObject, media: MediaSize): void => {
  if (part.type === 'input_image')
    media.picture(textOf(part.image_url) ?? textOf(objectOf(part.image_url).url) ?? '')
  else if (part.type === 'input_file') media.file(textOf(part.file_data))
}

/** A picture of an earlier answer, by its address or in base64. */
const countMade = ({ result, output_format }: JsonObject, media: MediaSize): void => {
  const made = textOf(result) ?? ''
  if (/^https?:/.test(made)) media.address(made, true)
  else media.inline(`image/${textOf(output_format) ?? 'png'}`, made.length)
}
