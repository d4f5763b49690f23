/** Messages, request → neutral form. Source of the format: Anthropic API reference, "Create a Message". */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import {
  type Conversation,
  type Effort,
  efforts,
  type Format,
  type Media,
  type Part,
  type Reasoning,
  type ToolChoice,
  type ToolResult,
  type Turn,
  type UnknownContent,
} from '../neutral.ts'
import { flagOf, numberOf, objectOf, objectsOf, partsIn, textOf, textsOf } from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { UNSET } from '../request/shape.ts'
import { unknownIn, unknownParts } from '../request/unknown-content.ts'
import { asTold } from '../translate/compaction.ts'
import { typeNamed } from '../translate/media.ts'
import { splitId } from '../translate/signatures.ts'
import { resultParts } from '../translate/turns.ts'
import { saidOf } from './reply.ts'
import { countRequest, type MessagesRequest } from './request.ts'

const setOf = (value: Json | undefined): number | undefined => (value === UNSET ? undefined : numberOf(value))

/** Reads a body that `decodeMessagesCall` has checked. */
export const readMessages = (body: MessagesRequest): Conversation => {
  const choice = objectOf(body.tool_choice)
  return present({
    turns: [...systemOf(body.system), ...afterSummary(objectsOf(body.messages))],
    tools: objectsOf(body.tools).map((tool) =>
      present({
        name: textOf(tool.name) ?? '',
        description: textOf(tool.description),
        parameters: tool.input_schema ?? { type: 'object' },
        strict: flagOf(tool.strict),
        cache: tool.cache_control ?? undefined,
      }),
    ),
    toolChoice: choiceOf(choice),
    parallelTools: choice.disable_parallel_tool_use === true ? false : undefined,
    format: formatOf(body),
    reasoning: reasoningOf(body),
    stop: textsOf(body.stop_sequences),
    choices: 1,
    maxOutput: numberOf(body.max_tokens),
    temperature: numberOf(body.temperature),
    topP: setOf(body.top_p),
    topK: setOf(body.top_k),
    user: textOf(objectOf(body.metadata).user_id),
    ignored: [...ignoredIn(countRequest, body), ...lostIn(body)],
    unknownContent: unknownContentOf(body),
  })
}

/** What blocks ask for that is not carried: tools that change in mid-conversation, citations, the titles of documents of parts. */
const lostIn = ({ system, messages }: MessagesRequest): readonly string[] => {
  const blocks = [...objectsOf(system), ...objectsOf(messages).flatMap(({ content }) => objectsOf(content))]
  return [...new Set(blocks.flatMap(lostOf))]
}

const lostOf = ({ type, citations, source, title, content }: JsonObject): readonly string[] => [
  ...(type === 'tool_addition' || type === 'tool_removal' ? [type] : []),
  ...(objectOf(citations).enabled === true || objectsOf(citations).length > 0 ? ['citations'] : []),
  ...(type === 'document' && objectOf(source).type === 'content' && textOf(title) ? ['filename'] : []),
  ...(type === 'tool_result' ? objectsOf(content).flatMap(lostOf) : []),
]

/** Content that the vendor itself produces or stores. */
const unknownContentOf = (body: MessagesRequest): readonly UnknownContent[] => [
  ...unknownParts(
    body.tools,
    'tools',
    ({ type }) => type === undefined || type === null || type === 'custom',
  ),
  ...unknownParts(body.system, 'system', isKnown),
  ...unknownIn(body.messages, 'messages', 'content', isKnown),
]

/** Tools added in mid-conversation: they are all sent from the start. */
const isOfTools = ({ type }: JsonObject): boolean => type === 'tool_addition' || type === 'tool_removal'

const isKnown = (block: JsonObject): boolean =>
  isOfTools(block) ||
  block.type === 'compaction' ||
  (block.type === 'tool_result'
    ? typeof block.content === 'string' || objectsOf(block.content).every(isKnown)
    : partOf(block).length > 0 && isKnownSource(objectOf(block.source)))

/** A source may itself be a list of blocks. */
const isKnownSource = ({ type, content }: JsonObject): boolean =>
  type === 'content' ? objectsOf(content).every(isKnown) : type !== 'file'

const systemOf = (system: Json | undefined): readonly Turn[] => {
  const parts = partsOf(system)
  return parts.length === 0 ? [] : [{ role: 'system', parts }]
}

/** A summary stands for all that was said before it. One without content stands for nothing: it was not written. */
const isSummary = ({ type, content }: JsonObject): boolean =>
  type === 'compaction' && typeof content === 'string' && content !== ''

/** The turns from the last summary on, which the user tells. */
const afterSummary = (messages: readonly JsonObject[]): readonly Turn[] => {
  const from = messages.findLastIndex(
    ({ content }) => Array.isArray(content) && objectsOf(content).some(isSummary),
  )
  const first = messages[from]
  if (first === undefined) return messages.map(turnOf)
  const blocks = objectsOf(first.content)
  const at = blocks.findLastIndex(isSummary)
  const told = asTold(textOf(blocks[at]?.content) ?? '')
  const rest = { ...first, content: blocks.slice(at + 1) }
  const turns = [...(rest.content.length === 0 ? [] : [rest]), ...messages.slice(from + 1)].map(turnOf)
  return [{ role: 'user', parts: [{ type: 'text', text: told }] }, ...turns]
}

const turnOf = (message: JsonObject): Turn => ({
  role: message.role === 'assistant' ? 'assistant' : message.role === 'system' ? 'system' : 'user',
  parts: partsOf(message.content),
})

const choiceOf = (choice: JsonObject): ToolChoice | undefined => {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return { type: 'named', name: textOf(choice.name) ?? '' }
    default:
      return undefined
  }
}

const formatOf = (body: MessagesRequest): Format | undefined => {
  const format = objectOf(objectOf(body.output_config).format ?? body.output_format)
  return format.type === 'json_schema'
    ? { type: 'schema', name: textOf(format.name) ?? 'answer', schema: format.schema ?? {}, strict: true }
    : undefined
}

const reasoningOf = (body: MessagesRequest): Reasoning | undefined => {
  const thinking = objectOf(body.thinking)
  const effortName = objectOf(body.output_config).effort
  const effort = efforts.find((one): one is Effort => one === effortName)
  if (thinking.type === 'disabled') return { effort: 'none' }
  if (thinking.type === undefined && effort === undefined) return undefined
  const show = thinking.display !== 'omitted'
  return present({ effort, budget: numberOf(thinking.budget_tokens), show })
}

const partsOf = (content: Json | undefined): readonly Part[] => partsIn(content, partOf)

const partOf = (block: JsonObject): Part[] => {
  const marked = isObject(block.cache_control) ? { cache: block.cache_control } : {}
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: textOf(block.text) ?? '', ...marked }]
    case 'image':
      return [{ type: 'image', media: mediaOf(objectOf(block.source)), ...marked }]
    case 'document':
      return documentOf(block, marked)
    case 'tool_use':
      return saidOf(block).map((part) => ({ ...part, ...marked }))
    case 'tool_result':
      return [resultOf(block, marked)]
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${textOf(block.tool_name) ?? ''} can be called now.` }]
    default:
      return saidOf(block)
  }
}

const documentOf = (block: JsonObject, marked: { cache?: Json }): Part[] => {
  const source = objectOf(block.source)
  // The vendor keeps the document up to its mark, which is after the last of its parts.
  if (source.type === 'content')
    return partsOf(source.content).map((part, at, all) =>
      at === all.length - 1 ? { ...part, ...marked } : part,
    )
  const name = textOf(block.title)
  return [present({ type: 'document' as const, media: mediaOf(source), name, ...marked })]
}

const mediaOf = (source: JsonObject): Media => {
  if (typeof source.url === 'string') return { url: source.url }
  const data = textOf(source.data) ?? ''
  return source.type === 'text'
    ? { mediaType: 'text/plain', data: Buffer.from(data).toString('base64') }
    : { mediaType: typeNamed(textOf(source.media_type) ?? 'application/octet-stream'), data }
}

const resultOf = (block: JsonObject, marked: { cache?: Json }): ToolResult =>
  present({
    type: 'tool_result' as const,
    id: splitId(textOf(block.tool_use_id) ?? '').id,
    parts: resultParts(partsOf(block.content)),
    failed: flagOf(block.is_error),
    ...marked,
  })
