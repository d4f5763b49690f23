/**
 * Chat completions, the request: what a caller may send, what the meter needs from it, and what is ignored for vendors
 * of other dialects. Source of the format: OpenAI API reference, "Create chat completion".
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Findings } from '../request/findings.ts'
import { callId, signature } from '../request/foreign.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import {
  ignored,
  modelName,
  needed,
  notOffered,
  object,
  type RequestOf,
  request,
} from '../request/request.ts'
import {
  any,
  flag,
  integer,
  list,
  meant,
  number,
  objects,
  text,
  textOr,
  tokenBound,
  Wrong,
  word,
} from '../request/shape.ts'

/** The most tokens that the vendor adds around tools. */
const TOOLS_TEMPLATE = 1_000

/** Counts what the vendor adds around tools. */
export const countTool = (_tool: JsonObject, found: Findings): void => {
  found.template = TOOLS_TEMPLATE
}

const declared = {
  name: meant('string'),
  description: meant('string'),
  parameters: meant('object'),
  strict: meant('boolean'),
}

/** Tools that the caller runs itself. The cost of tools that a vendor runs is not known beforehand. */
const tool = object(
  { type: meant('string'), function: object(declared, { loose: true, place: 'tools.' }) },
  {
    named: 'type',
    place: 'tools.',
    placeOf: ({ type }) => type === 'function',
    rule: ({ type }) =>
      type === 'function' || type === 'custom'
        ? undefined
        : new Wrong(
            () =>
              `The tool '${String(type).slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
            '.type',
          ),
    seen: countTool,
  },
)

/** Inlined media is measured apart from text: its base64 characters are not tokens. */
const countPart = (part: JsonObject, found: Findings): void => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      break
    case 'image_url':
      found.picture(textOf(part.image_url) ?? textOf(objectOf(part.image_url).url) ?? '')
      break
    case 'input_audio': {
      const { data, format } = objectOf(part.input_audio)
      if (typeof data === 'string') found.inline(`audio/${textOf(format) ?? 'wav'}`, data.length)
      else found.unknown()
      break
    }
    case 'file':
      found.file(textOf(objectOf(part.file).file_data))
      break
    default:
      found.unknown()
  }
}

const part = object(
  {
    type: meant('string'),
    text: meant('string'),
    image_url: any,
    input_audio: meant('object'),
    file: meant('object'),
    refusal: meant('string'),
    thinking: any,
    cache_control: meant('object'),
  },
  { named: 'type', place: 'content.', seen: countPart },
)

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
const ROLE = (name: string) => `'${name}' must be one of ${roles.join(', ')}.`

/** Members in which vendors send their reasoning, and clients send it back. */
const reasoningMembers = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

export const holdsReasoning = (message: Json): message is JsonObject =>
  isObject(message) && reasoningMembers.some((name) => message[name] !== undefined)

const message = object(
  {
    role: needed(word(roles, ROLE), ROLE),
    content: textOr(list(part, { say: (name) => `'${name}' must be a string or a list of parts.` })),
    name: meant('string'),
    tool_calls: objects(object({ id: callId })),
    tool_call_id: callId,
    function_call: meant('object'),
    refusal: meant('string'),
    audio: object({}, { loose: true, seen: (_audio, found) => found.unknown() }),
    images: objects(object({}, { seen: countPart })),
    reasoning_content: meant('string'),
    reasoning: meant('string'),
    reasoning_details: objects(object({ data: signature, signature })),
    annotations: meant('array'),
  },
  {
    say: (name) => `'${name}' must be an object with 'role' and 'content'.`,
    place: 'messages.',
    rule: ({ role, content }) =>
      (content ?? null) !== null || role === 'assistant' || role === 'function'
        ? undefined
        : new Wrong((name) => `'${name}' is required for role '${role}'.`).under('content'),
    seen: (it, found) => {
      if (holdsReasoning(it)) found.thoughts = true
    },
  },
)

/**
 * Members by which a vendor bills for more than tokens, or uses another model than the one we priced. They are refused
 * by name, because nobody held money for an unpriced search or a re-routed model.
 */
const unpriced = notOffered(
  [
    'web_search_options',
    'search_parameters',
    'enable_search',
    'web_search',
    'plugins',
    'models',
    'route',
    'provider',
    // Predicted text that the answer does not use is billed as additional output.
    'prediction',
    'search_settings',
    'search_options',
    'search_type',
    'enable_code_interpreter',
    'safety_model',
    'best_of',
    'use_beam_search',
    'num_beams',
    'extra_body',
    // These reach beyond the call: searches in stored documents, answers that come later or elsewhere.
    'data_sources',
    'deferred',
    'callback_url',
    'webhook_url',
  ],
  (value) => value === false,
  (name) => `'${name}' is not sold here: it changes the model or the vendor's bill beyond the listed price.`,
)

const MESSAGES = () => "'messages' is required: a list of messages."

export const chatRequest = request(
  {
    model: modelName,
    temperature: number(0, 2),
    top_p: number(0, 1),
    top_k: meant('number'),
    seed: meant('integer'),
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    max_tokens: tokenBound,
    max_completion_tokens: tokenBound,
    n: integer(1, 128),
    stream: flag,
    stream_options: object({ include_usage: meant('boolean') }, { place: 'stream_options.' }),
    stop: textOr(list(text)),
    logprobs: flag,
    top_logprobs: integer(0, 20),
    user: text,
    functions: list(object(declared, { named: 'name', place: 'tools.', seen: countTool })),
    function_call: any,
    tools: list(tool),
    tool_choice: any,
    parallel_tool_calls: flag,
    response_format: object({}, { named: 'type' }),
    reasoning_effort: meant('string'),
    reasoning: object(
      {
        effort: meant('string'),
        max_tokens: meant('integer'),
        exclude: meant('boolean'),
        enabled: meant('boolean'),
      },
      { loose: true, place: 'reasoning.' },
    ),
    modalities: meant('array'),
    logit_bias: ignored(object({})),
    store: ignored(meant('boolean'), false),
    // A faster tier costs more than the list price; a cheaper one chooses the discounted model.
    service_tier: word(['auto', 'default', 'flex']),
    ...unpriced,
    messages: needed(
      list(message, { say: MESSAGES, empty: () => "'messages' must hold at least one message." }),
      MESSAGES,
    ),
  },
  {
    rule: ({ max_tokens, max_completion_tokens }) =>
      typeof max_tokens === 'number' &&
      typeof max_completion_tokens === 'number' &&
      max_tokens !== max_completion_tokens
        ? new Wrong(
            () => "'max_tokens' and 'max_completion_tokens' name different bounds; send one of them.",
          ).under('max_completion_tokens')
        : undefined,
  },
)

export type ChatRequest = RequestOf<typeof chatRequest>
