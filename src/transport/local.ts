/**
 * The built-in vendor, as something to fetch from, in process: answers in the shapes of chat completions and
 * embeddings. Products that are not chat are in local-media.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../core/json-body.ts'
import { invalid, Refusal, refusalBody, refuse } from '../core/refusal.ts'
import { answerLocally, type LocalAnswer, type LocalReply } from '../vendors/local/chat.ts'
import { embedLocally, LOCAL_DIMENSIONS } from '../vendors/local/embeddings.ts'
import { CONTEXT_TOKENS } from '../vendors/local/local.ts'
import { countTokens, tokensOf } from '../vendors/local/words.ts'
import type { VendorFetch } from '../vendors/setup.ts'
import { serveMedia } from './local-media/serve.ts'

const media = serveMedia()

/** Answers as a vendor would. The same body always gets the same answer. */
export const localFetch: VendorFetch = (url, init, asker) =>
  url.startsWith('local:/media/') ? media(url, init, asker) : chatAnswer(url, init)

const chatAnswer: VendorFetch = (url, init) =>
  answered(url, init).catch((thrown) => {
    if (!(thrown instanceof Refusal)) throw thrown
    return Response.json(refusalBody(thrown, ''), { status: 400 })
  })

/** Gives everyone else a turn: work that others started, and what arrived over the network. */
const others = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Runs work that pauses by itself, giving others a turn at each pause. */
const inSlices = async <T>(work: Generator<undefined, T>): Promise<T> => {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await others()
  }
}

const answered: VendorFetch = async (url, init) => {
  const text = await new Response(init.body ?? '').text()
  const body = parseJson(text)
  if (!isObject(body)) return new Response('{}', { status: 400 })
  if (url.endsWith('/embeddings')) return Response.json(await inSlices(embeddings(body)))
  const reply = answerLocally(body)
  const id = idOf(text)
  return body.stream === true
    ? streamed(id, body, reply, init.signal ?? undefined)
    : Response.json(whole(id, body, reply))
}

/** Clients tell the answers of a conversation apart by their ids; the same body still gets the same one. */
const idOf = (text: string): string => `chatcmpl-local${Bun.hash(text).toString(16)}`

const headOf = (id: string, body: JsonObject, object: string) => ({
  id,
  object,
  created: 0,
  model: body.model ?? null,
})

const usageOf = (reply: LocalReply) => ({
  prompt_tokens: reply.promptTokens,
  completion_tokens: reply.completionTokens,
  total_tokens: reply.promptTokens + reply.completionTokens,
})

const whole = (id: string, body: JsonObject, reply: LocalReply) => ({
  ...headOf(id, body, 'chat.completion'),
  choices: Array.from({ length: reply.choices }, (_, index) => ({
    index,
    message: messageOf(body, reply.answer),
    finish_reason: finishOf(body, reply.answer),
  })),
  usage: usageOf(reply),
})

/** For the older `functions` it names one function call in place of a list of tool calls. */
const isLegacy = (body: JsonObject): boolean => Array.isArray(body.functions)

const finishOf = (body: JsonObject, answer: LocalAnswer): string =>
  answer.finish === 'tool_calls' && isLegacy(body) ? 'function_call' : answer.finish

const messageOf = (body: JsonObject, answer: LocalAnswer) => {
  const content = answer.tools.length > 0 ? null : answer.text
  const [first] = answer.tools
  if (first === undefined) return { role: 'assistant', content, refusal: null }
  if (isLegacy(body))
    return { role: 'assistant', content, function_call: { name: first.name, arguments: first.arguments } }
  const tool_calls = answer.tools.map(({ id, ...called }) => ({ id, type: 'function', function: called }))
  return { role: 'assistant', content, tool_calls }
}

/** Events in a row, a few microseconds each. */
const EVENTS_A_TURN = 32

const streamed = (
  id: string,
  body: JsonObject,
  reply: LocalReply,
  signal: AbortSignal | undefined,
): Response => {
  const encoder = new TextEncoder()
  const events = eventsOf(id, body, reply)
  let sent = 0
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      // Its reader never waits for a network, so without this pause nobody else would have a turn until the end.
      if (++sent % EVENTS_A_TURN === 0) await others()
      const next = events.next()
      if (next.done === true || signal?.aborted === true) controller.close()
      else controller.enqueue(encoder.encode(`data: ${next.value}\n\n`))
    },
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}

function* eventsOf(id: string, body: JsonObject, reply: LocalReply): Generator<string> {
  const head = headOf(id, body, 'chat.completion.chunk')
  const event = (index: number, delta: object, finish_reason: string | null = null) =>
    JSON.stringify({ ...head, choices: [{ index, delta, finish_reason }] })
  const { answer } = reply
  for (let index = 0; index < reply.choices; index++) {
    yield event(index, { role: 'assistant', content: answer.tools.length > 0 ? null : '' })
    for (const token of tokensOf(answer.text)) yield event(index, { content: token })
    for (const delta of toolDeltas(body, answer)) yield event(index, delta)
    yield event(index, {}, finishOf(body, answer))
  }
  const options = body.stream_options
  if (isObject(options) && options.include_usage === true)
    yield JSON.stringify({ ...head, choices: [], usage: usageOf(reply) })
  yield '[DONE]'
}

/** Arguments arrive in two pieces, as vendors send them. */
function* toolDeltas(body: JsonObject, answer: LocalAnswer): Generator<object> {
  for (const [index, tool] of answer.tools.entries()) {
    const half = Math.ceil(tool.arguments.length / 2)
    const pieces = [tool.arguments.slice(0, half), tool.arguments.slice(half)]
    if (isLegacy(body)) {
      yield { function_call: { name: tool.name, arguments: '' } }
      for (const piece of pieces) yield { function_call: { arguments: piece } }
      return
    }
    yield {
      tool_calls: [{ index, id: tool.id, type: 'function', function: { name: tool.name, arguments: '' } }],
    }
    for (const piece of pieces) yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}

/** How much the inputs of one call may contain together, and how many numbers its answer may have. */
const INPUT_TOKENS = 2 * CONTEXT_TOKENS
const NUMBERS_MAX = 131_072

function* embeddings(body: JsonObject) {
  const inputs = inputsOf(body.input)
  const dimensions = typeof body.dimensions === 'number' ? body.dimensions : LOCAL_DIMENSIONS
  if (inputs.length * dimensions > NUMBERS_MAX) {
    const field = inputs.length > NUMBERS_MAX / LOCAL_DIMENSIONS ? 'input' : 'dimensions'
    throw invalid(
      field,
      `'${field}' is too large: the built-in model answers with at most ${NUMBERS_MAX} numbers in all.`,
    )
  }
  const tokens = countInputs(inputs)
  const data = []
  for (const [index, input] of inputs.entries()) {
    const vector = yield* embedLocally(input, dimensions)
    const embedding = body.encoding_format === 'base64' ? base64(vector) : [...vector]
    data.push({ object: 'embedding', index, embedding })
    yield
  }
  return {
    object: 'list',
    data,
    model: body.model ?? null,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

const countInputs = (inputs: readonly (string | readonly number[])[]): number => {
  let tokens = 0
  for (const input of inputs) {
    tokens += typeof input === 'string' ? countTokens(input, INPUT_TOKENS + 1) : input.length
    if (tokens > INPUT_TOKENS)
      throw refuse(
        'context_length_exceeded',
        `'input' may hold at most ${INPUT_TOKENS} tokens for the built-in model.`,
      )
  }
  return tokens
}

/** Little-endian floats, as the official clients request them. */
const base64 = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')

const inputsOf = (input: Json | undefined): readonly (string | readonly number[])[] => {
  const numbers = (list: readonly Json[]): readonly number[] => list.filter((one) => typeof one === 'number')
  if (!Array.isArray(input)) return [typeof input === 'string' ? input : '']
  if (input.every((one) => typeof one === 'number')) return [numbers(input)]
  return input.map((one) => (Array.isArray(one) ? numbers(one) : String(one)))
}
