/** Sound answers of a vendor in each dialect, whole and as streams, with the tokens they bill. */
import type { EmbeddingsStyle, VendorDialectId } from '../../src/dialects/dialect.ts'
import { callItem, messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { awsMessage } from '../server/aws-message.ts'
import { streamEvents } from '../server/harness.ts'

/** A vendor's answer, and its counts. */
export type ScriptedReply = {
  readonly text: string
  /** It calls the tool `f` instead of answering with a text. */
  readonly calls: boolean
  readonly input: number
  readonly output: number
}

type Written = { readonly type: string; readonly pieces: readonly Uint8Array[] }

const utf8 = new TextEncoder()
const json = (value: unknown): Written => ({
  type: 'application/json',
  pieces: [utf8.encode(JSON.stringify(value))],
})
const events = (pieces: readonly string[]): Written => ({
  type: 'text/event-stream',
  pieces: pieces.map((piece) => utf8.encode(piece)),
})
const event = (value: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

const ARGS = '{"a":"b"}'
const toolCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: ARGS } }

const chatUsage = ({ input, output }: ScriptedReply) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})

const chat = (said: ScriptedReply, stream: boolean): Written => {
  const about = { id: 'chatcmpl-1', created: 1_795_000_000, model: 'small-2026-01-01' }
  const finish_reason = said.calls ? 'tool_calls' : 'stop'
  if (stream) {
    if (!said.calls) return events(streamEvents([...said.text], chatUsage(said)))
    const chunk = (choices: readonly object[], more: object = {}) =>
      `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices, ...more })}\n\n`
    const delta = { role: 'assistant', content: null, tool_calls: [{ index: 0, ...toolCall }] }
    return events([
      chunk([{ index: 0, delta, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason }]),
      chunk([], { usage: chatUsage(said) }),
      'data: [DONE]\n\n',
    ])
  }
  const content = said.calls ? { content: null, tool_calls: [toolCall] } : { content: said.text }
  return json({
    ...about,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...content }, finish_reason }],
    usage: chatUsage(said),
  })
}

const messages = (said: ScriptedReply, stream: boolean): Written => {
  const usage = { input_tokens: said.input, output_tokens: said.output }
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'small' }
  const stop_reason = said.calls ? 'tool_use' : 'end_turn'
  const block = said.calls
    ? { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 'b' } }
    : { type: 'text', text: said.text }
  if (!stream) return json({ ...about, content: [block], stop_reason, stop_sequence: null, usage })
  const begun = said.calls ? { ...block, input: {} } : { ...block, text: '' }
  const delta = said.calls
    ? { type: 'input_json_delta', partial_json: ARGS }
    : { type: 'text_delta', text: said.text }
  return events(
    [
      {
        type: 'message_start',
        message: { ...about, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: begun },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ].map(event),
  )
}

const gemini = (said: ScriptedReply, stream: boolean): Written => {
  const part = said.calls ? { functionCall: { name: 'f', args: { a: 'b' } } } : { text: said.text }
  const whole = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: said.input,
      candidatesTokenCount: said.output,
      totalTokenCount: said.input + said.output,
    },
    modelVersion: 'small',
    responseId: 'r1',
  }
  return stream ? events([`data: ${JSON.stringify(whole)}\r\n\r\n`]) : json(whole)
}

const converse = (said: ScriptedReply, stream: boolean): Written => {
  const usage = {
    inputTokens: said.input,
    outputTokens: said.output,
    totalTokens: said.input + said.output,
  }
  const stopReason = said.calls ? 'tool_use' : 'end_turn'
  const toolUse = { toolUseId: 'call_1', name: 'f' }
  if (!stream) {
    const block = said.calls ? { toolUse: { ...toolUse, input: { a: 'b' } } } : { text: said.text }
    return json({ output: { message: { role: 'assistant', content: [block] } }, stopReason, usage })
  }
  const say = (type: string, payload: object) =>
    awsMessage({ ':message-type': 'event', ':event-type': type }, JSON.stringify(payload))
  const at = { contentBlockIndex: 0 }
  const delta = said.calls ? { toolUse: { input: ARGS } } : { text: said.text }
  return {
    type: 'application/vnd.amazon.eventstream',
    pieces: [
      say('messageStart', { role: 'assistant' }),
      ...(said.calls ? [say('contentBlockStart', { ...at, start: { toolUse } })] : []),
      say('contentBlockDelta', { ...at, delta }),
      say('contentBlockStop', at),
      say('messageStop', { stopReason }),
      say('metadata', { usage, metrics: { latencyMs: 1 } }),
    ],
  }
}

const responses = (said: ScriptedReply, stream: boolean): Written => {
  const whole = response([said.calls ? callItem('f', ARGS) : messageItem(said.text)], {
    usage: {
      input_tokens: said.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: said.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: said.input + said.output,
    },
  })
  return stream ? events(responseEvents(whole)) : json(whole)
}

const interactions = (said: ScriptedReply, stream: boolean): Written => {
  const call = { type: 'function_call', id: 'call_1', name: 'f' }
  const step = said.calls
    ? { ...call, arguments: { a: 'b' } }
    : { type: 'model_output', content: [{ type: 'text', text: said.text }] }
  const head = {
    id: '',
    object: 'interaction',
    model: 'small',
    status: said.calls ? 'requires_action' : 'completed',
  }
  const usage = {
    total_input_tokens: said.input,
    total_output_tokens: said.output,
    total_tokens: said.input + said.output,
  }
  if (!stream) return json({ ...head, steps: [step], usage })
  const say = (event_type: string, more: object) =>
    `event: ${event_type}\ndata: ${JSON.stringify({ event_type, ...more })}\n\n`
  const delta = said.calls ? { type: 'arguments_delta', arguments: ARGS } : { type: 'text', text: said.text }
  return events([
    say('interaction.created', { interaction: { ...head, status: 'in_progress' } }),
    say('step.start', { index: 0, step: said.calls ? { ...call, arguments: {} } : { type: 'model_output' } }),
    say('step.delta', { index: 0, delta }),
    say('step.stop', { index: 0 }),
    say('interaction.completed', { interaction: { ...head, usage } }),
    'event: done\ndata: [DONE]\n\n',
  ])
}

type Reply = (said: ScriptedReply, stream: boolean) => Written

export const replies: Readonly<Record<VendorDialectId, Reply>> = {
  chat,
  messages,
  gemini,
  converse,
  responses,
  interactions,
}

/** Vectors for a number of texts, in each style; they bill the input of `said` in all. */
export const vectors: Readonly<
  Record<EmbeddingsStyle | 'chat', (said: ScriptedReply, texts: number) => Written>
> = {
  chat: ({ input }, texts) =>
    json({
      object: 'list',
      data: Array.from({ length: texts }, (_, index) => ({ object: 'embedding', index, embedding: [0.5] })),
      model: 'embed',
      usage: { prompt_tokens: input, total_tokens: input },
    }),
  gemini: ({ input }, texts) =>
    json({
      embeddings: Array.from({ length: texts }, () => ({ values: [0.5, -1] })),
      usageMetadata: { promptTokenCount: input },
    }),
  vertex: ({ input }, texts) =>
    json({
      predictions: Array.from({ length: texts }, (_, at) => ({
        embeddings: { values: [0.5], statistics: { token_count: at === 0 ? input : 0, truncated: false } },
      })),
    }),
  invoke: ({ input }) => json({ embedding: [0.5, 0.25], inputTextTokenCount: input }),
}

/** The count of a prompt, which nobody bills, as the vendors of messages, gemini and responses give it. */
export const counted = ({ input }: ScriptedReply): Written =>
  json({ input_tokens: input, totalTokens: input })
