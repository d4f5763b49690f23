/** Converse, answers and events → neutral form. Source of the format: Amazon Bedrock API reference, "Converse" and "ConverseStream". */
import { isObject, type Json, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { readMessagesUsage } from '../messages/reply.ts'
import type { Finish, Part, Piece, Reply } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { Signature } from '../translate/signatures.ts'

const finishes: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop_sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
}

/** How an answer ended. Some models say `end_turn` where they call tools, or `tool_use` where they call none. */
const finishOf = (reason: Json | undefined, callsTools: boolean): Finish => {
  const finish = finishes[textOf(reason) ?? ''] ?? 'stop'
  return finish === 'stop' || finish === 'tool_calls' ? (callsTools ? 'tool_calls' : 'stop') : finish
}

/** Why an answer that ended for this reason is none. */
const faultOf = (reason: Json | undefined): string | undefined =>
  textOf(reason)?.startsWith('malformed_') === true
    ? 'the model wrote an answer or a call of a tool that its vendor cannot read'
    : undefined

/** The reasoning models at this address are Anthropic's, and so are their signatures. */
const signed = (value: string): Signature => ({ origin: 'messages', value })

/** Reads an answer; undefined when it is not one. */
export const readConverseReply = (value: JsonObject): Omit<Reply, 'usage'> | undefined => {
  const message = objectOf(objectOf(value.output).message)
  if (!Array.isArray(message.content)) return undefined
  const blocks = objectsOf(message.content)
  const parts = blocks.flatMap(partOf)
  const calls = parts.some(({ type }) => type === 'tool_call')
  return {
    id: '',
    model: '',
    choices: [{ parts, finish: finishOf(value.stopReason, calls) }],
    ...present({ fault: faultOf(value.stopReason) }),
    ...(blocks.some((block) => isObject(block.citationsContent)) ? { notCarried: ['citations'] } : {}),
  }
}

const partOf = (block: JsonObject): Part[] => {
  if (typeof block.text === 'string') return [{ type: 'text', text: block.text }]
  // A text with its sources, which are the caller's own documents.
  if (isObject(block.citationsContent)) return objectsOf(block.citationsContent.content).flatMap(partOf)
  const tool = block.toolUse
  if (isObject(tool))
    return [
      {
        type: 'tool_call',
        id: textOf(tool.toolUseId) ?? '',
        name: textOf(tool.name) ?? '',
        arguments: JSON.stringify(tool.input ?? {}),
      },
    ]
  const reasoning = objectOf(block.reasoningContent)
  const redacted = textOf(reasoning.redactedContent)
  if (redacted !== undefined)
    return [{ type: 'thinking', text: '', redacted: true, signature: signed(redacted) }]
  const thought = objectOf(reasoning.reasoningText)
  if (typeof thought.text !== 'string') return []
  const signature = textOf(thought.signature)
  return [
    present({
      type: 'thinking' as const,
      text: thought.text,
      signature: signature === undefined ? undefined : signed(signature),
    }),
  ]
}

/** Letters in an answer's content. */
export const converseLetters = (value: JsonObject): number =>
  lettersIn(JSON.stringify(objectOf(objectOf(value.output).message).content ?? []))

/** Usage counts cached input separately, as messages do. */
export const readConverseUsage = (raw: JsonObject): Usage | undefined =>
  readMessagesUsage({
    input_tokens: raw.inputTokens,
    output_tokens: raw.outputTokens,
    cache_read_input_tokens: raw.cacheReadInputTokens ?? 0,
    cache_creation_input_tokens: raw.cacheWriteInputTokens ?? 0,
  })

const END: readonly Piece[] = [{ type: 'end' }]

/** Makes a reader for one stream; each event is an object with the event's name as its member. */
export const converseStreamReader = (): ((data: string) => readonly Piece[]) => {
  let tools = 0
  const toolOf = new Map<number, number>()
  /** The end of an answer that is none. It waits for the usage, which comes last. */
  let failed: readonly Piece[] | undefined
  const delta = (event: JsonObject): Piece[] => {
    const { delta: raw } = event
    const given = objectOf(raw)
    const text = textOf(given.text)
    if (text !== undefined) return [{ type: 'text', choice: 0, text }]
    if (isObject(given.citation)) return [{ type: 'not_carried', name: 'citations' }]
    const input = textOf(objectOf(given.toolUse).input)
    const index = toolOf.get(numberOf(event.contentBlockIndex) ?? 0)
    if (input !== undefined && index !== undefined)
      return [{ type: 'arguments', choice: 0, index, text: input }]
    const reasoning = objectOf(given.reasoningContent)
    if (typeof reasoning.text === 'string') return [{ type: 'thinking', choice: 0, text: reasoning.text }]
    if (typeof reasoning.signature === 'string')
      return [{ type: 'signature', choice: 0, signature: signed(reasoning.signature) }]
    return typeof reasoning.redactedContent === 'string'
      ? [{ type: 'signature', choice: 0, redacted: true, signature: signed(reasoning.redactedContent) }]
      : []
  }
  return (data) => {
    const event = parseJson(data)
    if (!isObject(event)) return []
    if (isObject(event.error)) return [{ type: 'error', error: event.error }]
    if (isObject(event.messageStart)) return [{ type: 'start', id: '', model: '' }]
    if (isObject(event.contentBlockStart)) {
      const tool = objectOf(objectOf(event.contentBlockStart.start).toolUse)
      if (tool.toolUseId === undefined) return []
      toolOf.set(numberOf(event.contentBlockStart.contentBlockIndex) ?? 0, tools)
      const id = textOf(tool.toolUseId) ?? ''
      return [{ type: 'tool', choice: 0, index: tools++, id, name: textOf(tool.name) ?? '' }]
    }
    if (isObject(event.contentBlockDelta)) return delta(event.contentBlockDelta)
    if (isObject(event.messageStop)) {
      const { stopReason } = event.messageStop
      const finish: Piece = { type: 'finish', choice: 0, finish: finishOf(stopReason, tools > 0) }
      const message = faultOf(stopReason)
      if (message === undefined) return [finish]
      failed = [finish, { type: 'error', error: { message } }]
      return []
    }
    if (!isObject(event.metadata)) return []
    const usage = readConverseUsage(objectOf(event.metadata.usage))
    return [...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]), ...(failed ?? END)]
  }
}
