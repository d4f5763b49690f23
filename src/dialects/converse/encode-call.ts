/** Converse, neutral form → request for Amazon Bedrock. Source of the format: Amazon Bedrock API reference, "Converse". */

import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { Refusal, writeEach } from '../../core/refusal.ts'
import { ADAPTIVE, thinkingOf, thinks } from '../messages/encode-call.ts'
import type { Conversation, Media, Part, Tool, ToolResult, Turn } from '../neutral.ts'
import { listOf, objectsOf } from '../request/json-members.ts'
import { mediaTypeOf } from '../translate/media.ts'
import { pastArguments } from '../translate/tool-arguments.ts'
import { arrangeTexts, messagesOf, toolNames } from '../translate/turns.ts'
import { AS_JSON, type Encoded, refuseUnsupported, type Target } from '../translate/vendor-call.ts'

/** Writes the conversation for a vendor of this dialect. */
export const writeConverseCall = (it: Conversation, to: Target): Encoded | Refusal => {
  if (it.makes !== undefined) return refuseUnsupported('modalities', 'answers in anything but text')
  if (it.choices > 1) return refuseUnsupported('n', 'more than one answer to a call')
  const isOwn = (part: Part) => part.type === 'thinking' && part.signature?.origin === 'messages'
  const arranged = arrangeTexts(it, isOwn)
  if (arranged instanceof Refusal) return arranged
  const { system, turns, notCarried } = arranged
  const takes = marksOf(to.model.upstreamName)
  const markable = [...system, ...turns.flatMap(({ parts }) => parts), ...it.tools]
  if (markable.some((one) => isMarked(one) && !takes(one))) notCarried.push('cache_control')
  const blocksOf = blocksWith(takes)
  const messages = messagesOf(turns.map(documentsNamed()), blocksOf)
  if (messages instanceof Refusal) return messages
  const said = blocksOf(system)
  if (said instanceof Refusal) return said
  const asJson = it.format?.type === 'json' ? [{ text: AS_JSON }] : []
  const bound = to.outputBound ?? it.maxOutput
  const thinking = fieldsOfReasoning(it, to, bound, notCarried)
  // The models here take neither temperature nor top_p beside reasoning.
  const reasons = thinks(thinking) || ADAPTIVE.test(to.model.upstreamName)
  if (reasons && it.temperature !== undefined && it.temperature !== 1) notCarried.push('temperature')
  if (reasons && it.topP !== undefined && it.topP !== 1) notCarried.push('top_p')
  const body: JsonObject = present({
    messages: alternating(messages),
    system: said.length + asJson.length === 0 ? undefined : [...said, ...asJson],
    inferenceConfig: present({
      maxTokens: bound,
      temperature: reasons || it.temperature === undefined ? undefined : Math.min(it.temperature, 1),
      topP: reasons ? undefined : it.topP,
      stopSequences: it.stop.length === 0 ? undefined : it.stop,
    }),
    toolConfig: toolsOf(it, takes, notCarried),
    additionalModelRequestFields: fieldsOf(thinking, to.betas ?? []),
  })
  return { body, notCarried }
}

/** Roles must alternate here, so what stood around a turn of which nothing is written becomes one message. */
const alternating = (messages: readonly Json[]): readonly Json[] => {
  const whole: { readonly role: Json; readonly content: Json[] }[] = []
  for (const { role = '', content } of objectsOf(messages)) {
    const last = whole.at(-1)
    // One by one, so that very many turns without a word take no more time than others.
    if (last?.role === role) for (const block of listOf(content)) last.content.push(block)
    else whole.push({ role, content: [...listOf(content)] })
  }
  return whole
}

/**
 * Members for the model itself. Source: Amazon Bedrock user guide, "Anthropic Claude Messages API", `anthropic_beta`.
 */
const fieldsOf = (thinking: JsonObject | undefined, betas: readonly string[]): JsonObject | undefined =>
  betas.length === 0 ? thinking : { ...thinking, anthropic_beta: betas }

/** Only model-specific fields carry reasoning, and only Claude models know these. */
const fieldsOfReasoning = (it: Conversation, to: Target, bound: number | undefined, notCarried: string[]) => {
  if (to.model.upstreamName.includes('claude'))
    return thinkingOf(it, to, bound ?? to.model.maxOutputTokens, notCarried)
  if (
    it.reasoning !== undefined &&
    (it.reasoning.effort !== 'none' || to.model.capabilities.includes('reasoning'))
  )
    notCarried.push('reasoning')
  return undefined
}

/**
 * Tools that earlier turns use and the call does not declare: the vendor refuses tool blocks without declared tools.
 */
const toolsUsed = (it: Conversation): readonly Tool[] =>
  [...new Set(toolNames(it).values())].map((name) => ({ name }))

const toolsOf = (it: Conversation, takes: TakesMark, notCarried: string[]): JsonObject | undefined => {
  const choice = it.toolChoice
  const used = toolsUsed(it)
  // The dialect has no word for "none". If no tool was used before, we leave out the tools, which means the same.
  if (used.length === 0 && (it.tools.length === 0 || choice?.type === 'none')) return undefined
  if (choice?.type === 'none') notCarried.push('tool_choice')
  return present({
    tools: (it.tools.length === 0 ? used : it.tools).flatMap((tool) => [
      toolOf(tool),
      ...(isMarked(tool) && takes(tool) ? [CACHE_POINT] : []),
    ]),
    toolChoice:
      choice === undefined || choice.type === 'auto' || choice.type === 'none'
        ? undefined
        : choice.type === 'named'
          ? { tool: { name: choice.name } }
          : { any: {} },
  })
}

const toolOf = ({ name, description, parameters }: Tool): JsonObject => ({
  toolSpec: present({ name, description, inputSchema: { json: parameters ?? { type: 'object' } } }),
})

const CACHE_POINT = { cachePoint: { type: 'default' } }

/** Whether a mark for the cache may follow what is written of this. */
type TakesMark = (one: Part | Tool) => boolean

/** Claude models with a cache, and profiles, whose names do not tell their model. */
const MARKED_ANYWHERE = /claude-(?!3-(?:haiku|sonnet|opus))|^arn:/

/**
 * Where a model takes marks for the cache: with a mark at any other place the vendor refuses the whole call. Source:
 * Amazon Bedrock user guide, "Prompt caching"; Nova models refuse marks among tools, and some of them after results.
 */
const marksOf = (name: string): TakesMark => {
  if (MARKED_ANYWHERE.test(name)) return () => true
  return name.includes('amazon.nova-') ? (one) => 'type' in one && one.type === 'text' : () => false
}

/** Whether a mark for the cache stands at this, or inside it if it is a result. */
const isMarked = (one: Part | Tool): boolean =>
  ('cache' in one && one.cache !== undefined) ||
  ('type' in one && one.type === 'tool_result' && one.parts.some(isMarked))

/** Names the documents of a call: here each needs a name of its own, and many have none. */
const documentsNamed = (): ((turn: Turn) => Turn) => {
  const usedNames = new Set<string>()
  const free = (wanted: string, tried = 1): string => {
    const name = tried === 1 ? wanted : `${wanted} ${tried}`
    return usedNames.has(name) ? free(wanted, tried + 1) : name
  }
  const named = <T extends Part>(part: T): T => {
    if (part.type === 'tool_result') return { ...part, parts: part.parts.map((inner) => named(inner)) }
    if (part.type !== 'document') return part
    const name = free(nameOf(part.name))
    usedNames.add(name)
    return { ...part, name }
  }
  return (turn) => ({ ...turn, parts: turn.parts.map((part) => named(part)) })
}

const blocksWith =
  (takes: TakesMark) =>
  (parts: readonly Part[]): readonly Json[] | Refusal =>
    writeEach(parts, (part) => {
      const blocks = blockOf(part)
      if (blocks instanceof Refusal || blocks.length === 0) return blocks
      return isMarked(part) && takes(part) ? [...blocks, CACHE_POINT] : blocks
    })

const blockOf = (part: Part): Json[] | Refusal => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'summary':
      return part.text.trim() === '' ? [] : [{ text: part.text }]
    case 'image':
      return mediaBlock('image', part.media, 'image/png', {})
    case 'document':
      return mediaBlock('document', part.media, 'application/pdf', { name: part.name ?? 'document' })
    case 'audio':
      return refuseUnsupported('input_audio', 'audio')
    case 'tool_call': {
      return [{ toolUse: { toolUseId: idOf(part.id), name: part.name, input: pastArguments(part) } }]
    }
    case 'tool_result':
      return resultOf(part)
    case 'thinking': {
      const signature = part.signature
      if (signature?.origin !== 'messages') return []
      return [
        {
          reasoningContent:
            part.redacted === true
              ? { redactedContent: signature.value }
              : { reasoningText: { text: part.text, signature: signature.value } },
        },
      ]
    }
  }
}

/** A result has no place for marks inside it. */
const resultOf = (part: ToolResult): Json[] | Refusal => {
  const content = writeEach(part.parts, blockOf)
  if (content instanceof Refusal) return content
  return [
    {
      toolResult: present({
        toolUseId: idOf(part.id),
        content,
        status: part.failed === true ? 'error' : undefined,
      }),
    },
  ]
}

/** Ids here are at most 64 letters, digits, `_` and `-`. */
const idOf = (id: string): string => id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-64) || 'call'

/** Names of documents allow little more than letters here. */
const nameOf = (name: string | undefined): string =>
  (name ?? 'document').replaceAll(/[^A-Za-z0-9 ()[\]-]/g, '-').slice(0, 80)

const mediaBlock = (
  kind: 'image' | 'document',
  media: Media,
  otherwise: string,
  more: JsonObject,
): Json[] | Refusal => {
  if ('url' in media) return refuseUnsupported(kind, `a ${kind} by its address`)
  const type = mediaTypeOf(media, otherwise).split('/')[1] ?? ''
  const format = type === 'plain' ? 'txt' : type
  return [{ [kind]: { format, ...more, source: { bytes: media.data } } }]
}
