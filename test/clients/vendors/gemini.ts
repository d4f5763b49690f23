/** A vendor that speaks generate-content, strict by the API reference: results for every call, thought signatures. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { listAt, objectWith, textAt } from './check.ts'
import {
  counts,
  countsOf,
  cutOddly,
  type Memory,
  need,
  newName,
  piecesOf,
  type ScriptedReply,
  sizeOf,
  type UnderstoodRequest,
  VendorRefuses,
} from './script.ts'

const top = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
]
const config = [
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'responseMimeType',
  'responseJsonSchema',
  'responseSchema',
  'thinkingConfig',
  'responseModalities',
  'mediaResolution',
  'speechConfig',
  'imageConfig',
]
const partMembers = [
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'videoMetadata',
  'mediaResolution',
]
const schemaMembers = [
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'anyOf',
  'propertyOrdering',
  'default',
  'items',
  'minimum',
  'maximum',
]
const unknown = (name: string, at: string) =>
  `Invalid JSON payload received. Unknown name "${name}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`
/** The vendor takes this instead of a signature, for calls that it did not make. */
const SKIP = 'skip_thought_signature_validator'

/** A list; this vendor also takes a single object. */
const listed = (value: Json | undefined, at: string): readonly Json[] =>
  listAt(isObject(value) ? [value] : value, at)

/** Makes the vendor; `memory` is what it saw. */
export const geminiVendor =
  (memory: Memory) =>
  (request: VendorRequest): Response => {
    try {
      const path = /\/models\/([^/:]+):(\w+)(\?alt=sse)?$/.exec(request.url)
      need(path !== null, `Not found: ${request.url}`)
      const [, model = '', method, sse] = path
      if (method === 'countTokens') return countTokens(request.body, model, memory)
      need(method === 'generateContent' || sse !== undefined, 'a stream without alt=sse')
      const heard = hear(request.body, model, method === 'streamGenerateContent', memory)
      const said = memory.answer(heard)
      if (typeof said === 'number') return failure(said, 'The scripted failure.')
      if (!heard.stream)
        return said.breaks === undefined ? Response.json(whole(heard, said)) : failure(500, 'Broken.')
      return streamed(heard, said)
    } catch (thrown) {
      if (!(thrown instanceof VendorRefuses)) throw thrown
      memory.refused.push(thrown.message)
      return failure(400, thrown.message)
    }
  }

const words = { 400: 'INVALID_ARGUMENT', 429: 'RESOURCE_EXHAUSTED', 500: 'INTERNAL' } as const
const failure = (status: 400 | 429 | 500, message: string): Response =>
  Response.json({ error: { code: status, message, status: words[status] } }, { status })

const countTokens = (body: JsonObject, model: string, memory: Memory): Response => {
  objectWith(body, '', ['contents', 'generateContentRequest'], unknown)
  const inner = isObject(body.generateContentRequest) ? body.generateContentRequest : body
  const { model: named, ...rest } = inner
  need(named === undefined || named === `models/${model}`, 'generate_content_request.model does not match')
  hear(rest, model, false, memory)
  return Response.json({ totalTokens: counts.input })
}

const isThird = (model: string) => /^gemini-3/.test(model)

/** The only signature this vendor knows for a call. */
const signatureOf = (name: string, args: Json): string =>
  Buffer.from(`\u00fb\u00ff?>~ ${name} ${JSON.stringify(args)}`, 'latin1').toString('base64')

type State = { prompt: string; rounds: string[][]; imageBytes: number[]; open: string[] }

const hear = (body: JsonObject, model: string, stream: boolean, memory: Memory): UnderstoodRequest => {
  objectWith(body, '', top, unknown)
  const contents = listed(body.contents, 'contents')
  need(contents.length > 0, '* GenerateContentRequest.contents: contents is not specified')
  if (body.systemInstruction !== undefined)
    objectWith(body.systemInstruction, 'system_instruction', ['role', 'parts'], unknown)
  const state: State = { prompt: '', rounds: [], imageBytes: [], open: [] }
  for (const { role, at, parts } of turnsOf(contents))
    if (role === 'user') hearUser(parts, at, state)
    else hearModel(parts, at, { state, memory, model })
  need(state.open.length === 0, 'Please ensure that function call turn comes before a function response turn')
  const settings = objectWith(body.generationConfig ?? {}, 'generation_config', config, unknown)
  const thinks = checkThinking(settings.thinkingConfig, model)
  if (thinks) memory.thinking++
  return {
    prompt: state.prompt,
    rounds: state.rounds,
    imageBytes: state.imageBytes,
    model,
    stream,
    ...toolsOf(body),
    schema: schemaOf(settings),
    thinks,
  }
}

type Turn = { readonly role: string; readonly at: string; readonly parts: readonly JsonObject[] }

const isResult = (part: JsonObject) => part.functionResponse !== undefined

/** The contents as turns: results of one turn may come one a content, as LangChain sends them. */
const turnsOf = (contents: readonly Json[]): readonly Turn[] => {
  const turns: Turn[] = []
  for (const [index, one] of contents.entries()) {
    const at = `contents[${index}]`
    const content = objectWith(one, at, ['role', 'parts'], unknown)
    const role = String(content.role ?? 'user')
    need(role === 'user' || role === 'model', 'Please use a valid role: user, model.')
    const parts = listed(content.parts, `${at}.parts`).map((part, where) =>
      checkPart(part, `${at}.parts[${where}]`),
    )
    need(parts.length > 0, `* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`)
    const before = turns.at(-1)
    const goesOn = before !== undefined && role === 'user' && [...before.parts, ...parts].every(isResult)
    if (goesOn) turns[turns.length - 1] = { ...before, parts: [...before.parts, ...parts] }
    else turns.push({ role, at, parts })
  }
  return turns
}

const checkPart = (value: Json, at: string): JsonObject => {
  const part = objectWith(value, at, partMembers, unknown)
  const kinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'].filter(
    (name) => name in part,
  )
  need(kinds.length === 1, `${at}: required oneof field 'data' must have one initialized field`)
  if (typeof part.thoughtSignature === 'string' && part.thoughtSignature !== SKIP)
    need(
      /^[\w+/-]+={0,2}$/.test(part.thoughtSignature),
      `Invalid value at '${at}.thought_signature' (TYPE_BYTES)`,
    )
  return part
}

const hearUser = (parts: readonly JsonObject[], at: string, state: State): void => {
  const results = parts.filter((part) => part.functionResponse !== undefined)
  if (results.length > 0 || state.open.length > 0) {
    need(
      results.length === state.open.length,
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
    state.rounds.push(
      results.map(({ functionResponse }) => {
        const members = ['id', 'name', 'response', 'willContinue', 'scheduling', 'parts']
        const result = objectWith(functionResponse, `${at}.function_response`, members, unknown)
        need(isObject(result.response), `${at}.function_response.response: must be an object`)
        const open = state.open.indexOf(textAt(result.name, at))
        need(open >= 0, `${at}: function response name ${String(result.name)} matches no call`)
        state.open.splice(open, 1)
        const [only, ...others] = Object.values(result.response)
        return others.length === 0 && typeof only === 'string' ? only : JSON.stringify(result.response)
      }),
    )
    return
  }
  state.prompt = parts.map(({ text }) => String(text ?? '')).join('')
  state.rounds = []
  state.imageBytes = parts.flatMap(({ inlineData }) => {
    if (inlineData === undefined) return []
    const inline = objectWith(inlineData, `${at}.inline_data`, ['mimeType', 'data', 'displayName'], unknown)
    need(inline.mimeType === 'image/png', `Unsupported MIME type: ${String(inline.mimeType)}`)
    return [sizeOf(String(inline.data))]
  })
}

type Hearing = { readonly state: State; readonly memory: Memory; readonly model: string }

const hearModel = (parts: readonly JsonObject[], at: string, { state, memory, model }: Hearing): void => {
  need(
    state.open.length === 0,
    'Please ensure that function response turn comes immediately after a function call turn.',
  )
  const calls = parts.filter((part) => part.functionCall !== undefined)
  for (const [index, part] of calls.entries()) {
    const call = objectWith(part.functionCall, `${at}.function_call`, ['id', 'name', 'args'], unknown)
    const name = textAt(call.name, at)
    need(call.args === undefined || isObject(call.args), `${at}.function_call.args: must be an object`)
    state.open.push(name)
    const signed = part.thoughtSignature
    if (signed === SKIP) memory.signatures.push('skipped')
    else if (signed !== undefined) {
      need(signed === signatureOf(name, call.args ?? {}), `${at}: Thought signature is not valid`)
      memory.signatures.push('own')
    } else if (index === 0)
      need(
        !isThird(model),
        `Function call is missing a thought_signature in functionCall parts: ${name}, ${at}.`,
      )
  }
}

const checkThinking = (value: Json | undefined, model: string): boolean => {
  if (value === undefined) return false
  const members = ['thinkingBudget', 'includeThoughts', 'thinkingLevel']
  const thinking = objectWith(value, 'generation_config.thinking_config', members, unknown)
  if (thinking.thinkingLevel !== undefined) {
    need(isThird(model), 'Thinking level is not supported for this model.')
    need(thinking.thinkingBudget === undefined, 'thinking_budget and thinking_level cannot be used together.')
    need(
      ['low', 'high'].includes(String(thinking.thinkingLevel).toLowerCase()),
      'Thinking level is not supported.',
    )
  }
  return thinking.includeThoughts === true
}

const toolsOf = (body: JsonObject): { tools: string[]; forced: string | undefined } => {
  const tools = listed(body.tools ?? [], 'tools').flatMap((one, index) => {
    const tool = objectWith(one, `tools[${index}]`, ['functionDeclarations', 'codeExecution'], unknown)
    return listed(tool.functionDeclarations ?? [], `tools[${index}]`).map((each) => {
      const members = [
        'name',
        'description',
        'parameters',
        'parametersJsonSchema',
        'behavior',
        'response',
        'responseJsonSchema',
      ]
      const declared = objectWith(each, `tools[${index}].function_declarations`, members, unknown)
      need(
        declared.parameters === undefined || declared.parametersJsonSchema === undefined,
        'parameters and parameters_json_schema are mutually exclusive',
      )
      checkSchema(declared.parameters, 'parameters')
      return textAt(declared.name, 'name')
    })
  })
  if (body.toolConfig === undefined) return { tools, forced: undefined }
  const calling = objectWith(
    body.toolConfig,
    'tool_config',
    ['functionCallingConfig', 'retrievalConfig'],
    unknown,
  )
  const inner = objectWith(
    calling.functionCallingConfig ?? {},
    'function_calling_config',
    ['mode', 'allowedFunctionNames'],
    unknown,
  )
  const names = Array.isArray(inner.allowedFunctionNames) ? inner.allowedFunctionNames : []
  if (inner.mode === 'ANY' && names.length === 0 && tools.length === 1) return { tools, forced: tools[0] }
  return { tools, forced: names.length === 1 ? String(names[0]) : undefined }
}

/** The vendor's own schemas know few members. */
const checkSchema = (schema: Json | undefined, at: string): void => {
  if (!isObject(schema)) return
  objectWith(schema, at, schemaMembers, unknown)
  checkSchema(schema.items, `${at}.items`)
  if (isObject(schema.properties))
    for (const [name, one] of Object.entries(schema.properties)) checkSchema(one, `${at}.properties[${name}]`)
}

const schemaOf = (settings: JsonObject): unknown => {
  const schema = settings.responseJsonSchema ?? settings.responseSchema
  checkSchema(settings.responseSchema, 'response_schema')
  if (schema !== undefined)
    need(
      settings.responseMimeType === 'application/json',
      'response_schema needs response_mime_type application/json',
    )
  return schema
}

const usageOf = (said: ScriptedReply) => {
  const { input, output, cacheRead } = countsOf(said)
  return {
    ...inputOf(said),
    candidatesTokenCount: said.thinking === undefined ? output : output - 3,
    ...(said.thinking === undefined ? {} : { thoughtsTokenCount: 3 }),
    totalTokenCount: input + cacheRead + output,
  }
}
const inputOf = (said: ScriptedReply) => {
  const { input, cacheRead } = countsOf(said)
  return {
    promptTokenCount: input + cacheRead,
    totalTokenCount: input + cacheRead,
    ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input + cacheRead }],
  }
}

/** Calls have no id; the first of a step carries the signature. */
const callParts = (heard: UnderstoodRequest, said: ScriptedReply) =>
  said.calls.map(({ name, args }, index) => ({
    functionCall: { name, args },
    ...(index === 0 && isThird(heard.model) ? { thoughtSignature: signatureOf(name, args) } : {}),
  }))

const whole = (heard: UnderstoodRequest, said: ScriptedReply) => ({
  candidates: [
    {
      content: {
        parts: [
          ...(said.thinking === undefined ? [] : [{ text: said.thinking, thought: true }]),
          ...(said.text === undefined ? [] : [{ text: said.text }]),
          ...callParts(heard, said),
        ],
        role: 'model',
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: usageOf(said),
  modelVersion: heard.model,
  responseId: newName('resp-'),
})

const streamed = (heard: UnderstoodRequest, said: ScriptedReply): Response => {
  const event = (value: object) => `data: ${JSON.stringify(value)}\r\n\r\n`
  const early = { usageMetadata: inputOf(said) }
  const tail = { modelVersion: heard.model, responseId: newName('resp-') }
  const parts: object[] = [
    ...piecesOf(said.thinking ?? '', 9).map((text) => ({ text, thought: true })),
    ...piecesOf(said.text ?? '', 9).map((text) => ({ text })),
    ...callParts(heard, said),
  ]
  const events = parts.map((part) =>
    event({ candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }], ...early, ...tail }),
  )
  if (said.breaks === 'die' || said.breaks === 'stall') return cutOddly(events.join(''), said.breaks)
  if (said.breaks === 'error') {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
    return cutOddly(events.join('') + event({ error }))
  }
  const end = { content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }
  return cutOddly(events.join('') + event({ candidates: [end], usageMetadata: usageOf(said), ...tail }))
}
