/**
 * Interactions, the request: what a caller may send, what the meter needs from it, and what is ignored for vendors of
 * other dialects. By now the request is complete: what it named and we kept has been put in place. Source of the format:
 * npm @google/genai 3.3.0, `CreateModelInteraction`; Gemini API reference, "Creating an interaction".
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { QUERIES_HELD, TOOLS_TEMPLATE } from '../gemini/request.ts'
import type { Findings } from '../request/findings.ts'
import { callId, signature } from '../request/foreign.ts'
import { textOf, textsOf } from '../request/json-members.ts'
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
  list,
  meant,
  number,
  type Shape,
  text,
  tokenBound,
  Wrong,
  word,
} from '../request/shape.ts'

/** Pieces of what is said. */
export const contentTypes: ReadonlySet<Json | undefined> = new Set([
  'text',
  'image',
  'audio',
  'document',
  'video',
])

/** What a content without a media type is, by its own type. */
const usualTypes: Readonly<Record<string, string>> = {
  image: 'image/png',
  audio: 'audio/wav',
  document: 'application/pdf',
  video: 'video/mp4',
}

/** The media type of a content. */
export const mediaTypeIn = ({ type, mime_type }: JsonObject): string =>
  textOf(mime_type) ?? usualTypes[textOf(type) ?? ''] ?? ''

const count = (it: JsonObject, found: Findings): void => {
  if (!contentTypes.has(it.type) || it.type === 'text') return
  if (typeof it.uri === 'string') found.address(it.uri, it.type === 'image')
  else found.inline(mediaTypeIn(it), textOf(it.data)?.length ?? 0)
}

const TYPED = (name: string) =>
  `'${name}' must be an object with a non-empty string 'type', such as {"type": "text", "text": …}.`

const contentMembers = {
  type: meant('string'),
  text: meant('string'),
  data: meant('string'),
  uri: meant('string'),
  mime_type: meant('string'),
  resolution: meant('string'),
}

const content = object(contentMembers, { named: 'type', say: TYPED, place: 'content.', seen: count })
const contents = list(content)

/** A list of contents, or a value that its reader turns into text. */
const result: Shape<Json> = {
  ...(contents.addIgnored === undefined ? {} : { addIgnored: contents.addIgnored }),
  check: (value, found) => (Array.isArray(value) ? contents.check?.(value, found) : undefined),
  schema: { anyOf: [{ type: 'string' }, { type: 'object' }, contents.schema ?? {}] },
}

const item = object(
  {
    ...contentMembers,
    content: contents,
    summary: contents,
    signature,
    id: callId,
    call_id: callId,
    name: meant('string'),
    arguments: meant('object'),
    result,
    is_error: flag,
  },
  { named: 'type', say: TYPED, place: 'input.', seen: count },
)

const INPUT = () => "'input' is required: a text, a content, or a list of contents or of steps."
const items = list(item, { say: INPUT, empty: INPUT })
const input: Shape<string | JsonObject | readonly Json[]> = {
  addIgnored: (value, names) => items.addIgnored?.(Array.isArray(value) ? value : [value], names),
  check: (value, found) => {
    if (typeof value === 'string') return value === '' ? new Wrong(INPUT) : undefined
    return isObject(value) ? item.check?.(value, found) : items.check?.(value, found)
  },
  schema: { anyOf: [{ type: 'string', minLength: 1 }, item.schema ?? {}, items.schema ?? {}] },
}

/** Tools whose price is known: the caller's own, and of the vendor's code execution and the search of the web. */
const toolTypes: ReadonlySet<Json | undefined> = new Set(['function', 'code_execution', 'google_search'])

const notSold = ({ type, search_types }: JsonObject): Wrong | undefined => {
  if (!toolTypes.has(type))
    return new Wrong(
      () =>
        `The tool '${textOf(type)?.slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
      '.type',
    )
  return textsOf(search_types).every((one) => one === 'web_search')
    ? undefined
    : new Wrong((name) => `'${name}' is sold for 'web_search' alone.`).under('search_types')
}

const tools = list(
  object(
    {
      type: meant('string'),
      name: meant('string'),
      description: meant('string'),
      parameters: any,
      search_types: meant('array'),
    },
    {
      named: 'type',
      place: 'tools.',
      rule: notSold,
      seen: ({ type }, found) => {
        found.template = TOOLS_TEMPLATE
        if (type === 'code_execution') found.unknown()
        if (type === 'google_search') found.hosted(0, QUERIES_HELD)
      },
    },
  ),
)

const config = object(
  {
    temperature: number(0, 2),
    top_p: number(0, 1),
    seed: meant('integer'),
    stop_sequences: list(text),
    max_output_tokens: tokenBound,
    thinking_level: meant('string'),
    thinking_summaries: word(['auto', 'none']),
    tool_choice: any,
  },
  { place: 'generation_config.' },
)

/** What is refused by name, and why. */
const refused: Readonly<Record<string, string>> = {
  agent:
    'is not sold here: an agent makes calls of its own, and what they cost is not known beforehand. Name a model',
  agent_config: 'is not sold here, as agents are not. Name a model',
  cached_content: 'is not sold here: a stored context is billed by its time. Send the content with the call',
  environment: 'is not sold here: a machine at the vendor is billed by its time',
  webhook_config: "is not offered here: read the interaction with 'interactions.get' until it has ended",
  continuation_token: "is not known here: go on by 'previous_interaction_id'",
  previous_interaction_id:
    'names what is not stored (RESPONSES_STORE is 0, or the call is paid for by itself): leave it out, send ' +
    "'store: false', and give in 'input' the steps of the whole conversation",
  background:
    "needs a key, 'store' that is not false, and RESPONSES_STORE above 0, because the answer must be kept. Leave it out, " +
    'and use a stream for a long answer',
}

const refusedAs = (...names: readonly string[]) =>
  notOffered(
    names,
    (value) => value === false || value === '',
    (name) => `'${name}' ${refused[name]}.`,
  )

export const interactionsRequest = request({
  // First, so that a call of an agent is not told that its model is missing.
  ...refusedAs('agent', 'agent_config'),
  model: modelName,
  system_instruction: text,
  generation_config: config,
  tools,
  response_format: any,
  response_mime_type: text,
  response_modalities: list(text),
  stream: flag,
  store: meant('boolean'),
  service_tier: word(['standard', 'flex']),
  safety_settings: ignored(meant('array')),
  labels: ignored(meant('object')),
  ...refusedAs(...Object.keys(refused).slice(2)),
  input: needed(input, INPUT),
})

export type InteractionsRequest = RequestOf<typeof interactionsRequest>
