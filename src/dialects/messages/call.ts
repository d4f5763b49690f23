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
import { betasAsked, isClearing } from './betas.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

/** Tools the caller runs itself. What those cost that the vendor runs is not known beforehand. */
const OWN_TOOL = /^(?:custom|bash_\d+|text_editor_\d+|computer_\d+|memory_\d+)$/
/** Families of such tools, without a name of their own. */
const OWN_TOOLSET = /^(?:computer|browser)_toolset_\d+$/

const ownTool: Check = (value, name) => {
  if (!isObject(value)) return invalid(name, `'${name}' must be an object.`)
  if (typeof value.type !== 'string' || OWN_TOOL.test(value.type)) return named('name')(value, name)
  return OWN_TOOLSET.test(value.type) ? undefined : notSold(`${name}.type`, value.type)
}

const notSold = (param: string, type: string): Refusal =>
  invalid(
    param,
    `The tool '${type.slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
  )

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

/** Members by which the vendor bills more than the listed price, or someone else. */
export const unpriced = [
  'container',
  'mcp_servers',
  'fallbacks',
  'fallback_credit_token',
  'inference_geo',
  'speed',
  'compaction',
  'billing_policy',
  'user_profile_id',
  'workspace_id',
] as const

/** Reads and checks a messages body. */
export const decodeMessagesCall = (
  body: JsonBody,
  { counting = false, beta = null }: { readonly counting?: boolean; readonly beta?: string | null } = {},
): Call | Refusal => {
  const value = body.value
  const modelName = modelNameOf(value)
  if (modelName instanceof Refusal) return modelName
  if (!counting && (value.max_tokens === undefined || value.max_tokens === null))
    return invalid('max_tokens', "'max_tokens' is required: an integer of at least 1.")
  const refusal =
    checkMembers(value, members) ??
    checkUnpriced(value) ??
    checkContext(value) ??
    checkThread(value) ??
    checkSystem(value.system) ??
    checkMessages(value.messages)
  if (refusal) return refusal
  const betas = betasAsked(beta, value)
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
    ...(betas.length === 0 ? {} : { betas }),
    foreign: objectsOf(value.messages).some(holdsForeign),
  }
}

const checkUnpriced = (value: JsonObject): Refusal | undefined => {
  for (const name of unpriced)
    if (!asksNothing(value[name]))
      return invalid(
        name,
        `'${name}' is not sold here: it changes the vendor's bill beyond the listed price.`,
      )
  return undefined
}

/** A member that is there and asks for nothing: an empty list of servers, the ordinary speed. */
const asksNothing = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === 'standard' ||
  (Array.isArray(value) && value.length === 0)

/** A summary that the vendor writes is billed beside the usage it tells. */
const checkContext = (value: JsonObject): Refusal | undefined => {
  const edits = objectsOf(objectOf(value.context_management).edits)
  const at = edits.findIndex((edit) => !isClearing(edit))
  return at < 0
    ? undefined
    : invalid(
        `context_management.edits[${at}].type`,
        `'${String(edits[at]?.type).slice(0, 60)}' is not sold here: the vendor bills it beside the tokens of the answer.`,
      )
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
    // One that only changes how the answer is made.
    if (message.role === 'system' && isObject(message.output_config) && !message.content) continue
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
  const made = tools.reduce((sum, { type }) => sum + madeBy(textOf(type) ?? 'custom'), 0)
  return media.of(body, tools.length === 0 ? 0 : TOOLS_TEMPLATE * (1 + made) + shownAgain(body.value))
}

/** Bytes of the tools that blocks refer to: each stands there once more. */
const shownAgain = ({ messages, tools }: JsonObject): number => {
  const names = objectsOf(messages).flatMap(({ content }) => objectsOf(content).flatMap(toolsNamed))
  if (names.length === 0) return 0
  const bytes = new Map(
    objectsOf(tools).map((tool) => [textOf(tool.name), Buffer.byteLength(JSON.stringify(tool))]),
  )
  return names.reduce((sum, name) => sum + (bytes.get(name) ?? 0), 0)
}

const toolsNamed = (block: JsonObject): readonly (string | undefined)[] => {
  if (block.type === 'tool_result') return objectsOf(block.content).flatMap(toolsNamed)
  if (block.type === 'tool_reference') return [textOf(block.tool_name)]
  return block.type === 'tool_addition' ? [textOf(objectOf(block.tool).name)] : []
}

/** More tools than any family has. */
const TOOLSET_MAX = 50
const madeBy = (type: string): number => (type === 'custom' ? 0 : OWN_TOOLSET.test(type) ? TOOLSET_MAX : 1)

const ofText = new Set<Json | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'search_result',
  'tool_reference',
  'tool_addition',
  'tool_removal',
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
