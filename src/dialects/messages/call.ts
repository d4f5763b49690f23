/**
 * Messages, the request: what a caller may send, and what of it the meter must know.
 * Source of the format: Anthropic API reference, "Create a Message".
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
import { hasSignature, isForeign } from '../signatures.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

/** Tools the caller runs itself; those the vendor runs are billed beyond tokens. */
const OWN_TOOL = /^(?:custom|bash_\d+|text_editor_\d+|computer_\d+|memory_\d+)$/

const ownTool: Check = (value, name) => {
  if (!isObject(value)) return invalid(name, `'${name}' must be an object.`)
  if (typeof value.type === 'string' && !OWN_TOOL.test(value.type))
    return invalid(
      `${name}.type`,
      `The tool '${value.type}' runs at the vendor and is billed beyond tokens; it is not sold here.`,
    )
  return named('name')(value, name)
}

const members: Readonly<Record<string, Check>> = {
  max_tokens: integerIn(1, ANY_COUNT),
  temperature: numberIn(0, 1),
  top_p: numberIn(0, 1),
  top_k: integerIn(0, ANY_COUNT),
  stream: isBoolean,
  stop_sequences: listOf(isText),
  metadata: isRecord,
  tools: listOf(ownTool),
  tool_choice: named('type'),
  thinking: named('type'),
  output_config: isRecord,
  service_tier: oneOf('auto', 'standard_only'),
}

const unpriced = ['container', 'mcp_servers', 'fallbacks', 'inference_geo', 'speed'] as const

/** Reads and checks a messages body. */
export const decodeMessagesCall = (body: JsonBody, counting = false): Call | Refusal => {
  const value = body.value
  const modelName = modelNameOf(value)
  if (modelName instanceof Refusal) return modelName
  if (!counting && (value.max_tokens === undefined || value.max_tokens === null))
    return invalid('max_tokens', "'max_tokens' is required: an integer of at least 1.")
  const refusal =
    checkMembers(value, members) ??
    checkUnpriced(value) ??
    checkThread(value) ??
    checkSystem(value.system) ??
    checkMessages(value.messages)
  if (refusal) return refusal
  return {
    kind: 'chat',
    dialect: 'messages',
    modelName,
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_tokens === 'number' ? { maxOutput: value.max_tokens } : {}),
    choices: 1,
    size: sizeOf(body),
    foreign: objectsOf(value.messages).some(holdsForeign),
  }
}

const checkUnpriced = (value: JsonObject): Refusal | undefined => {
  for (const name of unpriced)
    if (value[name] !== undefined && value[name] !== null)
      return invalid(
        name,
        `'${name}' is not sold here: it changes the vendor's bill beyond the listed price.`,
      )
  return undefined
}

/** The client's tool runner asks for a thread first, and sends the whole conversation when it is told that there are none. */
const checkThread = (value: JsonObject): Refusal | undefined =>
  value.thread === undefined || value.thread === null
    ? undefined
    : invalid(
        'thread',
        "Nothing is stored here: send the whole conversation in 'messages', without 'thread'.",
      )

const checkSystem = (system: Json | undefined): Refusal | undefined =>
  system === undefined || system === null || typeof system === 'string'
    ? undefined
    : listOf(named('type'))(system, 'system')

const checkMessages = (messages: Json | undefined): Refusal | undefined => {
  if (!Array.isArray(messages)) return invalid('messages', "'messages' is required: a list of messages.")
  if (messages.length === 0) return invalid('messages', "'messages' must hold at least one message.")
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (!isObject(message)) return invalid(at, `'${at}' must be an object with 'role' and 'content'.`)
    if (message.role !== 'user' && message.role !== 'assistant' && message.role !== 'system')
      return invalid(`${at}.role`, `'${at}.role' must be 'user' or 'assistant'.`)
    if (typeof message.content === 'string') continue
    if (!Array.isArray(message.content))
      return invalid(`${at}.content`, `'${at}.content' must be a string or a list of blocks.`)
    const refusal = listOf(named('type'))(message.content, `${at}.content`)
    if (refusal) return refusal
  }
  return undefined
}

/** Blocks that another vendor's signature travelled in: this vendor would refuse them as they are. */
const holdsForeign = (message: JsonObject): boolean =>
  objectsOf(message.content).some(
    (block) =>
      isForeign(block.signature) ||
      // A thought of a vendor that signs none.
      (block.type === 'thinking' && !block.signature) ||
      isForeign(block.data) ||
      objectsOf(block.citations).some((one) => isForeign(one.encrypted_index)) ||
      hasSignature(block.id) ||
      hasSignature(block.tool_use_id),
  )

/** Text that the vendor puts around tools, in tokens at most. */
const TOOLS_TEMPLATE = 1_000
const sizeOf = (body: JsonBody): InputSize => {
  const media = newMediaSize()
  for (const { content } of objectsOf(body.value.messages)) countMedia(content, media)
  countMedia(body.value.system, media)
  const tools = objectsOf(body.value.tools)
  // Those of the vendor's own making bring their description along.
  const made = tools.filter(({ type }) => typeof type === 'string' && type !== 'custom')
  return media.of(body, tools.length === 0 ? 0 : TOOLS_TEMPLATE * (1 + made.length))
}

const ofText = new Set<Json | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'search_result',
])

const countMedia = (content: Json | undefined, media: MediaSize): void => {
  for (const block of objectsOf(content)) {
    const source = objectOf(block.source)
    const data = textOf(source.data)
    if (block.type === 'tool_result') countMedia(block.content, media)
    else if (block.type === 'document' && source.type === 'content') countMedia(source.content, media)
    else if (block.type === 'document' && source.type === 'text') continue
    else if (block.type === 'image' || block.type === 'document') {
      if (source.type === 'base64' && data !== undefined)
        media.inline(textOf(source.media_type) ?? '', data.length)
      else media.address(textOf(source.url) ?? '', block.type === 'image')
    } else if (!ofText.has(block.type)) media.unknown()
  }
}
