/**
 * Completions of a text, the older form of chat completions: what a caller may send, read as a conversation of one
 * message. Source of the format: OpenAI API reference, "Create completion" (legacy).
 */
import { type Json, present } from '../../core/json-body.ts'
import { callsOver, conversationsOver } from '../over-chat.ts'
import { numberOf, objectOf } from '../request/json-members.ts'
import { ignored, modelName, needed, notOffered, object, request } from '../request/request.ts'
import {
  flag,
  integer,
  list,
  meant,
  number,
  type Shape,
  text,
  textOr,
  tokenBound,
  Wrong,
} from '../request/shape.ts'

const PROMPT = () => "'prompt' is required: a string."

/** One text; several would be several calls. */
const prompt: Shape<string | readonly string[]> = {
  check: (value) => {
    const [one, ...more] = [value].flat() as readonly Json[]
    return typeof one === 'string' && more.length === 0
      ? undefined
      : new Wrong(() => "'prompt' must be one string: send each text in a call of its own, and no tokens.")
  },
  schema: { type: 'string' },
}

const NOT_HERE = (name: string) =>
  `'${name}' is not offered here: models that answer in chat have no place for it.`

/** Asks for nothing: absent, empty, off, or one. */
const isNothing = (value: Json): boolean => value === '' || value === false || value === 1

export const completionsRequest = request({
  model: modelName,
  max_tokens: tokenBound,
  temperature: number(0, 2),
  top_p: number(0, 1),
  n: integer(1, 128),
  seed: meant('integer'),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  stop: textOr(list(text)),
  stream: flag,
  stream_options: object({ include_usage: meant('boolean') }, { place: 'stream_options.' }),
  user: text,
  logprobs: ignored(integer(0, 5)),
  logit_bias: ignored(object({})),
  ...notOffered(['suffix', 'echo', 'best_of'], isNothing, NOT_HERE),
  prompt: needed(prompt, PROMPT),
})

const description = () => completionsRequest

/** The bound of a request that names none. */
const BOUND = 16

/** Reads and checks a body. */
export const decodeCompletionsCall = callsOver('completions', description, (value) => ({
  stream: value.stream === true,
  showUsage: objectOf(value.stream_options).include_usage === true,
  maxOutput: numberOf(value.max_tokens) ?? BOUND,
  choices: numberOf(value.n) ?? 1,
}))

/** Reads a body that `decodeCompletionsCall` has checked. */
export const readCompletions = conversationsOver(description, (body) =>
  present({
    messages: [{ role: 'user', content: [body.prompt].flat()[0] ?? '' }],
    max_tokens: body.max_tokens ?? BOUND,
    temperature: body.temperature,
    top_p: body.top_p,
    n: body.n,
    seed: body.seed,
    presence_penalty: body.presence_penalty,
    frequency_penalty: body.frequency_penalty,
    stop: body.stop,
    user: body.user,
  }),
)
