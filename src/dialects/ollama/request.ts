/** Ollama's chat and generate, the requests: what a caller may send. Source of the format: npm ollama 0.6.4, `ChatRequest`, `GenerateRequest`, `Options`. */
import type { Json, JsonObject } from '../../core/json-body.ts'
import { countTool } from '../chat/request.ts'
import { oneOrMoreTexts } from '../request/json-members.ts'
import { ignored, modelName, needed, notOffered, object, request } from '../request/request.ts'
import {
  any,
  flag,
  integer,
  list,
  meant,
  number,
  type Shape,
  such,
  text,
  textOr,
  word,
} from '../request/shape.ts'

const MEDIA_TYPES = { '/9j/': 'image/jpeg', R0lG: 'image/gif', UklG: 'image/webp' } as const

/** An image, which is base64 alone here, as an address. */
export const pictureOf = (data: string): string => {
  const [, type = 'image/png'] = Object.entries(MEDIA_TYPES).find(([start]) => data.startsWith(start)) ?? []
  return `data:${type};base64,${data}`
}

const texts = list(text)

const pictures: Shape<readonly string[]> = {
  ...texts,
  check: (value, found) => {
    const wrong = texts.check?.(value, found)
    if (wrong === undefined) for (const one of oneOrMoreTexts(value)) found.inline('image/png', one.length)
    return wrong
  },
}

const options = object(
  {
    num_predict: integer(-2),
    temperature: number(0, 2),
    top_p: number(0, 1),
    top_k: integer(0),
    seed: meant('integer'),
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    stop: textOr(list(text)),
  },
  { place: 'options.' },
)

const shared = {
  model: modelName,
  stream: flag,
  options,
  format: any,
  think: such<boolean | string>(
    (value) => typeof value === 'boolean' || value === 'low' || value === 'medium' || value === 'high',
    (name) => `'${name}' must be true, false, 'low', 'medium' or 'high'.`,
    { type: 'boolean' },
  ),
  logprobs: flag,
  top_logprobs: integer(0, 20),
  keep_alive: ignored(any),
}

const roles = ['system', 'user', 'assistant', 'tool'] as const
const ROLE = (name: string) => `'${name}' must be one of ${roles.join(', ')}.`
const MESSAGES = () => "'messages' is required: a list of messages."

const message = object(
  {
    role: needed(word(roles, ROLE), ROLE),
    content: text,
    thinking: text,
    images: pictures,
    tool_calls: list(
      object({ function: object({ name: text, arguments: meant('object') }, { named: 'name' }) }),
    ),
    tool_name: text,
    tool_call_id: text,
  },
  { place: 'messages.' },
)

const tool = object(
  {
    type: meant('string'),
    function: object(
      { name: meant('string'), description: meant('string'), parameters: meant('object'), type: any },
      { named: 'name', place: 'tools.' },
    ),
  },
  { place: 'tools.', seen: countTool },
)

export const ollamaChatRequest = request({
  ...shared,
  tools: list(tool),
  ...notOffered(
    ['prompt'],
    () => false,
    (name) => `'${name}' belongs to /api/generate.`,
  ),
  messages: needed(
    list(message, { say: MESSAGES, empty: () => "'messages' must hold at least one message." }),
    MESSAGES,
  ),
})

/** Asks for nothing: empty or off. */
const isNothing = (value: Json): boolean =>
  value === '' || value === false || value === 0 || (Array.isArray(value) && value.length === 0)

const PROMPT = () => "'prompt' is required: a string that is not empty."

export const ollamaGenerateRequest = request({
  ...shared,
  system: text,
  images: pictures,
  ...notOffered(
    ['suffix', 'template', 'raw', 'context', 'width', 'height', 'steps'],
    isNothing,
    (name) => `'${name}' is not offered here: models that answer in chat have no place for it.`,
  ),
  prompt: needed(
    such<string>((value) => typeof value === 'string' && value !== '', PROMPT, { type: 'string' }),
    PROMPT,
  ),
})

/** Whether a body asks to go on from a text; else it is a chat. */
export const isGenerate = ({ prompt }: JsonObject): boolean => typeof prompt === 'string'
