/** A vendor that speaks chat completions and shows its reasoning, strict by the API reference. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { checkStrict, listAt, objectWith, textAt } from './check.ts'
import {
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
  'model',
  'messages',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'max_completion_tokens',
  'n',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'user',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'service_tier',
  'store',
  'metadata',
  'verbosity',
  'logit_bias',
  'safety_identifier',
  'prompt_cache_key',
  'modalities',
  'prediction',
]
const byRole: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  // `reasoning_content` is this vendor's own. The reference does not name `parsed`, `parsed_arguments`
  // and a tool's `name` here, but the vendor's own client and LangChain send them, and are answered.
  assistant: [
    'role',
    'content',
    'name',
    'refusal',
    'tool_calls',
    'audio',
    'annotations',
    'reasoning_content',
    'parsed',
  ],
  tool: ['role', 'content', 'tool_call_id', 'name'],
}
const partsByRole: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
}
const unknown = (name: string, at: string) =>
  at === '' ? `Unrecognized request argument supplied: ${name}` : `Unknown parameter: '${at}.${name}'.`

/** Makes the vendor; `memory` is what it saw. */
export const chatVendor =
  (memory: Memory) =>
  (request: VendorRequest): Response => {
    try {
      need(request.url.endsWith('/chat/completions'), `Invalid URL (POST ${request.url})`)
      const heard = hear(request.body, memory)
      const said = memory.answer(heard)
      if (typeof said === 'number') return failure(said, 'The scripted failure.')
      if (!heard.stream) return said.breaks === undefined ? whole(heard, said) : failure(500, 'Broken.')
      return streamed(heard, said, request.body)
    } catch (thrown) {
      if (!(thrown instanceof VendorRefuses)) throw thrown
      memory.refused.push(thrown.message)
      return failure(400, thrown.message)
    }
  }

const types = { 400: 'invalid_request_error', 429: 'requests', 500: 'server_error' } as const
const failure = (status: 400 | 429 | 500, message: string): Response =>
  Response.json({ error: { message, type: types[status], param: null, code: null } }, { status })

/** The longest texts that the reference allows. */
const longest: Readonly<Record<string, number>> = { user: 64, prompt_cache_key: 64, safety_identifier: 64 }
const CALL_ID_MAX = 40
const TOOLS_MAX = 128

const hear = (body: JsonObject, memory: Memory): UnderstoodRequest => {
  objectWith(body, '', top, unknown)
  for (const [name, most] of Object.entries(longest))
    need(
      body[name] === undefined || textAt(body[name], name).length <= most,
      `Invalid '${name}': string too long. Expected a string with maximum length ${most}.`,
    )
  const messages = listAt(body.messages, 'messages')
  need(messages.length > 0, "Invalid 'messages': empty array.")
  if (body.stream !== true) need(body.stream_options === undefined, 'stream_options needs stream')
  const heard = { prompt: '', rounds: [] as string[][], imageBytes: [] as number[] }
  let open = new Set<string>()
  let roundOpen = false
  for (const [index, one] of messages.entries()) {
    const at = `messages[${index}]`
    const role = isObject(one) ? String(one.role) : ''
    const message = objectWith(one, at, byRole[role] ?? ['role'], unknown)
    need(byRole[role] !== undefined, `Invalid value: '${role}'.`)
    if (role !== 'tool')
      need(
        open.size === 0,
        `An assistant message with 'tool_calls' must be followed by tool messages: ${[...open]}`,
      )
    const content = contentOf(message, at, role)
    if (role === 'user') {
      heard.prompt = content.text
      heard.rounds = []
      heard.imageBytes = content.images
      roundOpen = false
    } else if (role === 'assistant') {
      open = callsOf(message, at)
      if (typeof message.reasoning_content === 'string') memory.reasoning.push(message.reasoning_content)
      roundOpen = false
    } else if (role === 'tool') {
      const id = textAt(message.tool_call_id, `${at}.tool_call_id`)
      need(
        open.delete(id),
        `messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`,
      )
      if (!roundOpen) heard.rounds.push([])
      roundOpen = true
      heard.rounds.at(-1)?.push(content.text)
    }
  }
  need(open.size === 0, 'tool calls without an answer at the end')
  const thinks = typeof body.reasoning_effort === 'string' && body.reasoning_effort !== 'none'
  if (thinks) memory.thinking++
  return {
    ...heard,
    model: textAt(body.model, 'model'),
    stream: body.stream === true,
    ...toolsOf(body),
    schema: schemaOf(body.response_format),
    thinks,
  }
}

const contentOf = (message: JsonObject, at: string, role: string): { text: string; images: number[] } => {
  const { content } = message
  if (typeof content === 'string') return { text: content, images: [] }
  if (role === 'assistant' && (content === null || content === undefined)) {
    need(Array.isArray(message.tool_calls), `${at}: content is required`)
    return { text: '', images: [] }
  }
  const texts: string[] = []
  const images: number[] = []
  for (const [index, one] of listAt(content, `${at}.content`).entries()) {
    const where = `${at}.content[${index}]`
    need(
      isObject(one) && (partsByRole[role] ?? []).includes(String(one.type)),
      `Invalid value at ${where}.type`,
    )
    if (one.type === 'text') {
      objectWith(one, where, ['type', 'text'], unknown)
      texts.push(textAt(one.text, where))
    } else if (one.type === 'image_url') {
      objectWith(one, where, ['type', 'image_url'], unknown)
      const image = objectWith(one.image_url, `${where}.image_url`, ['url', 'detail'], unknown)
      const data = /^data:image\/png;base64,(.+)$/.exec(textAt(image.url, where))?.[1]
      need(data !== undefined, 'You uploaded an unsupported image.')
      images.push(sizeOf(data))
    }
  }
  return { text: texts.join(''), images }
}

const callsOf = (message: JsonObject, at: string): Set<string> => {
  if (message.tool_calls === undefined) return new Set()
  const calls = listAt(message.tool_calls, `${at}.tool_calls`)
  need(calls.length > 0, `Invalid '${at}.tool_calls': empty array.`)
  return new Set(
    calls.map((one, index) => {
      const where = `${at}.tool_calls[${index}]`
      const call = objectWith(one, where, ['id', 'type', 'function'], unknown)
      need(call.type === 'function', `Invalid value at ${where}.type`)
      const called = objectWith(
        call.function,
        `${where}.function`,
        ['name', 'arguments', 'parsed_arguments'],
        unknown,
      )
      textAt(called.name, where)
      JSON.parse(textAt(called.arguments, where))
      const id = textAt(call.id, where)
      need(id.length <= CALL_ID_MAX, `Invalid '${where}.id': string too long.`)
      return id
    }),
  )
}

const toolsOf = (body: JsonObject): { tools: string[]; forced: string | undefined } => {
  if (body.tools === undefined) {
    need(body.tool_choice === undefined, "'tool_choice' is only allowed when 'tools' are specified.")
    need(
      body.parallel_tool_calls === undefined,
      "'parallel_tool_calls' is only allowed when 'tools' are specified.",
    )
    return { tools: [], forced: undefined }
  }
  const tools = listAt(body.tools, 'tools').map((one, index) => {
    const tool = objectWith(one, `tools[${index}]`, ['type', 'function'], unknown)
    const members = ['name', 'description', 'parameters', 'strict']
    const declared = objectWith(tool.function, `tools[${index}].function`, members, unknown)
    if (declared.strict === true) checkStrict(declared.parameters, `function '${String(declared.name)}'`)
    const name = textAt(declared.name, 'name')
    need(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `Invalid 'tools[${index}].function.name'`)
    return name
  })
  need(tools.length <= TOOLS_MAX, "Invalid 'tools': array too long.")
  const choice =
    isObject(body.tool_choice) && isObject(body.tool_choice.function) ? body.tool_choice.function : {}
  const forced = body.tool_choice === 'required' && tools.length === 1 ? tools[0] : choice.name
  return { tools, forced: typeof forced === 'string' ? forced : undefined }
}

const schemaOf = (format: Json | undefined): unknown => {
  if (!isObject(format) || format.type !== 'json_schema') return undefined
  const members = ['name', 'schema', 'strict', 'description']
  const inner = objectWith(format.json_schema, 'response_format.json_schema', members, unknown)
  need(/^[a-zA-Z0-9_-]{1,64}$/.test(textAt(inner.name, 'name')), "Invalid 'response_format.json_schema.name'")
  if (inner.strict === true) checkStrict(inner.schema, 'response_format')
  return inner.schema
}

const usageOf = (said: ScriptedReply) => {
  const { input, output, cacheRead } = countsOf(said)
  return {
    prompt_tokens: input + cacheRead,
    completion_tokens: output,
    total_tokens: input + cacheRead + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    ...(said.thinking === undefined ? {} : { completion_tokens_details: { reasoning_tokens: 3 } }),
  }
}
const head = (heard: UnderstoodRequest, object: string) => ({
  id: newName('chatcmpl-'),
  object,
  created: 1_795_000_000,
  model: `${heard.model}-0101`,
})

const whole = (heard: UnderstoodRequest, said: ScriptedReply): Response =>
  Response.json({
    ...head(heard, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: said.text ?? null,
          ...(said.thinking === undefined ? {} : { reasoning_content: said.thinking }),
          ...(said.calls.length === 0
            ? {}
            : {
                tool_calls: said.calls.map(({ name, args }) => ({
                  id: newName('call_'),
                  type: 'function',
                  function: { name, arguments: JSON.stringify(args) },
                })),
              }),
        },
        logprobs: null,
        finish_reason: said.calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: usageOf(said),
  })

const streamed = (heard: UnderstoodRequest, said: ScriptedReply, body: JsonObject): Response => {
  const same = head(heard, 'chat.completion.chunk')
  const event = (choices: unknown[], more: object = {}) =>
    `data: ${JSON.stringify({ ...same, choices, ...more })}\n\n`
  const delta = (content: object) => event([{ index: 0, delta: content, finish_reason: null }])
  const events = [delta({ role: 'assistant', content: '' })]
  for (const text of piecesOf(said.thinking ?? '')) events.push(delta({ reasoning_content: text }))
  for (const text of piecesOf(said.text ?? '')) events.push(delta({ content: text }))
  if (said.breaks === 'die' || said.breaks === 'stall') return cutOddly(events.join(''), said.breaks)
  if (said.breaks === 'error')
    return cutOddly(`${events.join('')}data: {"error":{"message":"Overloaded","type":"server_error"}}\n\n`)
  const toolPieces: object[][] = []
  for (const [index, { name, args }] of said.calls.entries()) {
    const begun = { index, id: newName('call_'), type: 'function', function: { name, arguments: '' } }
    toolPieces.push([
      begun,
      ...piecesOf(JSON.stringify(args)).map((text) => ({ index, function: { arguments: text } })),
    ])
  }
  // The dialect numbers its calls, so that their arguments may come in turns.
  const inTurns = Array.from(
    { length: Math.max(0, ...toolPieces.map((pieces) => pieces.length)) },
    (_none, turn) => toolPieces.flatMap((pieces) => pieces.slice(turn, turn + 1)),
  )
  for (const piece of (heard.prompt.includes('in turns') ? inTurns : toolPieces).flat())
    events.push(delta({ tool_calls: [piece] }))
  events.push(event([{ index: 0, delta: {}, finish_reason: said.calls.length > 0 ? 'tool_calls' : 'stop' }]))
  if (isObject(body.stream_options) && body.stream_options.include_usage === true)
    events.push(event([], { usage: usageOf(said) }))
  return cutOddly(`${events.join('')}data: [DONE]\n\n`)
}
