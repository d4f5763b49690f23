/** A vendor that speaks messages, strict by the API reference: pairs of tool blocks, signatures, no empty texts. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { listAt, objectSchemas, objectWith, textAt } from './check.ts'
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
  'model',
  'messages',
  'max_tokens',
  'system',
  'temperature',
  'top_p',
  'top_k',
  'stream',
  'stop_sequences',
  'metadata',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'service_tier',
  'cache_control',
]
const blockMembers: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'context', 'citations', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
}
const blocksByRole: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
}
const toolMembers = [
  'type',
  'name',
  'description',
  'input_schema',
  'cache_control',
  'strict',
  'eager_input_streaming',
  'input_examples',
  'defer_loading',
  'allowed_callers',
]
const unknown = (name: string, at: string) =>
  `${at === '' ? '' : `${at}.`}${name}: Extra inputs are not permitted`
/** Constraints that the vendor's structured outputs do not know. */
const unknownInSchemas = [
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
]

/** Makes the vendor; `memory` is what it saw. */
export const messagesVendor =
  (memory: Memory) =>
  (request: VendorRequest): Response => {
    try {
      need(request.headers.get('anthropic-version') !== null, 'anthropic-version: header is required')
      if (request.url.endsWith('/messages/count_tokens')) return Response.json(count(request.body, memory))
      need(request.url.endsWith('/messages'), `Not found: ${request.url}`)
      const heard = hear(underBetas(request), memory)
      const said = memory.answer(heard)
      if (typeof said === 'number') return failure(said, 'The scripted failure.')
      if (!heard.stream) return said.breaks === undefined ? whole(heard, said) : failure(500, 'Broken.')
      return streamed(heard, said)
    } catch (thrown) {
      if (!(thrown instanceof VendorRefuses)) throw thrown
      memory.refused.push(thrown.message)
      return failure(400, thrown.message)
    }
  }

/** The body without what the vendor takes only under a beta, where the request asks for that beta. */
const underBetas = ({ headers, body }: VendorRequest): JsonObject => {
  const betas = headers.get('anthropic-beta')?.split(',') ?? []
  const { context_management: _managed, ...rest } = body
  return betas.includes('context-management-2025-06-27') ? rest : body
}

const types = { 400: 'invalid_request_error', 429: 'rate_limit_error', 500: 'api_error' } as const
const failure = (status: 400 | 429 | 500, message: string): Response =>
  Response.json({ type: 'error', error: { type: types[status], message }, request_id: 'req_1' }, { status })

const count = (body: JsonObject, memory: Memory): JsonObject => {
  for (const name of ['max_tokens', 'stream', 'temperature', 'metadata'])
    need(body[name] === undefined, unknown(name, ''))
  hear({ ...body, max_tokens: 1_000_000 }, memory)
  return { input_tokens: counts.input }
}

/** The only signature this vendor knows for a thought. */
const signatureOf = (text: string): string =>
  `EqMB${Buffer.from(`${text.length}:${text}`).toString('base64')}`

type State = { prompt: string; rounds: string[][]; imageBytes: number[]; open: Set<string> }

const hear = (body: JsonObject, memory: Memory): UnderstoodRequest => {
  objectWith(body, '', top, unknown)
  need(Number.isSafeInteger(body.max_tokens), 'max_tokens: Field required')
  const messages = listAt(body.messages, 'messages')
  need(messages.length > 0, 'messages: at least one message is required')
  if (body.system !== undefined && typeof body.system !== 'string')
    for (const [index, block] of listAt(body.system, 'system').entries())
      checkBlock(block, `system.${index}`, ['text'])
  const thinks = checkThinking(body)
  if (thinks) memory.thinking++
  const state: State = { prompt: '', rounds: [], imageBytes: [], open: new Set() }
  for (const [index, one] of messages.entries()) {
    const at = `messages.${index}`
    const message = objectWith(one, at, ['role', 'content'], unknown)
    const role = textAt(message.role, `${at}.role`)
    need(
      role === (index % 2 === 0 ? 'user' : 'assistant'),
      'messages: roles must alternate between "user" and "assistant"',
    )
    const blocks = blocksOf(message.content, at, role)
    if (role === 'user') hearUser(blocks, at, state)
    else hearAssistant(blocks, at, state, memory)
  }
  need(state.open.size === 0, 'messages: the last tool_use has no tool_result')
  if (thinks && isObject(body.thinking) && body.thinking.type === 'enabled') checkLoop(messages)
  const format = isObject(body.output_config) ? body.output_config.format : undefined
  return {
    prompt: state.prompt,
    rounds: state.rounds,
    imageBytes: state.imageBytes,
    model: textAt(body.model, 'model'),
    stream: body.stream === true,
    ...toolsOf(body, thinks),
    schema: schemaOf(format),
    thinks,
  }
}

const checkThinking = (body: JsonObject): boolean => {
  if (body.output_config !== undefined)
    objectWith(body.output_config, 'output_config', ['effort', 'format'], unknown)
  if (body.temperature !== undefined && body.top_p !== undefined)
    need(false, '`temperature` and `top_p` cannot both be specified for this model.')
  if (body.thinking === undefined) return false
  const thinking = objectWith(body.thinking, 'thinking', ['type', 'budget_tokens', 'display'], unknown)
  if (thinking.type === 'disabled') return false
  if (thinking.type === 'adaptive') {
    need(/4-[6-9]|-5/.test(String(body.model).slice(-4)), 'adaptive thinking is not supported on this model')
    return true
  }
  need(thinking.type === 'enabled', 'thinking.type: unknown')
  const budget = Number(thinking.budget_tokens)
  need(budget >= 1024, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  need(budget < Number(body.max_tokens), '`max_tokens` must be greater than `thinking.budget_tokens`.')
  need(
    body.temperature === undefined || body.temperature === 1,
    '`temperature` may only be set to 1 when thinking is enabled.',
  )
  need(body.top_k === undefined, '`top_k` must be unset when thinking is enabled.')
  return true
}

const checkBlock = (value: Json, at: string, allowed: readonly string[]): JsonObject => {
  need(isObject(value), `${at}: must be an object`)
  const type = String(value.type)
  need(allowed.includes(type), `${at}: Input tag '${type}' is not one of ${allowed.join(', ')}`)
  objectWith(value, `${at}.${type}`, blockMembers[type] ?? [], unknown)
  if (type === 'text')
    need(textAt(value.text, at).trim() !== '', 'messages: text content blocks must be non-empty')
  if (type === 'image') {
    const source = objectWith(value.source, `${at}.source`, ['type', 'media_type', 'data', 'url'], unknown)
    need(source.type === 'url' || typeof source.data === 'string', `${at}.source.data: Field required`)
  }
  return value
}

const blocksOf = (content: Json | undefined, at: string, role: string): readonly JsonObject[] => {
  if (typeof content === 'string') {
    need(content.trim() !== '', `${at}: text content must be non-empty`)
    return [{ type: 'text', text: content }]
  }
  const blocks = listAt(content, `${at}.content`)
  need(blocks.length > 0, `${at}: all messages must have non-empty content`)
  return blocks.map((block, index) => checkBlock(block, `${at}.content.${index}`, blocksByRole[role] ?? []))
}

const hearUser = (blocks: readonly JsonObject[], at: string, state: State): void => {
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const first = blocks.slice(0, results.length)
  need(
    first.every(({ type }) => type === 'tool_result'),
    `${at}: tool_result blocks must come first`,
  )
  for (const { tool_use_id } of results)
    need(
      state.open.delete(textAt(tool_use_id, at)),
      `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(tool_use_id)}`,
    )
  need(
    state.open.size === 0,
    `${at}: \`tool_use\` ids were found without \`tool_result\` blocks: ${[...state.open]}`,
  )
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => String(text))
  if (results.length > 0) {
    state.rounds.push(results.map(({ content }) => textIn(content, at)))
    return
  }
  state.prompt = texts.join('')
  state.rounds = []
  state.imageBytes = blocks
    .filter(({ type }) => type === 'image')
    .map(({ source }) => {
      need(isObject(source) && source.media_type === 'image/png', `${at}: media_type`)
      return sizeOf(String(source.data))
    })
}

const textIn = (content: Json | undefined, at: string): string => {
  if (content === undefined || typeof content === 'string') return content ?? ''
  return listAt(content, at)
    .map((block, index) => checkBlock(block, `${at}.${index}`, ['text', 'image', 'document']))
    .map(({ text }) => String(text ?? ''))
    .join('')
}

const hearAssistant = (blocks: readonly JsonObject[], at: string, state: State, memory: Memory): void => {
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'thinking') {
      const known = block.signature === signatureOf(String(block.thinking))
      need(known, `${at}.content.${index}: Invalid \`signature\` in \`thinking\` block`)
      memory.signatures.push('own')
    }
    if (block.type !== 'tool_use') continue
    const id = textAt(block.id, at)
    need(
      /^[a-zA-Z0-9_-]+$/.test(id),
      `${at}.content.${index}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
    )
    need(isObject(block.input), `${at}.content.${index}.tool_use.input: Input should be a valid dictionary`)
    need(!state.open.has(id), '`tool_use` ids must be unique')
    state.open.add(id)
  }
}

/** In a tool loop with thinking, the assistant's last turn begins with its thought. */
const checkLoop = (messages: readonly Json[]): void => {
  const last = messages.at(-1)
  const before = messages.at(-2)
  const answers = isObject(last) && Array.isArray(last.content) && last.content.some(ofType('tool_result'))
  if (!answers || !isObject(before) || !Array.isArray(before.content)) return
  const first = before.content[0]
  need(
    ofType('thinking')(first) || ofType('redacted_thinking')(first),
    'messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final ' +
      '`assistant` message must start with a thinking block',
  )
}

const ofType = (type: string) => (block: Json | undefined) => isObject(block) && block.type === type

const toolsOf = (body: JsonObject, thinks: boolean): { tools: string[]; forced: string | undefined } => {
  const choice =
    body.tool_choice === undefined
      ? {}
      : objectWith(body.tool_choice, 'tool_choice', ['type', 'name', 'disable_parallel_tool_use'], unknown)
  if (body.tools === undefined) {
    need(body.tool_choice === undefined, 'tool_choice: may only be specified while providing `tools`.')
    return { tools: [], forced: undefined }
  }
  if (thinks && isObject(body.thinking) && body.thinking.type === 'enabled')
    need(
      choice.type !== 'any' && choice.type !== 'tool',
      'Thinking may not be enabled when tool_choice forces tool use.',
    )
  const tools = listAt(body.tools, 'tools').map((one, index) => {
    const tool = objectWith(one, `tools.${index}`, toolMembers, unknown)
    need(tool.description === undefined || typeof tool.description === 'string', `tools.${index}.description`)
    need(
      isObject(tool.input_schema) && tool.input_schema.type === 'object',
      `tools.${index}.custom.input_schema.type: Field required`,
    )
    const name = textAt(tool.name, `tools.${index}.name`)
    need(/^[a-zA-Z0-9_-]{1,128}$/.test(name), `tools.${index}.custom.name: String should match pattern`)
    return name
  })
  if (choice.type === 'any' && tools.length === 1) return { tools, forced: tools[0] }
  return { tools, forced: choice.type === 'tool' ? String(choice.name) : undefined }
}

const schemaOf = (format: Json | undefined): unknown => {
  if (format === undefined) return undefined
  const asked = objectWith(format, 'output_config.format', ['type', 'schema'], unknown)
  for (const one of objectSchemas(asked.schema))
    need(
      one.additionalProperties === false,
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    )
  const text = JSON.stringify(asked.schema)
  for (const name of unknownInSchemas)
    need(!text.includes(`"${name}":`), `output_config.format.schema: properties ${name} are not supported`)
  return asked.schema
}

const usage = (said: ScriptedReply, output = countsOf(said).output) => ({
  input_tokens: countsOf(said).input,
  cache_creation_input_tokens: countsOf(said).cacheWrite,
  cache_read_input_tokens: countsOf(said).cacheRead,
  output_tokens: output,
  service_tier: 'standard',
})
const stopOf = (said: ScriptedReply) => (said.calls.length > 0 ? 'tool_use' : 'end_turn')
const messageOf = (heard: UnderstoodRequest, content: unknown[], stop: string | null, usage: object) => ({
  id: newName('msg_01'),
  type: 'message',
  role: 'assistant',
  model: `${heard.model}-20260101`,
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage,
})

const whole = (heard: UnderstoodRequest, said: ScriptedReply): Response =>
  Response.json(
    messageOf(
      heard,
      [
        ...(said.thinking === undefined
          ? []
          : [{ type: 'thinking', thinking: said.thinking, signature: signatureOf(said.thinking) }]),
        ...(said.text === undefined ? [] : [{ type: 'text', text: said.text }]),
        ...said.calls.map(({ name, args }) => ({
          type: 'tool_use',
          id: newName('toolu_01'),
          name,
          input: args,
        })),
      ],
      stopOf(said),
      usage(said),
    ),
  )

const streamed = (heard: UnderstoodRequest, said: ScriptedReply): Response => {
  const events: string[] = []
  const event = (type: string, members: object) =>
    events.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`)
  let index = 0
  const block = (content_block: object, deltas: readonly object[]) => {
    event('content_block_start', { index, content_block })
    for (const delta of deltas) event('content_block_delta', { index, delta })
    if (said.breaks === undefined) event('content_block_stop', { index: index++ })
  }
  event('message_start', { message: messageOf(heard, [], null, usage(said, 1)) })
  event('ping', {})
  if (said.thinking !== undefined)
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...piecesOf(said.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: signatureOf(said.thinking) },
    ])
  if (said.text !== undefined)
    block(
      { type: 'text', text: '' },
      piecesOf(said.text).map((text) => ({ type: 'text_delta', text })),
    )
  if (said.breaks === 'die' || said.breaks === 'stall') return cutOddly(events.join(''), said.breaks)
  if (said.breaks === 'error') {
    event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
    return cutOddly(events.join(''))
  }
  for (const { name, args } of said.calls)
    block(
      { type: 'tool_use', id: newName('toolu_01'), name, input: {} },
      ['', ...piecesOf(JSON.stringify(args))].map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
    )
  event('message_delta', {
    delta: { stop_reason: stopOf(said), stop_sequence: null },
    usage: usage(said),
  })
  event('message_stop', {})
  return cutOddly(events.join(''))
}
