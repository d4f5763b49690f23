/** A vendor that speaks responses, reasons and stores nothing, strict by the API reference. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import {
  callItem,
  messageItem,
  reasoningItem,
  response,
  responseEvents,
  responsesUsage10and5,
} from '../../dialects/responses-vendor.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { checkStrict, listAt, objectWith, textAt } from './check.ts'
import {
  countsOf,
  cutOddly,
  type Memory,
  need,
  newName,
  type ScriptedReply,
  sizeOf,
  type UnderstoodRequest,
  VendorRefuses,
} from './script.ts'

const top = [
  'background',
  'context_management',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  // Not in the reference, but the vendor's own program sends it and is answered.
  'client_metadata',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]
/** Members of an item, and the beginning of its id. */
const items: Readonly<Record<string, { readonly members: readonly string[]; readonly id: string }>> = {
  message: { members: ['type', 'id', 'status', 'role', 'content', 'phase'], id: 'msg' },
  reasoning: { members: ['type', 'id', 'status', 'summary', 'content', 'encrypted_content'], id: 'rs' },
  function_call: {
    // `parsed_arguments` is not in the reference, but the vendor's own client sends it and is answered.
    members: ['type', 'id', 'status', 'call_id', 'name', 'namespace', 'arguments', 'parsed_arguments'],
    id: 'fc',
  },
  function_call_output: { members: ['type', 'id', 'status', 'call_id', 'output'], id: 'fc' },
}
/** Not in the reference, but the vendor's own program sends it in every item and is answered. */
const ofItsProgram = 'internal_chat_message_metadata_passthrough'
const includable = [
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
]
const unknown = (name: string, at: string) => `Unknown parameter: '${at === '' ? '' : `${at}.`}${name}'.`

/** Makes the vendor; `memory` is what it saw. */
export const responsesVendor = (memory: Memory) => {
  /** The sealed thoughts it gave, by the items they were in. */
  const sealed = new Map<string, string>()
  return (request: VendorRequest): Response => {
    try {
      need(request.url.endsWith('/responses'), `Invalid URL (POST ${request.url})`)
      const heard = hear(request.body, memory, sealed)
      const said = memory.answer(heard)
      if (typeof said === 'number') return failure(said, 'The scripted failure.')
      const whole = answerOf(heard, said, request.body, sealed)
      if (heard.stream) return streamed(whole, said)
      return said.breaks === undefined ? Response.json(whole) : failure(500, 'Broken.')
    } catch (thrown) {
      if (!(thrown instanceof VendorRefuses)) throw thrown
      memory.refused.push(thrown.message)
      return failure(400, thrown.message)
    }
  }
}

const types = { 400: 'invalid_request_error', 429: 'requests', 500: 'server_error' } as const
const failure = (status: 400 | 429 | 500, message: string): Response =>
  Response.json({ error: { message, type: types[status], param: null, code: null } }, { status })

type Listening = { prompt: string; rounds: string[][]; imageBytes: number[]; roundOpen: boolean }

const hear = (body: JsonObject, memory: Memory, sealed: ReadonlyMap<string, string>): UnderstoodRequest => {
  objectWith(body, '', top, unknown)
  checkMembers(body)
  const heard: Listening = { prompt: '', rounds: [], imageBytes: [], roundOpen: false }
  const open = new Set<string>()
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input
  for (const [index, one] of listAt(input, 'input').entries())
    hearItem(one, `input[${index}]`, { heard, open, memory, sealed })
  need(open.size === 0, `No tool output found for function call ${[...open].join(', ')}.`)
  const reasoning = objectWith(body.reasoning ?? {}, 'reasoning', ['effort', 'summary', 'context'], unknown)
  const thinks = typeof reasoning.effort === 'string' && reasoning.effort !== 'none'
  if (thinks) memory.thinking++
  return {
    prompt: heard.prompt,
    rounds: heard.rounds,
    imageBytes: heard.imageBytes,
    model: textAt(body.model, 'model'),
    stream: body.stream === true,
    ...toolsOf(body),
    schema: schemaOf(body.text),
    thinks,
  }
}

const checkMembers = (body: JsonObject): void => {
  for (const name of ['temperature', 'top_p'])
    need(
      body[name] === undefined || body[name] === null,
      `Unsupported parameter: '${name}' is not supported with this model.`,
    )
  need(body.store === false, 'This organisation stores nothing: store must be false.')
  need(body.previous_response_id == null, 'Previous response not found.')
  const bound = body.max_output_tokens
  need(
    bound == null || (typeof bound === 'number' && bound >= 16),
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
  )
  for (const one of listAt(body.include ?? [], 'include'))
    need(typeof one === 'string' && includable.includes(one), `Invalid value: '${String(one)}'.`)
  need(typeof body.user !== 'string' || body.user.length <= 64, "Invalid 'user': string too long.")
}

type Ears = {
  readonly heard: Listening
  readonly open: Set<string>
  readonly memory: Memory
  readonly sealed: ReadonlyMap<string, string>
}

const hearItem = (one: Json, at: string, { heard, open, memory, sealed }: Ears): void => {
  const type = isObject(one) ? String(one.type ?? 'message') : ''
  const kind = items[type]
  need(kind !== undefined, `Invalid value: '${type}' at ${at}.`)
  const item = objectWith(one, at, [...kind.members, ofItsProgram], unknown)
  const { id } = item
  need(
    id == null || (typeof id === 'string' && id.startsWith(kind.id)),
    `Invalid '${at}.id': Expected an ID that begins with '${kind.id}'.`,
  )
  if (type === 'reasoning') {
    const own = sealed.get(textAt(item.encrypted_content, `${at}.encrypted_content`))
    need(own !== undefined, `The encrypted content for item ${String(id)} could not be verified.`)
    need(own === id, `Item ${String(id)} is not the one whose content it has.`)
    listAt(item.summary, `${at}.summary`)
    memory.signatures.push('own')
    return
  }
  if (type === 'function_call') {
    const callId = callIdAt(item, at)
    JSON.parse(textAt(item.arguments, at))
    textAt(item.name, at)
    need(!open.has(callId), `Duplicate call ${callId}`)
    open.add(callId)
    heard.roundOpen = false
    return
  }
  if (type === 'function_call_output') {
    const callId = callIdAt(item, at)
    need(open.delete(callId), `No tool call found for function call output with call_id ${callId}.`)
    if (!heard.roundOpen) heard.rounds.push([])
    heard.roundOpen = true
    heard.rounds
      .at(-1)
      ?.push(typeof item.output === 'string' ? item.output : contentOf(item.output, at, 'user').text)
    return
  }
  const role = textAt(item.role, `${at}.role`)
  need(['user', 'assistant', 'system', 'developer'].includes(role), `Invalid value: '${role}'.`)
  const content = contentOf(item.content, at, role)
  if (role !== 'user') return
  heard.prompt = content.text
  heard.rounds = []
  heard.imageBytes = content.images
  heard.roundOpen = false
}

const callIdAt = (item: JsonObject, at: string): string => {
  const callId = textAt(item.call_id, `${at}.call_id`)
  need(callId.length <= 64, `Invalid '${at}.call_id': string too long.`)
  return callId
}

const parts: Readonly<Record<string, readonly string[]>> = {
  input_text: ['type', 'text', 'prompt_cache_breakpoint'],
  input_image: ['type', 'image_url', 'detail', 'file_id'],
  input_file: ['type', 'file_data', 'file_id', 'file_url', 'filename'],
  // `parsed` is not in the reference, but the vendor's own client sends it and is answered.
  output_text: ['type', 'text', 'annotations', 'logprobs', 'parsed'],
  refusal: ['type', 'refusal'],
}

const contentOf = (
  content: Json | undefined,
  at: string,
  role: string,
): { text: string; images: number[] } => {
  if (typeof content === 'string') return { text: content, images: [] }
  const texts: string[] = []
  const images: number[] = []
  for (const [index, one] of listAt(content, `${at}.content`).entries()) {
    const where = `${at}.content[${index}]`
    const type = isObject(one) ? String(one.type) : ''
    const mine = role === 'assistant' ? /^(?:output_text|refusal)$/ : /^input_/
    need(mine.test(type), `Invalid value: '${type}' at ${where} of role ${role}.`)
    const part = objectWith(one, where, parts[type] ?? [], unknown)
    if (type === 'input_text' || type === 'output_text') texts.push(textAt(part.text, where))
    else if (type === 'input_image') {
      const data = /^data:image\/png;base64,(.+)$/.exec(textAt(part.image_url, where))?.[1]
      need(data !== undefined, 'The image data you provided does not represent a valid image.')
      images.push(sizeOf(data))
    }
  }
  return { text: texts.join(''), images }
}

/** Members of each type of tool; a namespace holds functions, and a tool that the vendor runs has no name. */
const toolMembers: Readonly<Record<string, readonly string[]>> = {
  function: ['type', 'name', 'description', 'parameters', 'strict', 'defer_loading'],
  custom: ['type', 'name', 'description', 'format', 'defer_loading'],
  namespace: ['type', 'name', 'description', 'tools'],
  web_search: ['type', 'filters', 'search_context_size', 'user_location', 'external_web_access'],
}

/** Names that the model may call by this tool. */
const namesIn = (one: Json, at: string): string[] => {
  const type = isObject(one) ? String(one.type) : ''
  need(type in toolMembers, `Invalid value: '${type}' at ${at}.type.`)
  const tool = objectWith(one, at, toolMembers[type] ?? [], unknown)
  if (type === 'web_search') return []
  const name = textAt(tool.name, 'name')
  need(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `Invalid '${at}.name'`)
  if (type === 'namespace')
    return listAt(tool.tools, `${at}.tools`).flatMap((inner, index) =>
      namesIn(inner, `${at}.tools[${index}]`),
    )
  if (type === 'function' && tool.strict !== false) checkStrict(tool.parameters, `function '${name}'`)
  return [name]
}

const toolsOf = (body: JsonObject): { tools: string[]; forced: string | undefined } => {
  const tools = listAt(body.tools ?? [], 'tools').flatMap((one, index) => namesIn(one, `tools[${index}]`))
  const { tool_choice: choice } = body
  need(choice !== 'required' || tools.length > 0, "Tool choice 'required' must be specified with 'tools'.")
  const named = isObject(choice) ? textAt(choice.name, 'tool_choice.name') : undefined
  return { tools, forced: choice === 'required' && tools.length === 1 ? tools[0] : named }
}

const schemaOf = (text: Json | undefined): unknown => {
  const { format } = objectWith(text ?? {}, 'text', ['format', 'verbosity'], unknown)
  if (!isObject(format) || format.type !== 'json_schema') return undefined
  objectWith(format, 'text.format', ['type', 'name', 'schema', 'strict', 'description'], unknown)
  need(/^[a-zA-Z0-9_-]{1,64}$/.test(textAt(format.name, 'name')), "Invalid 'text.format.name'")
  if (format.strict === true) checkStrict(format.schema, 'response_format')
  return format.schema
}

const answerOf = (
  heard: UnderstoodRequest,
  said: ScriptedReply,
  body: JsonObject,
  sealed: Map<string, string>,
) => {
  const shows = isObject(body.reasoning) && typeof body.reasoning.summary === 'string'
  const seals = listAt(body.include ?? [], 'include').includes('reasoning.encrypted_content')
  const thoughts = said.thinking === undefined ? [] : [thoughtOf(shows ? said.thinking : '', seals, sealed)]
  const texts = said.text === undefined ? [] : [messageItem(said.text, newName('msg_'))]
  const calls = said.calls.map(({ name, args }) => callItem(name, JSON.stringify(args), newName('call_')))
  const { input, output, cacheRead } = countsOf(said)
  return response([...thoughts, ...texts, ...calls], {
    id: newName('resp_'),
    model: `${heard.model}-0101`,
    usage: {
      ...responsesUsage10and5,
      input_tokens: input + cacheRead,
      input_tokens_details: { cached_tokens: cacheRead },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: said.thinking === undefined ? 0 : 3 },
      total_tokens: input + cacheRead + output,
    },
  })
}

const thoughtOf = (summary: string, seals: boolean, sealed: Map<string, string>) => {
  const id = newName('rs_')
  const content = `gAAAA${Buffer.from(id).toString('base64url')}==`
  if (seals) sealed.set(content, id)
  const { encrypted_content: own, ...item } = reasoningItem(summary, content, id)
  return seals ? { ...item, encrypted_content: own } : item
}

const streamed = (whole: ReturnType<typeof response>, { breaks }: ScriptedReply): Response => {
  const events = responseEvents(whole)
  if (breaks === undefined) return cutOddly(events.join(''))
  const begun = events.slice(
    0,
    events.findIndex((event) => event.startsWith('event: response.output_text.done')),
  )
  if (breaks === 'die' || breaks === 'stall') return cutOddly(begun.join(''), breaks)
  const error = { code: 'server_error', message: 'Overloaded' }
  const failed = {
    type: 'response.failed',
    sequence_number: begun.length,
    response: { ...whole, status: 'failed', error },
  }
  return cutOddly(`${begun.join('')}event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`)
}
