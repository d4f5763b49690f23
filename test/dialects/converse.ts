/** Amazon's side of Converse, by its reference: it writes answers and streams and reads requests as the vendor does. */
import { parseExact } from '../../src/core/exact-json.ts'
import { isObject, type JsonObject, present } from '../../src/core/json-body.ts'
import type { Conversation, Finish, Part, Reply, ToolChoice, Turn } from '../../src/dialects/neutral.ts'
import {
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../src/dialects/request/json-members.ts'
import { awsMessage } from '../server/aws-message.ts'

const stopReasons: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  compaction: 'end_turn',
  content_filter: 'guardrail_intervened',
}

export const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

const blockOf = (part: Part): JsonObject => {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'tool_call':
      return {
        toolUse: { toolUseId: part.id, name: part.name, input: parseExact(part.arguments) as JsonObject },
      }
    case 'thinking':
      return {
        reasoningContent:
          part.redacted === true
            ? { redactedContent: part.signature?.value ?? '' }
            : { reasoningText: present({ text: part.text, signature: part.signature?.value }) },
      }
    default:
      throw new Error(`${part.type} is nothing this vendor says`)
  }
}

export const converseAnswer = ({ choices: [choice] }: Omit<Reply, 'usage'>): JsonObject => ({
  output: { message: { role: 'assistant', content: (choice?.parts ?? []).map(blockOf) } },
  stopReason: stopReasons[choice?.finish ?? 'stop'],
  usage,
  metrics: { latencyMs: 1 },
})

const event = (type: string, payload: object): Uint8Array =>
  awsMessage({ ':message-type': 'event', ':event-type': type }, JSON.stringify(payload))

const cut = (text: string, size: number): readonly string[] => {
  const letters = [...text]
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, at) =>
    letters.slice(at * size, (at + 1) * size).join(''),
  )
}

const deltasOf = (part: Part, size: number): readonly object[] => {
  const reasoning = (reasoningContent: object) => ({ reasoningContent })
  switch (part.type) {
    case 'text':
      return cut(part.text, size).map((text) => ({ text }))
    case 'tool_call':
      return cut(part.arguments, size).map((input) => ({ toolUse: { input } }))
    case 'thinking':
      return part.redacted === true
        ? [reasoning({ redactedContent: part.signature?.value })]
        : [
            ...cut(part.text, size).map((text) => reasoning({ text })),
            ...(part.signature === undefined ? [] : [reasoning({ signature: part.signature.value })]),
          ]
    default:
      return []
  }
}

/** The answer in Amazon's binary framing; blocks of text are not announced. */
export const converseStream = ({ choices: [choice] }: Omit<Reply, 'usage'>, size: number): Uint8Array =>
  Buffer.concat([
    event('messageStart', { role: 'assistant' }),
    ...(choice?.parts ?? []).flatMap((part, contentBlockIndex) => [
      ...(part.type === 'tool_call'
        ? [
            event('contentBlockStart', {
              contentBlockIndex,
              start: { toolUse: { toolUseId: part.id, name: part.name } },
            }),
          ]
        : []),
      ...deltasOf(part, size).map((delta) => event('contentBlockDelta', { contentBlockIndex, delta })),
      event('contentBlockStop', { contentBlockIndex }),
    ]),
    event('messageStop', { stopReason: stopReasons[choice?.finish ?? 'stop'] }),
    event('metadata', { usage, metrics: { latencyMs: 1 } }),
  ])

const mediaTypes: Readonly<Record<string, string>> = { png: 'image/png', pdf: 'application/pdf' }

const partOf = (block: JsonObject): Part => {
  if (typeof block.text === 'string') return { type: 'text', text: block.text }
  for (const kind of ['image', 'document'] as const) {
    const media = objectOf(block[kind])
    const mediaType = mediaTypes[textOf(media.format) ?? '']
    const data = textOf(objectOf(media.source).bytes)
    if (mediaType !== undefined && data !== undefined)
      return { type: kind, media: { mediaType, data }, ...(kind === 'document' ? { name: '' } : {}) }
  }
  const { toolUse, toolResult, reasoningContent } = block
  if (isObject(toolUse))
    return {
      type: 'tool_call',
      id: textOf(toolUse.toolUseId) ?? '',
      name: textOf(toolUse.name) ?? '',
      arguments: JSON.stringify(toolUse.input),
    }
  if (isObject(toolResult))
    return present({
      type: 'tool_result' as const,
      id: textOf(toolResult.toolUseId) ?? '',
      parts: objectsOf(toolResult.content).map(partOf) as never,
      failed: toolResult.status === 'error' ? true : undefined,
    })
  const { reasoningText, redactedContent } = objectOf(reasoningContent)
  const signed = (value: string) => ({ origin: 'messages' as const, value })
  if (typeof redactedContent === 'string')
    return { type: 'thinking', text: '', redacted: true, signature: signed(redactedContent) }
  if (!isObject(reasoningText)) throw new Error(`a block of another kind: ${JSON.stringify(block)}`)
  const { text, signature } = reasoningText
  return { type: 'thinking', text: textOf(text) ?? '', signature: signed(textOf(signature) ?? '') }
}

const choiceOf = (choice: JsonObject): ToolChoice | undefined =>
  isObject(choice.any)
    ? { type: 'required' }
    : isObject(choice.tool)
      ? { type: 'named', name: textOf(choice.tool.name) ?? '' }
      : undefined

/** Reads a request as the vendor does, and refuses what the vendor would refuse. */
export const readConverseCall = (body: JsonObject): Conversation => {
  const system = objectsOf(body.system).map(partOf)
  const turns = objectsOf(body.messages).map(
    ({ role, content }): Turn => ({
      role: role === 'assistant' ? 'assistant' : 'user',
      parts: objectsOf(content).map(partOf),
    }),
  )
  for (const [at, { role }] of turns.entries())
    if ((role === 'user') !== (at % 2 === 0)) throw new Error('roles must alternate, the user first')
  const names = objectsOf(body.messages).flatMap(({ content }) =>
    objectsOf(content).flatMap(({ document }) => (isObject(document) ? [document.name] : [])),
  )
  if (new Set(names).size < names.length) throw new Error('names of documents must differ')
  const calls = turns.some(({ parts }) => parts.some(({ type }) => type === 'tool_call'))
  const tools = objectsOf(objectOf(body.toolConfig).tools)
  if (calls && tools.length === 0) throw new Error('toolConfig must be there where tools were used')
  const config = objectOf(body.inferenceConfig)
  const thinking = objectOf(objectOf(body.additionalModelRequestFields).thinking)
  return present({
    turns: system.length === 0 ? turns : [{ role: 'system' as const, parts: system }, ...turns],
    tools: tools.map(({ toolSpec }) => {
      const { name, description, inputSchema } = objectOf(toolSpec)
      return present({
        name: textOf(name) ?? '',
        description: textOf(description),
        parameters: objectOf(inputSchema).json,
      })
    }),
    toolChoice: choiceOf(objectOf(objectOf(body.toolConfig).toolChoice)),
    reasoning:
      thinking.type === 'enabled'
        ? present({ budget: numberOf(thinking.budget_tokens), show: true })
        : undefined,
    stop: textsOf(listOf(config.stopSequences) as never),
    choices: 1,
    maxOutput: numberOf(config.maxTokens),
    temperature: numberOf(config.temperature),
    topP: numberOf(config.topP),
    ignored: [],
    unknownContent: [],
  })
}
