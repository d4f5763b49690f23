/** Cohere's chat, the request: what a caller may send. Source of the format: npm cohere-ai 8.1.0, `V2ChatRequest`. */
import type { JsonObject } from '../../core/json-body.ts'
import { countTool } from '../chat/request.ts'
import type { Findings } from '../request/findings.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import { ignored, modelName, needed, notOffered, object, request } from '../request/request.ts'
import { any, flag, integer, list, meant, number, text, textOr, tokenBound, word } from '../request/shape.ts'

const countPart = (part: JsonObject, found: Findings): void => {
  if (part.type === 'image_url') found.picture(textOf(objectOf(part.image_url).url) ?? '')
}

const part = object(
  {
    type: meant('string'),
    text: meant('string'),
    thinking: meant('string'),
    image_url: meant('object'),
    document: object({ data: any }, { place: 'document.' }),
  },
  { named: 'type', place: 'content.', seen: countPart },
)

const roles = ['system', 'user', 'assistant', 'tool'] as const
const ROLE = (name: string) => `'${name}' must be one of ${roles.join(', ')}.`
const MESSAGES = () => "'messages' is required: a list of messages."

const message = object(
  {
    role: needed(word(roles, ROLE), ROLE),
    content: textOr(list(part, { say: (name) => `'${name}' must be a string or a list of parts.` })),
    tool_calls: meant('array'),
    tool_call_id: meant('string'),
    tool_plan: text,
    citations: ignored(meant('array')),
  },
  { place: 'messages.' },
)

const tool = object(
  {
    type: meant('string'),
    function: object(
      { name: meant('string'), description: meant('string'), parameters: meant('object') },
      { named: 'name', place: 'tools.' },
    ),
  },
  { place: 'tools.', seen: countTool },
)

export const cohereRequest = request({
  model: modelName,
  stream: flag,
  max_tokens: tokenBound,
  temperature: number(0, 2),
  p: number(0, 1),
  k: integer(0, 500),
  seed: meant('integer'),
  frequency_penalty: number(0, 1),
  presence_penalty: number(0, 1),
  stop_sequences: list(text),
  tools: list(tool),
  tool_choice: word(['REQUIRED', 'NONE']),
  strict_tools: flag,
  response_format: object({}, { named: 'type' }),
  thinking: object({ type: word(['enabled', 'disabled']), token_budget: integer(0) }, { place: 'thinking.' }),
  logprobs: ignored(flag, false),
  safety_mode: ignored(text),
  citation_options: ignored(object({})),
  priority: ignored(integer(0)),
  ...notOffered(
    ['documents'],
    (value) => Array.isArray(value) && value.length === 0,
    (name) =>
      `'${name}' is not offered here: put the documents into a message, or give them as a tool's result.`,
  ),
  messages: needed(
    list(message, { say: MESSAGES, empty: () => "'messages' must hold at least one message." }),
    MESSAGES,
  ),
})
