/** Chat completions, request → neutral form. Source of the format: OpenAI API reference, "Create chat completion". */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import type {
  Conversation,
  Effort,
  Format,
  Part,
  Reasoning,
  Tool,
  ToolChoice,
  Turn,
  UnknownContent,
} from '../neutral.ts'
import { efforts } from '../neutral.ts'
import {
  flagOf,
  listOf,
  madeKinds,
  numberOf,
  objectOf,
  objectsOf,
  partsIn,
  textOf,
} from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { unknownIn } from '../request/unknown-content.ts'
import { mediaAt } from '../translate/media.ts'
import { splitId } from '../translate/signatures.ts'
import { resultParts } from '../translate/turns.ts'
import { asksOlder } from './older-calls.ts'
import { imagesOf, saidIn, thoughtsOf } from './reply.ts'
import { type ChatRequest, chatRequest } from './request.ts'

/** Reads a body that `decodeChatCall` has checked. */
export const readChat = (body: ChatRequest): Conversation => {
  const format = objectOf(body.response_format)
  const logprobs = body.logprobs === true ? (numberOf(body.top_logprobs) ?? 0) : undefined
  return present({
    turns: turnsOf(objectsOf(body.messages)),
    tools: toolsOf(body),
    toolChoice: choiceOf(body.tool_choice ?? body.function_call),
    parallelTools: asksOlder(body) ? false : flagOf(body.parallel_tool_calls),
    format: formatIn(format, objectOf(format.json_schema)),
    reasoning: reasoningOf(body),
    makes: madeKinds(body.modalities),
    stop:
      typeof body.stop === 'string'
        ? [body.stop]
        : listOf(body.stop).filter((one) => typeof one === 'string'),
    choices: numberOf(body.n) ?? 1,
    maxOutput: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    seed: numberOf(body.seed),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    logprobs,
    user: textOf(body.user),
    ignored: [
      ...ignoredIn(chatRequest, body),
      ...(body.logprobs !== true && body.top_logprobs ? ['top_logprobs'] : []),
      ...ignoredTools(body),
      ...annotationsIn(body.messages),
    ],
    unknownContent: unknownContentOf(body.messages),
  })
}

/** Members on texts of earlier answers. */
const annotationsIn = (messages: Json | undefined): readonly string[] =>
  objectsOf(messages).some(({ annotations }) => objectsOf(annotations).length > 0) ? ['annotations'] : []

const ignoredTools = (body: ChatRequest): readonly string[] => {
  const others = objectsOf(body.tools).filter((tool) => !isObject(tool.function))
  const choice = body.tool_choice ?? body.function_call
  return [
    ...others.map(({ type }) => `tools ${String(type)}`),
    ...(choice === undefined || choice === null || choiceOf(choice) !== undefined ? [] : ['tool_choice']),
  ]
}

/** Content that refers to something stored, or whose form we do not know. */
const unknownContentOf = (messages: Json | undefined): readonly UnknownContent[] => [
  ...unknownIn(messages, 'messages', 'content', (part) => partOf(part).length > 0),
  ...objectsOf(messages).flatMap((message, index) =>
    isObject(message.audio)
      ? [{ param: `messages[${index}].audio`, what: 'audio of an earlier answer' }]
      : objectsOf(message.tool_calls).some((call) => !isObject(call.function))
        ? [{ param: `messages[${index}].tool_calls`, what: 'calls of tools that are no functions' }]
        : [],
  ),
]

/** `reasoning_effort`, or the object that OpenRouter's clients send for more control. */
const reasoningOf = (body: ChatRequest): Reasoning | undefined => {
  const object = objectOf(body.reasoning)
  const effortName = body.reasoning_effort ?? object.effort
  const effort = object.enabled === false ? 'none' : efforts.find((one): one is Effort => one === effortName)
  const budget = numberOf(object.max_tokens)
  if (effort === undefined && budget === undefined && object.enabled !== true) return undefined
  return present({ effort, budget, show: object.exclude !== true })
}

/** A format of OpenAI's dialects; `inner` is where its schema stands. */
export const formatIn = (format: JsonObject, inner: JsonObject): Format | undefined => {
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return undefined
  return present({
    type: 'schema' as const,
    name: textOf(inner.name) ?? 'answer',
    schema: inner.schema ?? {},
    strict: flagOf(inner.strict),
    description: textOf(inner.description),
  })
}

/** Tools, in the present or the older form. */
const toolsOf = (body: ChatRequest): readonly Tool[] =>
  [...objectsOf(body.tools).map((tool) => objectOf(tool.function)), ...objectsOf(body.functions)].flatMap(
    (one) =>
      typeof one.name === 'string'
        ? [
            present({
              name: one.name,
              description: textOf(one.description),
              parameters: one.parameters ?? undefined,
              strict: flagOf(one.strict),
            }),
          ]
        : [],
  )

/** A tool is named in its function or directly. */
const choiceOf = (choice: Json | undefined): ToolChoice | undefined =>
  choiceIn(choice, objectOf(choice).allowed_tools, (tool) =>
    textOf(objectOf(tool.function).name ?? tool.name),
  )

/** A choice of OpenAI's dialects; `allowed` is where its tools and their mode stand. */
export const choiceIn = (
  choice: Json | undefined,
  allowed: Json | undefined,
  nameOf: (tool: JsonObject) => string | undefined,
): ToolChoice | undefined => {
  const mode = isObject(choice) ? choice.type : choice
  if (mode === 'auto' || mode === 'none' || mode === 'required') return { type: mode }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') {
    const { mode: asked, tools } = objectOf(allowed)
    const only = objectsOf(tools).flatMap((tool) => nameOf(tool) ?? [])
    return { type: asked === 'required' ? 'required' : 'auto', only }
  }
  const name = nameOf(choice)
  return name === undefined ? undefined : { type: 'named', name }
}

const turnsOf = (messages: readonly JsonObject[]): readonly Turn[] => {
  const turns: Turn[] = []
  /** Ids for calls in the older form, which has none. */
  let older = 0
  for (const message of messages) {
    const name = textOf(message.name)
    switch (message.role) {
      case 'system':
      case 'developer':
        turns.push(present({ role: 'system' as const, parts: partsOf(message.content), name }))
        break
      case 'assistant':
        if (isObject(message.function_call)) older++
        turns.push(
          present({ role: 'assistant' as const, parts: spokenBy(message, `call_function_${older}`), name }),
        )
        break
      case 'tool':
        turns.push({ role: 'user', parts: [resultOf(message, textOf(message.tool_call_id) ?? '')] })
        break
      case 'function':
        turns.push({ role: 'user', parts: [resultOf(message, `call_function_${older}`)] })
        break
      default:
        turns.push(present({ role: 'user' as const, parts: partsOf(message.content), name }))
    }
  }
  return turns
}

const resultOf = (message: JsonObject, id: string): Part =>
  present({
    type: 'tool_result' as const,
    id: splitId(id).id,
    name: textOf(message.name),
    parts: resultParts(partsOf(message.content)),
  })

const spokenBy = (message: JsonObject, olderId: string): readonly Part[] => {
  const parts: Part[] = [...thoughtsOf(message), ...partsOf(message.content), ...imagesOf(message.images)]
  if (typeof message.refusal === 'string') parts.push({ type: 'refusal', text: message.refusal })
  for (const call of objectsOf(message.tool_calls)) {
    const called = objectOf(call.function)
    parts.push({
      type: 'tool_call',
      ...splitId(textOf(call.id) ?? ''),
      name: textOf(called.name) ?? '',
      arguments: textOf(called.arguments) ?? '{}',
    })
  }
  const older = message.function_call
  if (isObject(older))
    parts.push({
      type: 'tool_call',
      id: olderId,
      name: textOf(older.name) ?? '',
      arguments: textOf(older.arguments) ?? '{}',
    })
  return parts
}

const partsOf = (content: Json | undefined): readonly Part[] => partsIn(content, partOf)

const partOf = (part: JsonObject): Part[] => {
  const cache = part.cache_control
  const marked = cache === undefined || cache === null ? {} : { cache }
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: textOf(part.text) ?? '', ...marked }]
    case 'refusal':
      return [{ type: 'refusal', text: textOf(part.refusal) ?? '' }]
    case 'image_url': {
      const image = objectOf(part.image_url)
      const url = textOf(part.image_url) ?? textOf(image.url) ?? ''
      return [
        present({ type: 'image' as const, media: mediaAt(url), detail: textOf(image.detail), ...marked }),
      ]
    }
    case 'input_audio': {
      const audio = objectOf(part.input_audio)
      const mediaType = audio.format === 'mp3' ? 'audio/mpeg' : `audio/${textOf(audio.format) ?? 'wav'}`
      return [{ type: 'audio', media: { mediaType, data: textOf(audio.data) ?? '' } }]
    }
    case 'file': {
      const file = objectOf(part.file)
      const name = textOf(file.filename)
      const data = textOf(file.file_data)
      return data ? [present({ type: 'document' as const, media: mediaAt(data), name, ...marked })] : []
    }
    case 'thinking':
      return [...saidIn([part])]
    default:
      return []
  }
}
