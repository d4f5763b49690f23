/** Generate content, request → neutral form. Source of the format: Gemini API reference, "models.generateContent". */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import {
  type Conversation,
  type Document,
  type Effort,
  efforts,
  type Format,
  type Image,
  type Media,
  type Part,
  type Reasoning,
  type Tool,
  type ToolChoice,
  type ToolResult,
  type Turn,
} from '../neutral.ts'
import {
  flagOf,
  madeKinds,
  numberOf,
  objectOf,
  oneOrMore,
  oneOrMoreTexts,
  textOf,
} from '../request/json-members.ts'
import { ignoredIn } from '../request/request.ts'
import { member } from '../request/spelling.ts'
import { unknownIn } from '../request/unknown-content.ts'
import { typeNamed } from '../translate/media.ts'
import { splitId } from '../translate/signatures.ts'
import { joined, sayingOf, signatureIn } from './reply.ts'
import { geminiRequest } from './request.ts'
import { jsonSchemaOf } from './schema.ts'

/** Reads a body that `decodeGeminiCall` has checked. */
export const readGemini = (body: JsonObject): Conversation => {
  const raw = objectOf(member(body, 'generationConfig'))
  const config = (name: string) => member(raw, name)
  const logprobs = config('responseLogprobs') === true ? (numberOf(config('logprobs')) ?? 0) : undefined
  return present({
    turns: [...systemOf(member(body, 'systemInstruction')), ...turnsOf(oneOrMore(body.contents))],
    tools: oneOrMore(body.tools).flatMap((tool) =>
      oneOrMore(member(tool, 'functionDeclarations')).map(toolOf),
    ),
    toolChoice: choiceOf(objectOf(member(objectOf(member(body, 'toolConfig')), 'functionCallingConfig'))),
    format: formatOf(config),
    reasoning: reasoningOf(config('thinkingConfig')),
    makes: madeKinds(config('responseModalities')),
    stop: oneOrMoreTexts(config('stopSequences')),
    choices: numberOf(config('candidateCount')) ?? 1,
    maxOutput: numberOf(config('maxOutputTokens')),
    temperature: numberOf(config('temperature')),
    topP: numberOf(config('topP')),
    topK: numberOf(config('topK')),
    seed: numberOf(config('seed')),
    presencePenalty: numberOf(config('presencePenalty')),
    frequencyPenalty: numberOf(config('frequencyPenalty')),
    logprobs,
    ignored: [
      ...ignoredIn(geminiRequest, body),
      ...(everyPart(body).some(isSignedMedia) ? ['thinking'] : []),
      ...(config('responseLogprobs') !== true && config('logprobs') !== undefined ? ['logprobs'] : []),
    ],
    unknownContent: unknownIn(oneOrMore(body.contents), 'contents', 'parts', isKnown),
  })
}

const everyPart = (body: JsonObject): readonly JsonObject[] =>
  [...oneOrMore(body.contents), ...oneOrMore(member(body, 'systemInstruction'))].flatMap(({ parts }) =>
    oneOrMore(parts),
  )

/** Media of an answer that is signed or a thought: other dialects have no place for that. */
const isSignedMedia = (part: JsonObject): boolean =>
  (member(part, 'inlineData') ?? member(part, 'fileData')) !== undefined &&
  (part.thought === true || member(part, 'thoughtSignature') !== undefined)

const isKnown = (part: JsonObject): boolean =>
  kinds.filter((kind) => member(part, kind) !== undefined).length < 2 &&
  (typeof part.text === 'string' || member(part, 'thoughtSignature') !== undefined || partOf(part).length > 0)

/** A part contains one of these. */
const kinds = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
] as const

const systemOf = (content: Json | undefined): readonly Turn[] => {
  const parts =
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : partsOf(objectOf(content))
  return parts.length === 0 ? [] : [{ role: 'system', parts }]
}

/**
 * Calls without an id are numbered. A result without one belongs to the earliest open call of its name; if none is open,
 * to the call that had this very result before.
 */
const turnsOf = (contents: readonly JsonObject[]): readonly Turn[] => {
  const open = openCalls()
  const answered = new Map<string, string>()
  const nameless = ({ name = '', parts }: ToolResult): string => {
    const said = JSON.stringify([name, parts])
    const id = open.closeNamed(name) ?? answered.get(said) ?? `call_${name}`
    answered.set(said, id)
    return id
  }
  let count = 0
  return together(contents).map((content): Turn => {
    const parts = joined(partsOf(content)).map((part): Part => {
      if (part.type === 'tool_call') {
        const id = part.id === '' ? `call_${part.name}_${++count}` : part.id
        open.add(id, part.name)
        return { ...part, id }
      }
      if (part.type !== 'tool_result') return part
      if (part.id === '') return { ...part, id: nameless(part) }
      open.close(part.id)
      return part
    })
    if (content.role === 'model') return { role: 'assistant', parts: joined(parts) }
    return { role: content.role === 'system' ? 'system' : 'user', parts }
  })
}

type OpenCall = { readonly id: string; open: boolean }
type Queue = { readonly calls: OpenCall[]; next: number }

/** Calls that wait for their results, found by id and by name without a search. */
const openCalls = () => {
  const byId = new Map<string, Queue>()
  const byName = new Map<string, Queue>()
  const enqueue = (queues: Map<string, Queue>, key: string, call: OpenCall) => {
    const queue = queues.get(key) ?? { calls: [], next: 0 }
    queue.calls.push(call)
    queues.set(key, queue)
  }
  /** Closes the earliest open call and returns its id. */
  const closeFirst = (queue: Queue | undefined): string | undefined => {
    while (queue !== undefined && queue.next < queue.calls.length) {
      const call = queue.calls[queue.next++]
      if (call?.open !== true) continue
      call.open = false
      return call.id
    }
    return undefined
  }
  return {
    add: (id: string, name: string) => {
      const call = { id, open: true }
      enqueue(byId, id, call)
      enqueue(byName, name, call)
    },
    close: (id: string) => closeFirst(byId.get(id)),
    closeNamed: (name: string) => closeFirst(byName.get(name)),
  }
}

/** Client libraries keep each event of a stream as a content of its own, so one answer comes back as several. */
const together = (contents: readonly JsonObject[]): readonly JsonObject[] => {
  const whole: JsonObject[] = []
  /** The last content, if it is the model's. */
  let said: JsonObject[] | undefined
  for (const content of contents) {
    const parts = oneOrMore(content.parts)
    if (content.role === 'model' && said !== undefined) for (const part of parts) said.push(part)
    else {
      said = content.role === 'model' ? [...parts] : undefined
      whole.push(said === undefined ? content : { ...content, parts: said })
    }
  }
  return whole
}

const partsOf = (content: JsonObject): readonly Part[] => oneOrMore(content.parts).flatMap(partOf)

const partOf = (part: JsonObject): Part[] => {
  const written = textOf(member(part, 'thoughtSignature'))
  const call = member(part, 'functionCall')
  if (isObject(call)) {
    const own = splitId(textOf(call.id) ?? '')
    return [
      {
        type: 'tool_call',
        ...own,
        name: textOf(call.name) ?? '',
        arguments: JSON.stringify(call.args ?? {}),
        ...signatureIn(written),
      },
    ]
  }
  const result = member(part, 'functionResponse')
  if (isObject(result)) return [resultOf(result)]
  const inline = member(part, 'inlineData')
  const file = member(part, 'fileData')
  if (isObject(inline))
    return mediaPart({
      mediaType: typeNamed(textOf(member(inline, 'mimeType')) ?? ''),
      data: textOf(inline.data) ?? '',
    })
  if (isObject(file))
    return mediaPart(
      present({ url: textOf(member(file, 'fileUri')) ?? '', mediaType: textOf(member(file, 'mimeType')) }),
    )
  return sayingOf(part, written)
}

const mediaPart = (media: Media): Part[] => {
  const type = media.mediaType ?? ''
  if (type.startsWith('image/')) return [{ type: 'image', media }]
  if (type.startsWith('audio/')) return [{ type: 'audio', media }]
  return [{ type: 'document', media }]
}

const resultOf = (result: JsonObject): Part => {
  const response = objectOf(result.response)
  const [only, ...others] = Object.keys(response)
  // Client libraries wrap a plain result in `output` or `result`, and a failure in `error`.
  const wrapped = others.length === 0 && (only === 'output' || only === 'result' || only === 'error')
  const inner = wrapped ? response[only] : response
  return present({
    type: 'tool_result' as const,
    id: splitId(textOf(result.id) ?? '').id,
    name: textOf(result.name),
    parts: [
      { type: 'text' as const, text: typeof inner === 'string' ? inner : JSON.stringify(inner ?? {}) },
      ...oneOrMore(result.parts)
        .flatMap(partOf)
        .filter((part): part is Image | Document => part.type === 'image' || part.type === 'document'),
    ],
    failed: wrapped && only === 'error' ? true : undefined,
  })
}

const toolOf = (declared: JsonObject): Tool =>
  present({
    name: textOf(declared.name) ?? '',
    description: textOf(declared.description),
    parameters: member(declared, 'parametersJsonSchema') ?? jsonSchemaOf(declared.parameters),
  })

const choiceOf = (config: JsonObject): ToolChoice | undefined => {
  const names = oneOrMoreTexts(member(config, 'allowedFunctionNames'))
  const [only, ...others] = names
  const among = names.length === 0 ? {} : { only: names }
  switch (textOf(config.mode)?.toUpperCase()) {
    case 'AUTO':
    case 'VALIDATED':
      return { type: 'auto', ...among }
    case 'NONE':
      return { type: 'none' }
    case 'ANY':
      return only !== undefined && others.length === 0
        ? { type: 'named', name: only }
        : { type: 'required', ...among }
    default:
      return names.length === 0 ? undefined : { type: 'auto', ...among }
  }
}

const formatOf = (config: (name: string) => Json | undefined): Format | undefined => {
  const schema = config('responseJsonSchema') ?? jsonSchemaOf(config('responseSchema'))
  if (schema !== undefined && schema !== null)
    return { type: 'schema', name: 'answer', schema, strict: false }
  return config('responseMimeType') === 'application/json' ? { type: 'json' } : undefined
}

const reasoningOf = (value: Json | undefined): Reasoning | undefined => {
  if (!isObject(value)) return undefined
  const level = textOf(member(value, 'thinkingLevel'))?.toLowerCase()
  const budget = numberOf(member(value, 'thinkingBudget'))
  return present({
    effort: budget === 0 ? ('none' as const) : efforts.find((one): one is Effort => one === level),
    // -1 lets the model choose.
    budget: budget === undefined || budget <= 0 ? undefined : budget,
    show: flagOf(member(value, 'includeThoughts')),
  })
}
