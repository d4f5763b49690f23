/** Messages, whole answers ⇄ neutral form, and their usage. Source of the format: Anthropic API reference, "The Message object". */

import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { soundUsage, type Usage, usageClasses } from '../../core/usage.ts'
import type { Citation, Finish, Image, Part, Reply } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { type Cited, citationsByText } from '../translate/citations.ts'
import { idWith, readSignature, signed, splitId, unsigned, writeSignature } from '../translate/signatures.ts'
import { argumentsOf } from '../translate/tool-arguments.ts'
import { citationOf, readCitations } from './citations.ts'

const finishes: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop_sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}
export const finishOf = (reason: Json | undefined): Finish => finishes[textOf(reason) ?? ''] ?? 'stop'

const reasons: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  compaction: 'compaction',
}
export const reasonOf = (finish: Finish): string => reasons[finish]

/** Reads a vendor's answer; undefined when it is not one. */
export const readMessagesReply = (value: JsonObject): Omit<Reply, 'usage'> | undefined => {
  if (!Array.isArray(value.content)) return undefined
  const stopSequence = textOf(value.stop_sequence)
  const { citations, notCarried } = citedIn(objectsOf(value.content))
  return {
    id: textOf(value.id) ?? '',
    model: textOf(value.model) ?? '',
    ...(notCarried ? { notCarried: ['citations'] } : {}),
    choices: [
      present({
        parts: objectsOf(value.content).flatMap(saidOf),
        citations: citations.length === 0 ? undefined : citations,
        finish: finishOf(value.stop_reason),
        stopSequence,
      }),
    ],
  }
}

const citedIn = (blocks: readonly JsonObject[]): Cited => {
  let start = 0
  const cited = blocks.map((block) => {
    const from = start
    if (block.type === 'text') start += textOf(block.text)?.length ?? 0
    return readCitations(block.citations, from, start)
  })
  return {
    citations: cited.flatMap(({ citations }) => citations),
    notCarried: cited.some(({ notCarried }) => notCarried),
  }
}

/** A block that the model wrote. */
export const saidOf = (block: JsonObject): Part[] => {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: textOf(block.text) ?? '' }]
    case 'thinking':
      return [
        {
          type: 'thinking',
          text: textOf(block.thinking) ?? '',
          ...signed(textOf(block.signature), 'messages'),
        },
      ]
    case 'redacted_thinking':
      return [
        {
          type: 'thinking',
          text: '',
          redacted: true,
          signature: readSignature(textOf(block.data) ?? '', 'messages'),
        },
      ]
    case 'tool_use':
      return [
        {
          type: 'tool_call',
          ...splitId(textOf(block.id) ?? ''),
          name: textOf(block.name) ?? '',
          arguments: JSON.stringify(block.input ?? {}),
        },
      ]
    default:
      return []
  }
}

/** Writes an answer in this dialect. */
export const writeMessagesReply = (reply: Reply): JsonObject => {
  const [choice] = reply.choices
  const cited = citationsByText(choice?.parts ?? [], choice?.citations ?? [])
  return {
    id: reply.id,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content: (choice?.parts ?? []).flatMap((part) => blockOf(part, cited.get(part))),
    stop_reason: reasonOf(choice?.finish ?? 'stop'),
    stop_sequence: choice?.stopSequence ?? null,
    usage: messagesUsage(reply.usage ?? {}),
  }
}

const blockOf = (part: Part, cited: readonly Citation[] | undefined): JsonObject[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [present({ type: 'text', text: part.text, citations: cited?.map(citationOf) })]
    case 'thinking':
      return [thoughtBlock(part)]
    case 'image':
      return [imageBlock(part)]
    case 'summary':
      return [summaryBlock(part.text)]
    case 'tool_call': {
      const input = argumentsOf(part)
      // A call without its end is none.
      return input === undefined
        ? []
        : [{ type: 'tool_use', id: idWith(part.id, part.signature), name: part.name, input }]
    }
    default:
      return []
  }
}

/** A summary that we made can be read, as this dialect's own can. The mark shows that its vendor did not sign it. */
export const summaryBlock = (content: string | null): JsonObject => ({
  type: 'compaction',
  content,
  encrypted_content: null,
  signature: writeSignature(unsigned, 'messages'),
})

/** This dialect's models make no images; an image of another vendor is written as the block that a user would send. */
export const imageBlock = ({ media }: Image): JsonObject => ({
  type: 'image',
  source:
    'url' in media
      ? { type: 'url', url: media.url }
      : { type: 'base64', media_type: media.mediaType, data: media.data },
})

const thoughtBlock = (part: Part & { type: 'thinking' }): JsonObject => {
  const signature = writeSignature(part.signature ?? unsigned, 'messages')
  return part.redacted === true
    ? { type: 'redacted_thinking', data: signature }
    : { type: 'thinking', thinking: part.text, signature }
}

/** Usage in this dialect's disjoint counts. */
export const messagesUsage = (usage: Usage): JsonObject => ({
  input_tokens: (usage.input ?? 0) + (usage.input_audio ?? 0) + (usage.input_image ?? 0),
  cache_creation_input_tokens: (usage.cache_write ?? 0) + (usage.cache_write_1h ?? 0),
  cache_read_input_tokens: (usage.cache_read ?? 0) + (usage.cache_read_audio ?? 0),
  output_tokens:
    (usage.output ?? 0) + (usage.reasoning ?? 0) + (usage.output_audio ?? 0) + (usage.output_image ?? 0),
  ...(usage.reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: usage.reasoning } }),
})

/**
 * Reads a vendor's usage; undefined when it is absent or absurd. Here the output includes the reasoning. What a summary
 * cost that the vendor wrote stands beside the rest, as an iteration of its own.
 */
export const readMessagesUsage = (raw: JsonObject): Usage | undefined => {
  const own = readCounts(raw)
  if (!Array.isArray(raw.iterations)) return own
  const summaries = objectsOf(raw.iterations).filter(({ type }) => type === 'compaction')
  return summaries.map(readCounts).reduce(added, own)
}

const added = (one: Usage | undefined, other: Usage | undefined): Usage | undefined => {
  if (one === undefined || other === undefined) return undefined
  const names = usageClasses.filter((name) => one[name] !== undefined || other[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]))
}

const readCounts = (raw: JsonObject): Usage | undefined => {
  const creation = objectOf(raw.cache_creation)
  const hour = numberOf(creation.ephemeral_1h_input_tokens) ?? 0
  const written =
    numberOf(raw.cache_creation_input_tokens) ?? hour + (numberOf(creation.ephemeral_5m_input_tokens) ?? 0)
  const input = numberOf(raw.input_tokens)
  if (input === undefined) return undefined
  const output = numberOf(raw.output_tokens) ?? 0
  const thought = Math.min(output, numberOf(objectOf(raw.output_tokens_details).thinking_tokens) ?? 0)
  return soundUsage({
    input,
    cache_read: numberOf(raw.cache_read_input_tokens) ?? 0,
    cache_write: written - hour,
    cache_write_1h: hour,
    output: output - thought,
    reasoning: thought,
    web_search: numberOf(objectOf(raw.server_tool_use).web_search_requests) ?? 0,
  })
}
