/**
 * The inputs of a run of a chat model: in the form of chat completions, messages or generate content, recognised by
 * their members. The answer has the form of the inputs. What the form does not know is refused, never dropped.
 */
import type { Call } from '../core/call.ts'
import { bodyOf, isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { decodeChatCall } from './chat/call.ts'
import { chatRequest } from './chat/request.ts'
import { decodeGeminiCall } from './gemini/call.ts'
import { geminiRequest } from './gemini/request.ts'
import { decodeMessagesCall } from './messages/call.ts'
import { messagesRequest } from './messages/request.ts'
import { camelCase } from './spelling.ts'

type Style = {
  readonly name: string
  readonly names: readonly string[]
  readonly decode: (inputs: JsonObject, modelName: string) => Call | Refusal
}

const chat: Style = {
  name: 'chat completions',
  names: chatRequest.names,
  decode: (inputs, model) => decodeChatCall(bodyOf({ ...inputs, model })),
}
const messages: Style = {
  name: 'messages',
  names: messagesRequest.names,
  decode: (inputs, model) => decodeMessagesCall(bodyOf({ ...inputs, model })),
}
/** In this form `stream` is part of the address and not a member, but a run has only one address. */
const gemini: Style = {
  name: 'generate-content',
  names: [...geminiRequest.names, 'stream'],
  decode: ({ stream, ...inputs }, modelName) =>
    decodeGeminiCall(bodyOf(inputs), { modelName, stream: stream === true, listed: false }),
}

/** Members and block types that only messages have. */
const OF_MESSAGES = [
  'system',
  'stop_sequences',
  'thinking',
  'output_config',
  'context_management',
  'mcp_servers',
]
const BLOCKS: ReadonlySet<Json | undefined> = new Set([
  'image',
  'document',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
])

const hasBlocks = ({ messages: all, tools }: JsonObject): boolean =>
  (Array.isArray(all) &&
    all.some(
      (message) =>
        isObject(message) &&
        Array.isArray(message.content) &&
        message.content.some((block) => isObject(block) && BLOCKS.has(block.type)),
    )) ||
  (Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.input_schema !== undefined))

const styleOf = (inputs: JsonObject): Style => {
  if (inputs.contents !== undefined) return gemini
  return OF_MESSAGES.some((name) => inputs[name] !== undefined) || hasBlocks(inputs) ? messages : chat
}

/** Members that say something about the call but nothing about the form of its answer. */
const ASIDE: ReadonlySet<string> = new Set(['metadata', 'safety_identifier', 'prompt_cache_key', 'labels'])

/**
 * Reads the inputs of a run as a call of the model. Members of another form are refused here. Members that no form
 * knows are kept in `unknown`: a vendor that speaks this form gets them unchanged; for any other vendor the call is
 * refused.
 */
export const decodeRunInputs = (inputs: JsonObject, modelName: string): Call | Refusal => {
  const style = styleOf(inputs)
  const isKnown = (name: string) => style.names.includes(style === gemini ? camelCase(name) : name)
  const unknown = Object.keys(inputs).filter(
    (name) => inputs[name] !== undefined && !ASIDE.has(name) && !isKnown(name),
  )
  const foreign = unknown.find((name) =>
    [chat, messages, gemini].some(
      (other) => other.names.includes(name) || other.names.includes(camelCase(name)),
    ),
  )
  if (foreign !== undefined) return notOf(style, foreign)
  const call = style.decode(inputs, modelName)
  return call instanceof Refusal || unknown.length === 0 ? call : { ...call, unknown }
}

const notOf = (style: Style, name: string): Refusal =>
  invalid(
    `inputs.${name}`,
    `'inputs.${name}' is not a member of ${style.name}, the form of the other inputs; use that form's own member for it.`,
  )
