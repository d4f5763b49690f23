/** A vendor that speaks interactions and stores nothing, strict by the types of Google's client. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { listAt, objectWith, textAt } from './check.ts'
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
  'generation_config',
  'input',
  'labels',
  'model',
  'response_format',
  'response_mime_type',
  'response_modalities',
  'safety_settings',
  'service_tier',
  'store',
  'stream',
  'system_instruction',
  'tools',
]
const config = [
  'max_output_tokens',
  'seed',
  'stop_sequences',
  'temperature',
  'thinking_level',
  'thinking_summaries',
  'tool_choice',
  'top_p',
]
/** Members of a step, by its type. */
const steps: Readonly<Record<string, readonly string[]>> = {
  user_input: ['content'],
  model_output: ['content'],
  thought: ['signature', 'summary'],
  function_call: ['id', 'name', 'arguments', 'signature'],
  function_result: ['call_id', 'name', 'result', 'is_error'],
}
const contents: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'annotations'],
  image: ['data', 'mime_type', 'uri', 'resolution'],
}
const unknown = (name: string, at: string) => `Unknown parameter '${at === '' ? '' : `${at}.`}${name}'.`

/** Makes the vendor; `memory` is what it saw. */
export const interactionsVendor = (memory: Memory) => {
  const signed = new Set<string>()
  return (request: VendorRequest): Response => {
    try {
      need(request.url.endsWith('/interactions'), `Not found: ${request.url}`)
      need(request.headers.get('x-goog-api-key') === 'house-key', 'No key.')
      const heard = hear(request.body, memory, signed)
      const said = memory.answer(heard)
      if (typeof said === 'number') return failure(said, 'The scripted failure.')
      const made = stepsOf(said, signed)
      const whole = answerOf(heard, said, made)
      if (heard.stream) return streamed(whole, made, said)
      return said.breaks === undefined ? Response.json({ ...whole, steps: made }) : failure(500, 'Broken.')
    } catch (thrown) {
      if (!(thrown instanceof VendorRefuses)) throw thrown
      memory.refused.push(thrown.message)
      return failure(400, thrown.message)
    }
  }
}

const failure = (status: 400 | 429 | 500, message: string): Response =>
  Response.json({ error: { code: status === 400 ? 'invalid_request' : 'internal', message } }, { status })

const hear = (body: JsonObject, memory: Memory, signed: ReadonlySet<string>): UnderstoodRequest => {
  objectWith(body, '', top, unknown)
  need(body.store === false, 'This project stores nothing: store must be false.')
  const given = objectWith(body.generation_config ?? {}, 'generation_config', config, unknown)
  const heard = { prompt: '', rounds: [] as string[][], imageBytes: [] as number[], inRound: false }
  const open = new Map<string, string>()
  const input =
    typeof body.input === 'string'
      ? [{ type: 'user_input', content: [{ type: 'text', text: body.input }] }]
      : body.input
  for (const [index, one] of listAt(input, 'input').entries()) {
    const at = `input[${index}]`
    need(isObject(one), `${at}: must be a step`)
    const { type, ...step } = one
    const members = steps[textAt(type, `${at}.type`)]
    need(members !== undefined, `${at}: unknown step '${String(type)}'`)
    objectWith(step, at, members, unknown)
    if (type === 'function_result') {
      const called = open.get(textAt(step.call_id, `${at}.call_id`))
      need(called !== undefined && step.name === called, `${at}: no function call has this id and name`)
      open.delete(String(step.call_id))
      if (!heard.inRound) heard.rounds.push([])
      heard.inRound = true
      heard.rounds.at(-1)?.push(textAt(step.result, `${at}.result`))
      continue
    }
    heard.inRound = false
    if (type === 'function_call') {
      need(isObject(step.arguments), `${at}.arguments: must be an object`)
      open.set(textAt(step.id, `${at}.id`), textAt(step.name, `${at}.name`))
    } else if (type === 'thought') {
      need(signed.has(textAt(step.signature, `${at}.signature`)), `${at}: the signature is not ours`)
      memory.signatures.push('own')
    } else hearContents(step.content, at, type === 'user_input' ? heard : undefined)
  }
  need(open.size === 0, `No result for the calls ${[...open.keys()].join(', ')}.`)
  const thinks = given.thinking_summaries === 'auto'
  if (thinks) memory.thinking++
  return {
    prompt: heard.prompt,
    rounds: heard.rounds,
    imageBytes: heard.imageBytes,
    model: textAt(body.model, 'model'),
    stream: body.stream === true,
    ...toolsOf(body, given.tool_choice),
    schema: schemaOf(body.response_format),
    thinks,
  }
}

const hearContents = (
  content: Json | undefined,
  at: string,
  heard: { prompt: string; rounds: string[][]; imageBytes: number[] } | undefined,
): void => {
  for (const one of listAt(content, `${at}.content`)) {
    need(isObject(one), `${at}.content: must be objects`)
    const { type, ...members } = one
    const known = contents[textAt(type, `${at}.content.type`)]
    need(known !== undefined, `${at}: unknown content '${String(type)}'`)
    objectWith(members, `${at}.content`, known, unknown)
    if (heard === undefined) continue
    if (type === 'image') heard.imageBytes.push(sizeOf(textAt(members.data, `${at}.data`)))
    else {
      heard.prompt = textAt(members.text, `${at}.text`)
      heard.rounds.length = 0
    }
  }
}

const toolsOf = (body: JsonObject, choice: Json | undefined) => {
  const tools = body.tools === undefined ? [] : listAt(body.tools, 'tools')
  const names = tools.map((tool) => {
    const known = objectWith(tool, 'tools', ['type', 'name', 'description', 'parameters'], unknown)
    need(known.type === 'function', `tools: '${String(known.type)}' is not sold`)
    return textAt(known.name, 'tools.name')
  })
  const allowed = isObject(choice) && isObject(choice.allowed_tools) ? choice.allowed_tools : undefined
  const [only] = allowed?.mode === 'any' ? listAt(allowed.tools, 'tool_choice') : []
  const one = choice === 'any' && names.length === 1 ? names[0] : only
  return { tools: names, forced: typeof one === 'string' ? one : undefined }
}

const schemaOf = (format: Json | undefined): unknown => {
  if (format === undefined) return undefined
  const { type, mime_type, schema } = objectWith(
    format,
    'response_format',
    ['type', 'mime_type', 'schema'],
    unknown,
  )
  need(type === 'text' && mime_type === 'application/json', 'response_format: must be JSON as text')
  return schema
}

const stepsOf = (said: ScriptedReply, signed: Set<string>): any[] => {
  const signature = Buffer.from(newName('signature-')).toString('base64')
  if (said.thinking !== undefined) signed.add(signature)
  return [
    ...(said.thinking === undefined
      ? []
      : [{ type: 'thought', signature, summary: [{ type: 'text', text: said.thinking }] }]),
    ...(said.text === undefined
      ? []
      : [{ type: 'model_output', content: [{ type: 'text', text: said.text }] }]),
    ...said.calls.map(({ name, args }) => ({
      type: 'function_call',
      id: newName('call'),
      name,
      arguments: args,
    })),
  ]
}

const answerOf = (heard: UnderstoodRequest, said: ScriptedReply, made: readonly any[]) => {
  const { input, output, cacheRead } = countsOf(said)
  return {
    id: '',
    object: 'interaction',
    model: heard.model,
    created: '2026-11-26T00:00:00Z',
    updated: '2026-11-26T00:00:00Z',
    status: made.some(({ type }) => type === 'function_call') ? 'requires_action' : 'completed',
    usage: {
      total_input_tokens: input + cacheRead,
      total_cached_tokens: cacheRead,
      total_output_tokens: output,
      total_thought_tokens: 0,
      total_tool_use_tokens: 0,
      total_tokens: input + cacheRead + output,
    },
  }
}

const event = (event_type: string, more: object): string =>
  `event: ${event_type}\ndata: ${JSON.stringify({ ...more, event_type })}\n\n`

const deltasOf = (step: any): object[] => [
  ...piecesOf(step.summary?.[0].text ?? '').map((text) => ({
    type: 'thought_summary',
    content: { type: 'text', text },
  })),
  ...piecesOf(step.content?.[0].text ?? '').map((text) => ({ type: 'text', text })),
  ...piecesOf(step.arguments === undefined ? '' : JSON.stringify(step.arguments)).map((text) => ({
    type: 'arguments_delta',
    arguments: text,
  })),
  ...(step.signature === undefined ? [] : [{ type: 'thought_signature', signature: step.signature }]),
]

const streamed = ({ usage, ...whole }: any, made: readonly any[], said: ScriptedReply): Response => {
  const told = made.map((step, index) => {
    const { content: _content, summary: _summary, signature: _signature, ...start } = step
    const opened = step.type === 'function_call' ? { ...start, arguments: {} } : start
    const deltas = deltasOf(step).map((delta) => event('step.delta', { index, delta }))
    return event('step.start', { index, step: opened }) + deltas.join('') + event('step.stop', { index })
  })
  const begun =
    event('interaction.created', { interaction: { ...whole, status: 'in_progress' } }) +
    event('interaction.status_update', { interaction_id: '', status: 'in_progress' })
  const error = event('error', { error: { code: 'internal', message: 'Broken.' } })
  if (said.breaks !== undefined)
    return said.breaks === 'error'
      ? cutOddly(begun + told.join('') + error)
      : cutOddly(begun + told.join(''), said.breaks)
  return cutOddly(
    begun +
      told.join('') +
      event('interaction.completed', { interaction: { ...whole, usage } }) +
      'event: done\ndata: [DONE]\n\n',
  )
}
