/** Messages, neutral form → request for a vendor. Source of the format: Anthropic API reference, "Create a Message". */

import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import { Refusal, writeEach } from '../../core/refusal.ts'
import type { Conversation, Media, Part, Tool, ToolCall, ToolChoice } from '../neutral.ts'
import { mediaTypeOf } from '../translate/media.ts'
import { budgetOf, effortOf } from '../translate/reasoning.ts'
import { within } from '../translate/short-names.ts'
import { pastArguments } from '../translate/tool-arguments.ts'
import { arrangeTexts, messagesOf } from '../translate/turns.ts'
import { AS_JSON, type Encoded, refuseUnsupported, type Target } from '../translate/vendor-call.ts'
import { withCacheMarks } from './cache-marks.ts'
import { closedSchema } from './schema.ts'

/** The longest `user_id`, in characters. Source: Anthropic API reference, "Create a Message". */
const USER_MAX = 256
/** The smallest budget that the vendor takes. */
const BUDGET_MIN = 1_024
/**
 * Models that choose their own budget for an effort, and take no sampling members. Source: Anthropic, "Adaptive
 * thinking".
 */
export const ADAPTIVE = /claude-[a-z]+-(?:4[-.][6-9]|[5-9])/
/** Models that cannot turn thinking off. Source: Anthropic, "Troubleshooting thinking". */
const ALWAYS = /claude-(?:fable|mythos)/
/** Models without structured outputs get the schema as a tool; see schema-by-tool.ts. */
export const noSchemas = (upstreamName: string): boolean =>
  /claude-(?:3|v?2|instant|[a-z]+-4(?:[-.]0|-20\d{6}|$))/.test(upstreamName)

/** Writes the conversation for a vendor of this dialect. */
export const writeMessagesCall = (it: Conversation, to: Target): Encoded | Refusal => {
  if (it.makes !== undefined) return refuseUnsupported('modalities', 'answers in anything but text')
  if (it.choices > 1) return refuseUnsupported('n', 'more than one answer to a call')
  const arranged = arrangeTexts(it, (part) => thoughtOf(part).length > 0)
  if (arranged instanceof Refusal) return arranged
  const { system, turns, notCarried } = arranged
  const messages = messagesOf(turns, blocksOf)
  if (messages instanceof Refusal) return messages
  const bound = to.outputBound ?? it.maxOutput ?? to.model.maxOutputTokens
  const thinking = thinkingOf(it, to, bound, notCarried)
  const format = it.format
  const body: JsonObject = present({
    model: to.model.upstreamName,
    max_tokens: bound,
    system: systemOf(system, it),
    messages,
    ...toolMembers(it),
    ...sampling(it, to, thinks(thinking), notCarried),
    ...thinking,
    output_config:
      format?.type === 'schema'
        ? { ...thinking?.output_config, format: { type: 'json_schema', schema: closedSchema(format.schema) } }
        : thinking?.output_config,
    stop_sequences: it.stop.length === 0 ? undefined : it.stop,
    metadata: it.user === undefined ? undefined : { user_id: within(it.user, USER_MAX) },
    stream: to.stream ? true : undefined,
  })
  return { body: withCacheMarks(body, it, to), notCarried }
}

const systemOf = (parts: readonly Part[], it: Conversation): Json | undefined => {
  const texts = parts.filter((part) => part.type === 'text').filter(({ text }) => text.trim() !== '')
  const asJson = it.format?.type === 'json' ? [{ type: 'text', text: AS_JSON }] : []
  const blocks: Json[] = [...texts.map(({ text, cache }) => marked({ type: 'text', text }, cache)), ...asJson]
  return blocks.length === 0 ? undefined : blocks
}

const marked = (block: JsonObject, cache: Json | undefined): JsonObject =>
  cache === undefined ? block : { ...block, cache_control: cache }

type ThinkingMembers = { readonly thinking: JsonObject; readonly output_config?: JsonObject }

/** Reasoning as this model takes it; undefined leaves the member out. */
export const thinkingOf = (
  it: Conversation,
  to: Target,
  bound: number,
  notCarried: string[],
): ThinkingMembers | undefined => {
  const reasoning = it.reasoning
  if (reasoning === undefined) return undefined
  if (!to.model.capabilities.includes('reasoning')) {
    if (reasoning.effort !== 'none') notCarried.push('reasoning')
    return undefined
  }
  if (reasoning.effort === 'none') {
    if (!ALWAYS.test(to.model.upstreamName)) return { thinking: { type: 'disabled' } }
    notCarried.push('reasoning')
    return undefined
  }
  const forced = it.toolChoice?.type === 'required' || it.toolChoice?.type === 'named'
  if (forced) {
    // The vendor does not think when a tool is forced.
    notCarried.push('reasoning')
    return undefined
  }
  if (ADAPTIVE.test(to.model.upstreamName)) {
    const effort = effortOf(reasoning)
    const known = effort === 'minimal' ? 'low' : effort === 'xhigh' ? 'max' : effort
    return {
      // Newer models omit the thinking text unless it is requested.
      thinking: { type: 'adaptive', display: reasoning.show === false ? 'omitted' : 'summarized' },
      ...(known === undefined ? {} : { output_config: { effort: known } }),
    }
  }
  const budget = Math.min(budgetOf(reasoning) ?? BUDGET_MIN, bound - 1)
  // The vendor refuses thinking when the bound is too small, or after tool calls whose thoughts are lost.
  if (budget < BUDGET_MIN || toolLoopWithoutThoughts(it)) {
    notCarried.push('reasoning')
    return undefined
  }
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/** The models refuse to continue thinking in a loop of tools when the thoughts before its calls are lost. */
const toolLoopWithoutThoughts = (it: Conversation): boolean => {
  const last = it.turns.findLast(({ role }) => role === 'assistant')
  const loops = it.turns.at(-1)?.parts.some(({ type }) => type === 'tool_result') === true
  return (
    loops &&
    last?.parts.some(({ type }) => type === 'tool_call') === true &&
    !last.parts.some((part) => part.type === 'thinking' && part.signature?.origin === 'messages')
  )
}

export const thinks = (thinking: ThinkingMembers | undefined): boolean =>
  thinking !== undefined && thinking.thinking.type !== 'disabled'

const sampling = (it: Conversation, to: Target, reasons: boolean, notCarried: string[]): JsonObject => {
  const { temperature, topP, topK } = it
  if (reasons || ADAPTIVE.test(to.model.upstreamName)) {
    if (temperature !== undefined && temperature !== 1) notCarried.push('temperature')
    if (topP !== undefined && topP !== 1) notCarried.push('top_p')
    if (topK !== undefined) notCarried.push('top_k')
    return {}
  }
  // The scale ends at 1 here, and at 2 in other dialects.
  if (temperature !== undefined && temperature > 1) notCarried.push('temperature above 1')
  // This vendor takes only one of the two.
  if (temperature !== undefined && topP !== undefined && topP !== 1) notCarried.push('top_p')
  return present({
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: temperature === undefined ? topP : undefined,
    top_k: topK,
  })
}

const toolMembers = (it: Conversation): JsonObject => {
  if (it.tools.length === 0) return {}
  const choice = choiceOf(it.toolChoice, it.parallelTools)
  return present({ tools: it.tools.map(toolOf), tool_choice: choice })
}

const toolOf = ({ name, description, parameters, cache }: Tool): JsonObject =>
  marked(present({ name, description, input_schema: schemaOf(parameters) }), cache)

/** The vendor requires an object schema, even for a tool without arguments. */
const schemaOf = (parameters: Json | undefined): Json =>
  isObject(parameters)
    ? parameters.type === undefined
      ? { type: 'object', ...parameters }
      : parameters
    : { type: 'object' }

const choiceOf = (choice: ToolChoice | undefined, parallel: boolean | undefined): JsonObject | undefined => {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice?.type === 'none') return { type: 'none' }
  if (choice?.type === 'required') return { type: 'any', ...single }
  if (choice?.type === 'named') return { type: 'tool', name: choice.name, ...single }
  return choice === undefined && parallel !== false ? undefined : { type: 'auto', ...single }
}

const blocksOf = (parts: readonly Part[]): readonly JsonObject[] | Refusal => writeEach(parts, blockOf)

const blockOf = (part: Part): readonly JsonObject[] | Refusal => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'summary':
      return part.text.trim() === ''
        ? []
        : [marked({ type: 'text', text: part.text }, part.type === 'text' ? part.cache : undefined)]
    case 'image':
      return [marked({ type: 'image', source: sourceOf(part.media, 'image/png') }, part.cache)]
    case 'document':
      if (!/^(?:application\/pdf|text\/.*)$/.test(mediaTypeOf(part.media, 'application/pdf')))
        return refuseUnsupported('document', `documents of type ${mediaTypeOf(part.media, '')}`)
      return [
        marked(
          present({ type: 'document', source: sourceOf(part.media, 'application/pdf'), title: part.name }),
          part.cache,
        ),
      ]
    case 'audio':
      return refuseUnsupported('input_audio', 'audio')
    case 'tool_call':
      return [marked(toolUse(part), part.cache)]
    case 'tool_result': {
      const content = blocksOf(part.parts)
      if (content instanceof Refusal) return content
      const result = { type: 'tool_result', tool_use_id: safeId(part.id), content, is_error: part.failed }
      return [marked(present(result), part.cache)]
    }
    case 'thinking':
      return thoughtOf(part)
  }
}

/** Only this vendor's own signed thoughts may go back to it. */
const thoughtOf = (part: Part): readonly JsonObject[] => {
  if (part.type !== 'thinking' || part.signature?.origin !== 'messages') return []
  const { value } = part.signature
  return part.redacted === true
    ? [{ type: 'redacted_thinking', data: value }]
    : [{ type: 'thinking', thinking: part.text, signature: value }]
}

const toolUse = (call: ToolCall): JsonObject => ({
  type: 'tool_use',
  id: safeId(call.id),
  name: call.name,
  input: pastArguments(call),
})

/** Ids here consist of letters, digits, `_` and `-`. */
const safeId = (id: string): string => id.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call'

const sourceOf = (media: Media, otherwise: string): JsonObject => {
  if ('url' in media) return { type: 'url', url: media.url }
  if (media.mediaType.startsWith('text/'))
    return {
      type: 'text',
      media_type: 'text/plain',
      data: Buffer.from(media.data, 'base64').toString('utf8'),
    }
  return { type: 'base64', media_type: mediaTypeOf(media, otherwise), data: media.data }
}
