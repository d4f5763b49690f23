/** Responses, request → neutral form. Source of the format: OpenAI API reference, "Create a model response". */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import { choiceIn, formatIn } from '../chat/decode-call.ts'
import {
  type Conversation,
  type Effort,
  efforts,
  type Part,
  type ToolChoice,
  type Turn,
  type UnknownContent,
} from '../neutral.ts'
import { flagOf, numberOf, objectOf, objectsOf, partsIn, textOf, textsOf } from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { unknownIn, unknownParts } from '../request/unknown-content.ts'
import { mediaAt } from '../translate/media.ts'
import { splitId } from '../translate/signatures.ts'
import { joinAnswers, resultParts } from '../translate/turns.ts'
import { FOREIGN_COMPACTION } from './compaction.ts'
import { THOUGHTS } from './pass-call.ts'
import { type ResponsesRequest, responsesRequest } from './request.ts'
import { thoughtsOf } from './thoughts.ts'
import { flatName, readTools } from './tools.ts'

/** Reads a body that `decodeResponsesCall` has checked. */
export const readResponses = (body: ResponsesRequest): Conversation => {
  const instructions = textOf(body.instructions)
  const system: Turn[] =
    instructions === undefined || instructions === ''
      ? []
      : [{ role: 'system', parts: [{ type: 'text', text: instructions }] }]
  const format = objectOf(objectOf(body.text).format)
  const { tools, ignored: otherTools } = readTools(body)
  const noLogprobs = (numberOf(body.top_logprobs) ?? 0) > 0 ? ['top_logprobs'] : []
  const choice = body.tool_choice ?? undefined
  const noThoughts = objectsOf(body.input).some(({ type }) => type === 'item_reference') ? ['thinking'] : []
  const noChoice = choice !== undefined && choiceOf(choice) === undefined ? ['tool_choice'] : []
  return present({
    turns: [...system, ...turnsOf(body.input)],
    tools,
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: flagOf(body.parallel_tool_calls),
    format: formatIn(format, format),
    reasoning: reasoningOf(body.reasoning),
    stop: [],
    choices: 1,
    maxOutput: numberOf(body.max_output_tokens),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    user: textOf(body.user),
    ignored: [
      ...ignoredIn(responsesRequest, body),
      ...(textsOf(body.include).some((one) => one !== THOUGHTS) ? ['include'] : []),
      ...[otherTools, noLogprobs, noThoughts, noChoice, annotationsIn(body.input)].flat(),
    ],
    unknownContent: unknownContentOf(body.input),
  })
}

/** Members on texts of earlier answers. */
const annotationsIn = (input: Json | undefined): readonly string[] =>
  objectsOf(input).some(({ content }) =>
    objectsOf(content).some(({ annotations }) => objectsOf(annotations).length > 0),
  )
    ? ['annotations']
    : []

const itemTypes = new Set<Json | undefined>([
  undefined,
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'additional_tools',
  'compaction_trigger',
  'image_generation_call',
  // Only references to thoughts get this far.
  'item_reference',
])

/** Items of tools that ran at another vendor, and content that was stored there. */
const unknownContentOf = (input: Json | undefined): readonly UnknownContent[] => [
  ...unknownParts(input, 'input', ({ type }) => itemTypes.has(type) || type === 'compaction'),
  ...objectsOf(input).flatMap(({ type }, index) =>
    type === 'compaction' ? { param: `input[${index}].encrypted_content`, what: FOREIGN_COMPACTION } : [],
  ),
  ...unknownIn(input, 'input', 'output', (part) => partOf(part).length > 0),
  ...objectsOf(input).flatMap((item, index) =>
    item.type === 'reasoning'
      ? []
      : unknownParts(item.content, `input[${index}].content`, (part) => partOf(part).length > 0),
  ),
]

const choiceOf = (choice: Json | undefined): ToolChoice | undefined => choiceIn(choice, choice, flatName)

const reasoningOf = (value: Json | undefined) => {
  if (!isObject(value)) return undefined
  const effort = efforts.find((one): one is Effort => one === value.effort)
  const show = typeof value.summary === 'string'
  return effort === undefined && !show ? undefined : present({ effort, show })
}

const turnsOf = (input: Json | undefined): readonly Turn[] => {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }] }]
  return joinAnswers(objectsOf(input).map(turnOf))
}

const turnOf = (item: JsonObject): Turn => {
  const callId = splitId(textOf(item.call_id) ?? '')
  const name = flatName(item) ?? ''
  switch (item.type) {
    case 'function_call':
      return assistant({ type: 'tool_call', ...callId, name, arguments: textOf(item.arguments) || '{}' })
    case 'custom_tool_call':
      return assistant({
        type: 'tool_call',
        ...callId,
        name,
        arguments: JSON.stringify({ input: textOf(item.input) ?? '' }),
      })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        role: 'user',
        parts: [{ type: 'tool_result', id: callId.id, parts: resultParts(partsOf(item.output)) }],
      }
    case 'image_generation_call': {
      const result = textOf(item.result) ?? ''
      const media = /^https?:/.test(result)
        ? { url: result }
        : { mediaType: `image/${textOf(item.output_format) ?? 'png'}`, data: result }
      return assistant({ type: 'image', media })
    }
    case 'reasoning':
      return { role: 'assistant', parts: thoughtsOf(item) }
    case 'additional_tools':
    case 'compaction_trigger':
      return { role: 'user', parts: [] }
    case 'item_reference':
      return { role: 'assistant', parts: [] }
    default: {
      const role = item.role
      return {
        role:
          role === 'assistant' ? 'assistant' : role === 'system' || role === 'developer' ? 'system' : 'user',
        parts: partsOf(item.content),
      }
    }
  }
}

const assistant = (part: Part): Turn => ({ role: 'assistant', parts: [part] })

const partsOf = (content: Json | undefined): readonly Part[] => partsIn(content, partOf)

const partOf = (part: JsonObject): Part[] => {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return [{ type: 'text', text: textOf(part.text) ?? '' }]
    case 'refusal':
      return [{ type: 'refusal', text: textOf(part.refusal) ?? '' }]
    case 'input_image': {
      const url = textOf(part.image_url) ?? textOf(objectOf(part.image_url).url)
      return url
        ? [present({ type: 'image' as const, media: mediaAt(url), detail: textOf(part.detail) })]
        : []
    }
    case 'input_file': {
      const url = textOf(part.file_data) ?? textOf(part.file_url)
      return url
        ? [present({ type: 'document' as const, media: mediaAt(url), name: textOf(part.filename) })]
        : []
    }
    default:
      return []
  }
}
