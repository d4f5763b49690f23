/**
 * Chat completions, the request: what a caller may send, and what of it the meter must know.
 * Source of the format: OpenAI API reference, "Create chat completion".
 */
import type { Call, InputSize } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import {
  type Check,
  checkMembers,
  foldedName,
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
import { hasSignature, isForeign } from '../signatures.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

const stopSequences: Check = (value, name) =>
  typeof value === 'string' ? undefined : listOf(isText)(value, name)

/** Tools the caller runs itself. What those cost that a vendor runs is not known beforehand. */
const ownTool: Check = (value, name) => {
  const refusal = named('type')(value, name)
  if (refusal || !isObject(value) || value.type === 'function' || value.type === 'custom') return refusal
  return invalid(
    `${name}.type`,
    `The tool '${String(value.type).slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
  )
}

const members: Readonly<Record<string, Check>> = {
  temperature: numberIn(0, 2),
  top_p: numberIn(0, 1),
  presence_penalty: numberIn(-2, 2),
  frequency_penalty: numberIn(-2, 2),
  max_tokens: integerIn(1, ANY_COUNT),
  max_completion_tokens: integerIn(1, ANY_COUNT),
  n: integerIn(1, 128),
  stream: isBoolean,
  stream_options: isRecord,
  stop: stopSequences,
  logprobs: isBoolean,
  top_logprobs: integerIn(0, 20),
  user: isText,
  functions: listOf(named('name')),
  tools: listOf(ownTool),
  parallel_tool_calls: isBoolean,
  response_format: named('type'),
  logit_bias: isRecord,
  // A faster tier costs more than the price list says; the discounted family is asked for by its model name.
  service_tier: oneOf('auto', 'default', 'flex'),
}

/**
 * Members by which some vendor bills for more than tokens, or picks another model than the one that was priced.
 * They are refused by name: an unpriced search or a re-routed model would be a bill nobody held money for.
 */
const unpriced: ReadonlySet<string> = new Set([
  'web_search_options',
  'search_parameters',
  'enable_search',
  'web_search',
  'plugins',
  'models',
  'route',
  'provider',
  // Text that was foretold and not said is billed as output beside it.
  'prediction',
  'search_settings',
  'search_options',
  'search_type',
  'enable_code_interpreter',
  'safety_model',
  'best_of',
  'use_beam_search',
  'num_beams',
  'extra_body',
  // What reaches out of the call: stores of documents that are searched, answers that come later or elsewhere.
  'data_sources',
  'deferred',
  'callback_url',
  'webhook_url',
])

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** Reads and checks a chat-completions body. `fields` says where messages and model stand, for the messages of refusals. */
export const decodeChatCall = (body: JsonBody): Call | Refusal => {
  const value = body.value
  const modelName = modelNameOf(value)
  if (modelName instanceof Refusal) return modelName
  const refusal =
    checkMembers(value, members) ??
    checkUnpriced(value) ??
    checkMessages(value.messages) ??
    checkBounds(value)
  if (refusal) return refusal
  const maxOutput = outputBoundOf(value)
  const options = value.stream_options
  return {
    kind: 'chat',
    dialect: 'chat',
    modelName,
    body,
    stream: value.stream === true,
    showUsage: isObject(options) && options.include_usage === true,
    ...(maxOutput === undefined ? {} : { maxOutput }),
    choices: typeof value.n === 'number' ? value.n : 1,
    size: sizeOf(body),
    foreign: holdsForeign(value),
  }
}

const outputBoundOf = (value: JsonObject): number | undefined => {
  const bound = value.max_completion_tokens ?? value.max_tokens
  return typeof bound === 'number' ? bound : undefined
}

const checkUnpriced = (value: JsonObject): Refusal | undefined => {
  for (const name of Object.keys(value)) {
    if (!unpriced.has(foldedName(name))) continue
    const member = value[name]
    if (member !== undefined && member !== null && member !== false)
      return invalid(
        name,
        `'${name}' is not sold here: it changes the model or the vendor's bill beyond the listed price.`,
      )
  }
  return undefined
}

const checkBounds = (value: JsonObject): Refusal | undefined =>
  typeof value.max_tokens === 'number' &&
  typeof value.max_completion_tokens === 'number' &&
  value.max_tokens !== value.max_completion_tokens
    ? invalid(
        'max_completion_tokens',
        "'max_tokens' and 'max_completion_tokens' name different bounds; send one of them.",
      )
    : undefined

const checkMessages = (messages: Json | undefined): Refusal | undefined => {
  if (!Array.isArray(messages)) return invalid('messages', "'messages' is required: a list of messages.")
  if (messages.length === 0) return invalid('messages', "'messages' must hold at least one message.")
  for (const [index, message] of messages.entries()) {
    const refusal = checkMessage(message, `messages[${index}]`)
    if (refusal) return refusal
  }
  return undefined
}

const checkMessage = (message: Json, at: string): Refusal | undefined => {
  if (!isObject(message)) return invalid(at, `'${at}' must be an object with 'role' and 'content'.`)
  if (typeof message.role !== 'string' || !roles.includes(message.role))
    return invalid(`${at}.role`, `'${at}.role' must be one of ${roles.join(', ')}.`)
  const content = message.content
  if (typeof content === 'string') return undefined
  if (content === undefined || content === null)
    return message.role === 'assistant' || message.role === 'function'
      ? undefined
      : invalid(`${at}.content`, `'${at}.content' is required for role '${message.role}'.`)
  if (!Array.isArray(content))
    return invalid(`${at}.content`, `'${at}.content' must be a string or a list of parts.`)
  return listOf(named('type'))(content, `${at}.content`)
}

/** Thoughts and ids of tool calls in which another vendor's signature travelled. */
const holdsForeign = (value: JsonObject): boolean =>
  objectsOf(value.messages).some(
    (message) =>
      hasSignature(message.tool_call_id) ||
      objectsOf(message.tool_calls).some(({ id }) => hasSignature(id)) ||
      objectsOf(message.reasoning_details).some(
        ({ data, signature }) => isForeign(data) || isForeign(signature),
      ),
  )

/** Text that the vendor puts around tools, in tokens at most. */
const TOOLS_TEMPLATE = 1_000

/** Inlined media is sized apart from text: its base64 characters are not tokens. */
const sizeOf = (body: JsonBody): InputSize => {
  const { messages, tools, functions } = body.value
  const media = newMediaSize()
  for (const message of objectsOf(messages)) {
    for (const part of [...objectsOf(message.content), ...objectsOf(message.images)]) countPart(part, media)
    if (isObject(message.audio)) media.unknown()
  }
  return media.of(body, objectsOf(tools).length + objectsOf(functions).length > 0 ? TOOLS_TEMPLATE : 0)
}

const countPart = (part: JsonObject, media: MediaSize): void => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      break
    case 'image_url':
      media.picture(textOf(part.image_url) ?? textOf(objectOf(part.image_url).url) ?? '')
      break
    case 'input_audio': {
      const { data, format } = objectOf(part.input_audio)
      if (typeof data === 'string') media.inline(`audio/${textOf(format) ?? 'wav'}`, data.length)
      else media.unknown()
      break
    }
    case 'file':
      media.file(textOf(objectOf(part.file).file_data))
      break
    default:
      media.unknown()
  }
}
