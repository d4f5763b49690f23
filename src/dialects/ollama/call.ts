/** Ollama's chat and generate, requests → chat completions → neutral form. Source of the format: npm ollama 0.6.4, `ChatRequest`, `GenerateRequest`. */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { callsOver, conversationsOver } from '../over-chat.ts'
import { numberOf, objectOf, objectsOf, oneOrMoreTexts, textOf } from '../request/json-members.ts'
import { isGenerate, ollamaChatRequest, ollamaGenerateRequest, pictureOf } from './request.ts'

/** A bound on the answer's tokens: below one it says that there is none. */
const boundIn = (options: Json | undefined): number | undefined => {
  const bound = numberOf(objectOf(options).num_predict)
  return bound === undefined || bound < 1 ? undefined : bound
}

const callsAs = (description: typeof ollamaChatRequest | typeof ollamaGenerateRequest) =>
  callsOver(
    'ollama',
    () => description,
    ({ stream, options }) =>
      // Here an answer is a stream unless the request says otherwise.
      present({
        stream: stream !== false,
        maxOutput: boundIn(options),
        streamType: 'application/x-ndjson' as const,
      }),
  )

/** Reads and checks a body of `/api/chat`. */
export const decodeOllamaChat = callsAs(ollamaChatRequest)

/** Reads and checks a body of `/api/generate`. */
export const decodeOllamaGenerate = callsAs(ollamaGenerateRequest)

/** Reads a body that one of them has checked. */
export const readOllama = conversationsOver(
  (body) => (isGenerate(body) ? ollamaGenerateRequest : ollamaChatRequest),
  (body) => {
    const { think } = body
    const options = objectOf(body.options)
    return present({
      messages: isGenerate(body) ? asked(body) : chatMessages(objectsOf(body.messages)),
      tools: body.tools,
      response_format: formatOf(body.format),
      max_tokens: boundIn(options),
      temperature: options.temperature,
      top_p: options.top_p,
      top_k: options.top_k === 0 ? undefined : options.top_k,
      seed: options.seed,
      stop: options.stop,
      presence_penalty: options.presence_penalty,
      frequency_penalty: options.frequency_penalty,
      logprobs: body.logprobs,
      top_logprobs: body.top_logprobs,
      reasoning:
        think === undefined ? undefined : typeof think === 'string' ? { effort: think } : { enabled: think },
    })
  },
)

const formatOf = (format: Json | undefined): JsonObject | undefined => {
  if (format === 'json') return { type: 'json_object' }
  return Object.keys(objectOf(format)).length === 0
    ? undefined
    : { type: 'json_schema', json_schema: { name: 'answer', schema: format } }
}

const asked = ({ system, prompt, images }: JsonObject): readonly JsonObject[] => [
  ...(textOf(system) ? [{ role: 'system', content: system }] : []),
  { role: 'user', content: contentOf(prompt, images) },
]

const contentOf = (text: Json | undefined, images: Json | undefined): readonly JsonObject[] => [
  ...(textOf(text) ? [{ type: 'text', text }] : []),
  ...oneOrMoreTexts(images).map((one) => ({ type: 'image_url', image_url: { url: pictureOf(one) } })),
]

type Queue = { readonly ids: string[]; next: number }

/** Calls have no ids in older clients: a result is that of the first call with its name, else of the first of all. */
class OpenCalls {
  readonly #all: Queue = { ids: [], next: 0 }
  readonly #named = new Map<string, Queue>()
  readonly #answered = new Set<string>()
  #made = 0

  /** Notes a call; returns its id. */
  add(given: string | undefined, name: string): string {
    const id = given || `call_${++this.#made}`
    const named = this.#named.get(name) ?? { ids: [], next: 0 }
    this.#named.set(name, named)
    named.ids.push(id)
    this.#all.ids.push(id)
    return id
  }

  /** The id of the call that a result answers. */
  idFor(given: string | undefined, name: string | undefined): string {
    const id = given ?? this.#next(name === undefined ? this.#all : this.#named.get(name)) ?? ''
    this.#answered.add(id)
    return id
  }

  #next(queue: Queue | undefined): string | undefined {
    while (queue !== undefined && queue.next < queue.ids.length) {
      const id = queue.ids[queue.next++]
      if (id !== undefined && !this.#answered.has(id)) return id
    }
    return undefined
  }
}

const chatMessages = (messages: readonly JsonObject[]): readonly JsonObject[] => {
  const open = new OpenCalls()
  return messages.map(({ role, content, images, thinking, tool_calls, tool_call_id, tool_name }) => {
    if (role === 'tool') {
      const id = open.idFor(textOf(tool_call_id), textOf(tool_name))
      return present({ role, content: contentOf(content, images), tool_call_id: id, name: tool_name })
    }
    const calls = objectsOf(tool_calls).map((call) => {
      const { name, arguments: args } = objectOf(call.function)
      const id = open.add(textOf(call.id), textOf(name) ?? '')
      return { id, type: 'function', function: { name, arguments: JSON.stringify(args ?? {}) } }
    })
    return present({
      role,
      content: contentOf(content, images),
      reasoning_content: role === 'assistant' ? thinking : undefined,
      tool_calls: calls.length === 0 ? undefined : calls,
    })
  })
}
