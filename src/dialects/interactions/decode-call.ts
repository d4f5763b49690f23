/** Interactions, request → neutral form. Source of the format: npm @google/genai 3.3.0, `CreateModelInteraction`. */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import {
  type Conversation,
  type Effort,
  efforts,
  type Format,
  type Media,
  type Part,
  type Reasoning,
  type Tool,
  type ToolChoice,
  type ToolResult,
  type Turn,
  type UnknownContent,
} from '../neutral.ts'
import {
  flagOf,
  madeKinds,
  numberOf,
  objectOf,
  objectsOf,
  oneOrMore,
  textOf,
  textsOf,
} from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { unknownParts } from '../request/unknown-content.ts'
import { typeNamed } from '../translate/media.ts'
import { splitId } from '../translate/signatures.ts'
import { joinAnswers, resultParts } from '../translate/turns.ts'
import { itemsOf } from './kept.ts'
import { thoughtOf } from './read-reply.ts'
import { contentTypes, type InteractionsRequest, interactionsRequest, mediaTypeIn } from './request.ts'

/** Reads a body that `decodeInteractionsCall` has checked. */
export const readInteractions = (body: InteractionsRequest): Conversation => {
  const config = objectOf(body.generation_config ?? undefined)
  const system = textOf(body.system_instruction)
  const steps = objectsOf(itemsOf(body.input))
  const tools = objectsOf(body.tools)
  const formats = oneOrMore(body.response_format)
  const choice = choiceOf(config.tool_choice)
  return present({
    turns: [
      ...(system ? [said('system', [{ type: 'text', text: system }])] : []),
      ...joinAnswers(steps.map(turnOf)),
    ],
    tools: tools.filter(({ type }) => type === 'function').map(toolOf),
    toolChoice: choice,
    format: formatOf(formats, body.response_mime_type),
    reasoning: reasoningOf(config),
    makes: madeKinds([...textsOf(body.response_modalities), ...formats.flatMap(({ type }) => type ?? [])]),
    stop: textsOf(config.stop_sequences),
    choices: 1,
    maxOutput: numberOf(config.max_output_tokens),
    temperature: numberOf(config.temperature),
    topP: numberOf(config.top_p),
    seed: numberOf(config.seed),
    ignored: [
      ...ignoredIn(interactionsRequest, body),
      ...tools.flatMap(({ type }) => (type === 'function' ? [] : [`tools ${textOf(type)}`])),
      ...(config.tool_choice !== undefined && choice === undefined ? ['tool_choice'] : []),
      ...notMade(body, formats),
      ...new Set(steps.flatMap(({ type }) => (ranTypes.has(type) ? [`input ${textOf(type)}`] : []))),
    ],
    unknownContent: unknownContentOf(steps),
  })
}

/** What an answer of another vendor is never made of. */
const notMade = (body: InteractionsRequest, formats: readonly JsonObject[]): readonly string[] => [
  ...textsOf(body.response_modalities).flatMap((kind) =>
    /^(?:text|image|audio)$/i.test(kind) ? [] : [`response_modalities ${kind}`],
  ),
  ...formats.flatMap(({ type, schema: _schema, mime_type: _mime, ...more }) => {
    if (type === undefined) return []
    const known = type === 'text' || type === 'image' || type === 'audio'
    return known
      ? Object.keys(more).map((name) => `response_format.${name}`)
      : [`response_format ${textOf(type) ?? 'type'}`]
  }),
]

const said = (role: Turn['role'], parts: readonly Part[]): Turn => ({ role, parts })

/** Steps of the vendor's own search: what it found is in the text of the answer. */
const ranTypes: ReadonlySet<Json | undefined> = new Set(['google_search_call', 'google_search_result'])

const stepTypes: ReadonlySet<Json | undefined> = new Set([
  'user_input',
  'model_output',
  'thought',
  'function_call',
  'function_result',
  'code_execution_call',
  'code_execution_result',
  ...ranTypes,
])

const unknownContentOf = (steps: readonly JsonObject[]): readonly UnknownContent[] => {
  const isPart = (part: JsonObject) => contentTypes.has(part.type) && contentOf(part).length > 0
  return [
    ...unknownParts([...steps], 'input', ({ type }) => stepTypes.has(type)),
    ...steps.flatMap(({ content, result }, at) => [
      ...unknownParts(content, `input[${at}].content`, isPart),
      ...(Array.isArray(result) ? unknownParts(result, `input[${at}].result`, isPart) : []),
    ]),
  ]
}

const turnOf = (step: JsonObject): Turn => {
  switch (step.type) {
    case 'function_call': {
      const { id, signature = thoughtOf(step)[0]?.signature } = splitId(textOf(step.id) ?? '')
      const text = JSON.stringify(step.arguments ?? {})
      const call = { type: 'tool_call' as const, id, name: textOf(step.name) ?? '', arguments: text }
      return said('assistant', [present({ ...call, signature })])
    }
    case 'function_result':
      return said('user', [
        present({
          type: 'tool_result' as const,
          id: splitId(textOf(step.call_id) ?? '').id,
          name: textOf(step.name),
          parts: resultOf(step.result),
          failed: flagOf(step.is_error) === true ? true : undefined,
        }),
      ])
    case 'thought':
      return said('assistant', thoughtOf(step))
    case 'model_output':
      return said('assistant', objectsOf(step.content).flatMap(contentOf))
    case 'code_execution_call':
      return said('assistant', ran('python', textOf(objectOf(step.arguments).code) ?? ''))
    case 'code_execution_result':
      return said('assistant', ran('', typeof step.result === 'string' ? step.result : ''))
    case 'user_input':
      return said('user', objectsOf(step.content).flatMap(contentOf))
    default:
      return said('user', [])
  }
}

/** Code that the model ran at the vendor, and its result, as text. */
const ran = (language: string, text: string): readonly Part[] => [
  { type: 'text', text: `\n\`\`\`${language}\n${text}\n\`\`\`\n` },
]

const resultOf = (result: Json | undefined): ToolResult['parts'] => {
  if (Array.isArray(result)) return resultParts(objectsOf(result).flatMap(contentOf))
  return [{ type: 'text', text: typeof result === 'string' ? result : JSON.stringify(result ?? {}) }]
}

/** A content as parts; none if it is not one. */
const contentOf = (content: JsonObject): readonly Part[] => {
  if (content.type === 'text')
    return content.text === '' ? [] : [{ type: 'text', text: textOf(content.text) ?? '' }]
  const mediaType = typeNamed(mediaTypeIn(content))
  const { data, uri } = content
  const media: Media | undefined =
    typeof uri === 'string'
      ? { url: uri, mediaType }
      : typeof data === 'string'
        ? { mediaType, data }
        : undefined
  if (media === undefined) return []
  if (content.type === 'image') return [present({ type: 'image' as const, media, detail: detailOf(content) })]
  return [{ type: content.type === 'audio' ? 'audio' : 'document', media }]
}

const detailOf = ({ resolution }: JsonObject): string | undefined => {
  if (typeof resolution !== 'string') return undefined
  return resolution === 'low' ? 'low' : 'high'
}

const toolOf = (tool: JsonObject): Tool =>
  present({
    name: textOf(tool.name) ?? '',
    description: textOf(tool.description),
    parameters: tool.parameters ?? undefined,
  })

const modes: Readonly<Record<string, 'auto' | 'none' | 'required'>> = {
  auto: 'auto',
  validated: 'auto',
  any: 'required',
  none: 'none',
}

const choiceOf = (choice: Json | undefined): ToolChoice | undefined => {
  const allowed = isObject(choice) ? objectOf(choice.allowed_tools) : undefined
  const type = modes[textOf(allowed === undefined ? choice : (allowed.mode ?? 'auto')) ?? '']
  if (type === undefined) return undefined
  const only = textsOf(allowed?.tools)
  const [first, ...others] = only
  if (first === undefined || type === 'none') return { type }
  return type === 'required' && others.length === 0 ? { type: 'named', name: first } : { type, only }
}

/** A format, or a schema by itself, as older clients send it. */
const formatOf = (formats: readonly JsonObject[], mimeType: Json | undefined): Format | undefined => {
  const isFormat = ({ type }: JsonObject) =>
    type === 'text' || type === 'image' || type === 'audio' || type === 'video'
  const asked = formats.find(({ type }) => type === 'text') ?? {}
  const schema = asked.schema ?? formats.find((one) => !isFormat(one))
  if (schema !== undefined) return { type: 'schema', name: 'answer', schema, strict: false }
  return (asked.mime_type ?? mimeType) === 'application/json' ? { type: 'json' } : undefined
}

const reasoningOf = ({ thinking_level, thinking_summaries }: JsonObject): Reasoning | undefined => {
  const effort = efforts.find((one): one is Effort => one === thinking_level)
  const show = thinking_summaries === 'auto' ? true : undefined
  return effort === undefined && show === undefined ? undefined : present({ effort, show })
}
