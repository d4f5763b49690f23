/**
 * Chat completions, the request: what a caller may send, and what of it the meter must know.
 * Source of the format: OpenAI API reference, "Create chat completion".
 */
import type { Call, InputSize } from '../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../core/json-body.ts'
import { invalid, Refusal } from '../core/refusal.ts'
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
} from './field-checks.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

const stopSequences: Check = (value, name) =>
  typeof value === 'string' ? undefined : listOf(isText)(value, name)

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
  tools: listOf(named('type')),
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
const unpriced = [
  'web_search_options',
  'search_parameters',
  'enable_search',
  'web_search',
  'plugins',
  'models',
  'route',
  'provider',
] as const

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
    modelName,
    body,
    stream: value.stream === true,
    showUsage: isObject(options) && options.include_usage === true,
    ...(maxOutput === undefined ? {} : { maxOutput }),
    choices: typeof value.n === 'number' ? value.n : 1,
    size: sizeOf(body),
  }
}

const outputBoundOf = (value: JsonObject): number | undefined => {
  const bound = value.max_completion_tokens ?? value.max_tokens
  return typeof bound === 'number' ? bound : undefined
}

const checkUnpriced = (value: JsonObject): Refusal | undefined => {
  for (const name of unpriced) {
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

/** Inlined media is sized apart from text: its base64 characters are not tokens. */
const sizeOf = (body: JsonBody): InputSize => {
  let images = 0
  let imageBytes = 0
  let audioBytes = 0
  const messages = body.value.messages
  if (Array.isArray(messages))
    for (const message of messages) {
      if (!isObject(message) || !Array.isArray(message.content)) continue
      for (const part of message.content) {
        if (!isObject(part)) continue
        if (part.type === 'image_url') {
          images++
          imageBytes += inlinedImageLength(part.image_url)
        } else if (
          part.type === 'input_audio' &&
          isObject(part.input_audio) &&
          typeof part.input_audio.data === 'string'
        ) {
          audioBytes += part.input_audio.data.length
        }
      }
    }
  return { textBytes: Math.max(0, body.bytes.length - imageBytes - audioBytes), images, audioBytes }
}

const inlinedImageLength = (image: Json | undefined): number => {
  const url = isObject(image) ? image.url : image
  return typeof url === 'string' && url.startsWith('data:') ? url.length : 0
}
