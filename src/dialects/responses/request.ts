/**
 * Responses, the request: what a caller may send, what the meter needs from it, and what is ignored for vendors of
 * other dialects. By now the request is complete: what it named and we kept has been put in place, so anything that
 * still refers to storage is refused. Source of the format: OpenAI API reference, "Create a model response".
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Findings } from '../request/findings.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import { ignored, modelName, needed, object, type RequestOf, request } from '../request/request.ts'
import {
  any,
  flag,
  integer,
  list,
  meant,
  number,
  objects,
  type Shape,
  text,
  tokenBound,
  Wrong,
  word,
} from '../request/shape.ts'
import { addedBy } from './own-tools.ts'

/** A member that changes the vendor's bill beyond the listed price, or has another model do part of the work. */
const offeredAs = (...offered: readonly string[]) =>
  ignored<Shape<Json>>({
    check: (value) =>
      offered.some((one) => one === value)
        ? undefined
        : new Wrong(
            (name) =>
              `'${name}' is not sold with this value: it changes the vendor's bill beyond the listed price.`,
          ),
  })

/** A member that refers to something stored. */
const stored = (message: string): Shape<Json> => ({
  check: (value) => (value === false ? undefined : new Wrong(() => message)),
})

const NO_REFERENCES =
  'Nothing is stored here (RESPONSES_STORE is 0, or the call is paid for by itself): send the item ' +
  'itself, not a reference to it. Clients do so when they are told that nothing is ' +
  "stored: 'store: false' in the request (openai), in 'providerOptions.openai' (AI SDK), 'zdrEnabled: true' (LangChain)."

/** A reference to a reasoning item, by its id: the question is the same without the thought. */
const isThought = ({ type, id }: JsonObject): boolean =>
  type === 'item_reference' && typeof id === 'string' && id.startsWith('rs_')

/** The most tokens that the vendor adds around tools. */
const TOOLS_TEMPLATE = 1_000

const countTool = (_tool: JsonObject, found: Findings): void => {
  found.template = TOOLS_TEMPLATE
}

const countPart = (part: JsonObject, found: Findings): void => {
  if (part.type === 'input_image')
    found.picture(textOf(part.image_url) ?? textOf(objectOf(part.image_url).url) ?? '')
  else if (part.type === 'input_file') found.file(textOf(part.file_data))
}

/** An image of an earlier answer, by its address or in base64. */
const countMade = ({ result, output_format }: JsonObject, found: Findings): void => {
  const made = textOf(result) ?? ''
  if (/^https?:/.test(made)) found.address(made, true)
  else found.inline(`image/${textOf(output_format) ?? 'png'}`, made.length)
}

const parts = objects(
  object(
    {
      type: meant('string'),
      text: meant('string'),
      image_url: any,
      detail: meant('string'),
      file_data: meant('string'),
      file_url: meant('string'),
      filename: meant('string'),
      annotations: meant('array'),
      logprobs: meant('array'),
      refusal: meant('string'),
    },
    { loose: true, place: 'content.', seen: countPart },
  ),
)

const item = object(
  {
    type: meant('string'),
    role: meant('string'),
    content: parts,
    id: meant('string'),
    status: meant('string'),
    call_id: meant('string'),
    name: meant('string'),
    arguments: meant('string'),
    input: any,
    output: parts,
    summary: meant('array'),
    encrypted_content: meant('string'),
    result: meant('string'),
    output_format: meant('string'),
  },
  {
    place: 'input.',
    rule: (it) =>
      (it.type === 'item_reference' || (it.type === undefined && it.role === undefined)) && !isThought(it)
        ? new Wrong(() => NO_REFERENCES, '.type')
        : undefined,
    seen: (it, found) => {
      if (it.type === 'image_generation_call') countMade(it, found)
      if (it.tools !== undefined && addedBy(it).length > 0) found.template = TOOLS_TEMPLATE
    },
  },
)

const INPUT = () => "'input' is required: a text or a list of items that is not empty."
const items = list(item, { say: INPUT, empty: INPUT })

const input: Shape<string | readonly Json[]> = {
  ...items,
  check: (value, found) =>
    typeof value === 'string' && value !== '' ? undefined : items.check?.(value, found),
  schema: { anyOf: [{ type: 'string', minLength: 1 }, items.schema ?? {}] },
}

export const responsesRequest = request({
  model: modelName,
  instructions: text,
  temperature: number(0, 2),
  top_p: number(0, 1),
  max_output_tokens: tokenBound,
  stream: flag,
  tools: list(
    object(
      {
        type: meant('string'),
        name: meant('string'),
        description: meant('string'),
        parameters: meant('object'),
        strict: meant('boolean'),
        format: meant('object'),
      },
      {
        named: 'type',
        place: 'tools.',
        placeOf: ({ type }) => type === 'function' || type === 'custom',
        seen: countTool,
      },
    ),
  ),
  tool_choice: any,
  parallel_tool_calls: flag,
  text: object({ format: meant('object') }, { place: 'text.' }),
  reasoning: object(
    { effort: meant('string'), summary: meant('string'), mode: offeredAs('standard') },
    { place: 'reasoning.' },
  ),
  user: text,
  top_logprobs: integer(0, 20),
  include: meant('array'),
  max_tool_calls: ignored(integer(1)),
  store: meant('boolean'),
  service_tier: word(['auto', 'default', 'flex']),
  truncation: ignored(meant('string'), 'disabled'),
  prompt_cache_options: ignored(object({ ttl: offeredAs('30m') })),
  access_programs: offeredAs(),
  moderation: offeredAs(),
  previous_response_id: ignored(
    stored(
      'Nothing is stored here (RESPONSES_STORE is 0, or the call is paid for by itself): leave ' +
        "'previous_response_id' out and send in 'input' the whole conversation, with the items " +
        "of each earlier response's 'output' in it ('store: false' asks for answers made for that).",
    ),
  ),
  conversation: ignored(
    stored(
      "Conversations are not stored here (RESPONSES_STORE is 0, or the call is paid for by itself): leave 'conversation' " +
        "out, and send its items in 'input'.",
    ),
  ),
  background: ignored(
    stored(
      "An answer in the background must be kept: that needs a key, 'store' that is not false, and RESPONSES_STORE " +
        "above 0. A socket keeps its own turns. Leave 'background' out, and use a stream for a long answer.",
    ),
    false,
  ),
  prompt: ignored(
    stored("Stored prompts are not known here: send their text in 'instructions' and 'input'."),
  ),
  input: needed(input, INPUT),
})

export type ResponsesRequest = RequestOf<typeof responsesRequest>
