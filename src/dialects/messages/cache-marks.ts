/**
 * Marks for the vendor's cache, on calls whose dialect has none. An agent sends the same long beginning with each turn,
 * and from the second turn on pays a tenth for it. Writing to the cache costs a quarter more, so we only mark what will
 * come again. Source: Anthropic, "Prompt caching" (four marks per request; a minimum length per model, below which a
 * mark has no effect).
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Conversation } from '../neutral.ts'
import { listOf } from '../request/json-members.ts'
import { unsupportedIn } from '../translate/unsupported.ts'
import type { Target } from '../translate/vendor-call.ts'

/** The fewest tokens that are cached, for models that need fewer than today's. */
const minima: readonly (readonly [RegExp, number])[] = [
  [/claude-(?:sonnet-4-5|opus-4-1|3-7-sonnet|(?:opus|sonnet)-4-(?:0|20\d{6}))/, 1_024],
  [/claude-(?:sonnet-4-6|3-5-haiku|3-haiku)/, 2_048],
]
const USUAL_MINIMUM = 4_096

const minimumOf = (upstreamName: string): number =>
  minima.find(([pattern]) => pattern.test(upstreamName))?.[1] ?? USUAL_MINIMUM

/**
 * Hardly any text has fewer letters per token. A shorter text is not marked; a mark on a slightly longer one may have
 * no effect.
 */
const LETTERS_A_TOKEN = 4

/** Whether there are tools or an earlier answer: then the next call will begin like this one. */
const comesAgain = ({ tools, turns }: Conversation): boolean =>
  tools.length > 0 || turns.some(({ role }) => role === 'assistant')

/** The body with marks on its tools, its system and the user's two latest turns, if that pays. */
export const withCacheMarks = (body: JsonObject, it: Conversation, { model, quirks }: Target): JsonObject => {
  if (quirks.cacheMarks !== true || !comesAgain(it) || unsupportedIn(it, ['cache_control']).length > 0)
    return body
  if (JSON.stringify(body).length < minimumOf(model.upstreamName) * LETTERS_A_TOKEN) return body
  const messages = listOf(body.messages)
  const ofUser = messages.flatMap((message, index) =>
    isObject(message) && message.role === 'user' ? [index] : [],
  )
  const latest = new Set(ofUser.slice(-2))
  return {
    ...body,
    ...(body.system === undefined ? {} : { system: lastMarked(body.system) }),
    ...(body.tools === undefined ? {} : { tools: lastMarked(body.tools) }),
    messages: messages.map((message, index) =>
      latest.has(index) && isObject(message) ? { ...message, content: lastMarked(message.content) } : message,
    ),
  }
}

const lastMarked = (blocks: Json | undefined): Json => {
  const all = listOf(blocks)
  const last = all.at(-1)
  return isObject(last)
    ? [...all.slice(0, -1), { ...last, cache_control: { type: 'ephemeral' } }]
    : (blocks ?? null)
}
