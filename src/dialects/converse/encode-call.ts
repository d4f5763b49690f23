/** Converse, neutral form → request for Amazon Bedrock. Source of the format: Amazon Bedrock API reference, "Converse". */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { present } from '../json-members.ts'
import { mediaTypeOf } from '../media.ts'
import type { Conversation, Media, Part, ToolResult } from '../neutral.ts'
import { budgetOf } from '../reasoning.ts'
import { arrange } from '../turns.ts'
import { type Encoded, meaningLost, type Target } from '../vendor-call.ts'

/** The smallest budget of reasoning that the models behind this address take. */
const BUDGET_MIN = 1_024

/** Writes the conversation for a vendor of this dialect. */
export const writeConverseCall = (it: Conversation, to: Target): Encoded | Refusal => {
  if (it.makes !== undefined) return meaningLost('modalities', 'answers in anything but text')
  if (it.choices > 1) return meaningLost('n', 'more than one answer to a call')
  const { system, turns, moved } = arrange(it)
  const dropped = [...it.unread, ...uncarried(it), ...(moved ? ['system message position'] : [])]
  const messages: Json[] = []
  for (const turn of turns) {
    const content = blocksOf(turn.parts)
    if (content instanceof Refusal) return content
    if (content.length > 0) messages.push({ role: turn.role, content })
  }
  const said = blocksOf(system.filter(({ type }) => type === 'text'))
  if (said instanceof Refusal) return said
  const asJson = it.format?.type === 'json' ? [{ text: 'Answer with one JSON object and nothing else.' }] : []
  const bound = to.outputBound ?? it.maxOutput
  const thinking = thinkingOf(it, to, bound, dropped)
  const body: JsonObject = present({
    messages,
    system: said.length + asJson.length === 0 ? undefined : [...said, ...asJson],
    inferenceConfig: present({
      maxTokens: bound,
      temperature:
        thinking !== undefined || it.temperature === undefined ? undefined : Math.min(it.temperature, 1),
      topP: thinking === undefined ? it.topP : undefined,
      stopSequences: it.stop.length === 0 ? undefined : it.stop,
    }),
    toolConfig: toolsOf(it),
    additionalModelRequestFields: thinking,
  })
  return { body, dropped }
}

const uncarried = (it: Conversation): readonly string[] => [
  ...(it.topK === undefined ? [] : ['top_k']),
  ...(it.seed === undefined ? [] : ['seed']),
  ...(it.presencePenalty === undefined ? [] : ['presence_penalty']),
  ...(it.frequencyPenalty === undefined ? [] : ['frequency_penalty']),
  ...(it.logprobs === undefined ? [] : ['logprobs']),
  ...(it.user === undefined ? [] : ['user']),
  ...(it.parallelTools === false ? ['parallel_tool_calls'] : []),
  ...((it.temperature ?? 0) > 1 ? ['temperature above 1'] : []),
]

/** Only the vendor's own field carries reasoning, and only Claude models know this one. */
const thinkingOf = (
  it: Conversation,
  to: Target,
  bound: number | undefined,
  dropped: string[],
): JsonObject | undefined => {
  if (it.reasoning === undefined || it.reasoning.effort === 'none') return undefined
  const budget = Math.min(budgetOf(it.reasoning) ?? BUDGET_MIN, (bound ?? to.model.maxOutputTokens) - 1)
  const forced = it.toolChoice?.type === 'required' || it.toolChoice?.type === 'named'
  if (!to.model.upstreamName.includes('claude') || budget < BUDGET_MIN || forced) {
    dropped.push('reasoning')
    return undefined
  }
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

const toolsOf = (it: Conversation): JsonObject | undefined => {
  const choice = it.toolChoice
  // There is no way to say "none": the tools are left out, which is what it means.
  if (it.tools.length === 0 || choice?.type === 'none') return undefined
  return present({
    tools: it.tools.map(({ name, description, parameters }) => ({
      toolSpec: present({ name, description, inputSchema: { json: parameters ?? { type: 'object' } } }),
    })),
    toolChoice:
      choice === undefined || choice.type === 'auto'
        ? undefined
        : choice.type === 'named'
          ? { tool: { name: choice.name } }
          : { any: {} },
  })
}

const blocksOf = (parts: readonly Part[]): Json[] | Refusal => {
  const blocks: Json[] = []
  for (const part of parts) {
    const written = blockOf(part)
    if (written instanceof Refusal) return written
    blocks.push(...written)
    if ('cache' in part && part.cache !== undefined) blocks.push({ cachePoint: { type: 'default' } })
  }
  return blocks
}

const blockOf = (part: Part): Json[] | Refusal => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() === '' ? [] : [{ text: part.text }]
    case 'image':
      return mediaBlock('image', part.media, 'image/png', {})
    case 'document':
      return mediaBlock('document', part.media, 'application/pdf', { name: nameOf(part.name) })
    case 'audio':
      return meaningLost('input_audio', 'audio')
    case 'tool_call': {
      const input = parseJson(part.arguments)
      return [{ toolUse: { toolUseId: idOf(part.id), name: part.name, input: isObject(input) ? input : {} } }]
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

const resultOf = (part: ToolResult): Json[] | Refusal => {
  const content = blocksOf(part.parts)
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

/** Ids here are letters, digits, `_`, `-` and at most 64 of them. */
const idOf = (id: string): string => id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-64) || 'call'

/** Names of documents allow little more than letters here. */
const nameOf = (name: string | undefined): string =>
  (name ?? 'document').replaceAll(/[^A-Za-z0-9 ()[\]-]/g, '-').slice(0, 100)

const mediaBlock = (
  kind: 'image' | 'document',
  media: Media,
  otherwise: string,
  more: JsonObject,
): Json[] | Refusal => {
  if ('url' in media) return meaningLost(kind, `a ${kind} by its address`)
  const type = mediaTypeOf(media, otherwise).split('/')[1] ?? ''
  const format = type === 'plain' ? 'txt' : type
  return [{ [kind]: { format, ...more, source: { bytes: media.data } } }]
}
