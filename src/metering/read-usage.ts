/**
 * Reads a vendor's usage: inclusive totals become disjoint classes. A missing or absurd usage does not count: then the
 * meter estimates, and says so.
 * Source of the format: OpenAI API reference, "CompletionUsage".
 */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import type { Mutable } from '../core/mutable.ts'
import { COUNT_MAX, type Usage } from '../core/usage.ts'

/** How a vendor reports usage, where it differs from the dialect's own way. */
export type UsageQuirks = {
  /** Where a stream or an answer carries the usage; `top` is the dialect's usual place. */
  readonly usageAt?: 'top' | 'x_groq' | 'choice'
  /** True when `completion_tokens` leaves out the reasoning tokens. */
  readonly reasoningApart?: boolean
}

/** A count that is present and plausible; undefined otherwise. */
const count = (value: Json | undefined): number | undefined | 'absurd' => {
  if (value === undefined || value === null) return undefined
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= COUNT_MAX
    ? value
    : 'absurd'
}

/** Reads a usage object of this vendor. */
export const readUsage = (raw: JsonObject, quirks: UsageQuirks): Usage | undefined => {
  const prompt = isObject(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {}
  const completion = isObject(raw.completion_tokens_details) ? raw.completion_tokens_details : {}
  const input = count(raw.prompt_tokens)
  const output = count(raw.completion_tokens) ?? 0
  // DeepSeek reports cache hits beside the totals, Moonshot under a name of its own, the others in the details.
  const cacheRead = count(prompt.cached_tokens ?? raw.prompt_cache_hit_tokens ?? raw.cached_tokens) ?? 0
  const cacheWrite = count(prompt.cache_write_tokens ?? prompt.cache_creation_tokens) ?? 0
  const inputAudio = count(prompt.audio_tokens) ?? 0
  const reasoning = count(completion.reasoning_tokens ?? raw.reasoning_tokens) ?? 0
  const outputAudio = count(completion.audio_tokens) ?? 0
  if (
    input === undefined ||
    input === 'absurd' ||
    output === 'absurd' ||
    cacheRead === 'absurd' ||
    cacheWrite === 'absurd'
  )
    return undefined
  if (inputAudio === 'absurd' || reasoning === 'absurd' || outputAudio === 'absurd') return undefined
  const plainInput = input - cacheRead - cacheWrite - inputAudio
  const plainOutput = output - outputAudio - (quirks.reasoningApart === true ? 0 : reasoning)
  if (plainInput < 0 || plainOutput < 0) return undefined
  return present({
    input: plainInput,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    input_audio: inputAudio,
    output: plainOutput,
    reasoning,
    output_audio: outputAudio,
  })
}

/** Leaves out zeros, but keeps an explicit zero of input, because it shows that the vendor did report. */
const present = (usage: Usage & { readonly input: number }): Usage => {
  const kept: Mutable<Usage> = { input: usage.input }
  for (const name of COUNTED) {
    const units = usage[name] ?? 0
    if (units > 0) kept[name] = units
  }
  return kept
}

const COUNTED = ['cache_read', 'cache_write', 'input_audio', 'output', 'reasoning', 'output_audio'] as const

type UsageFinder = (event: JsonObject) => JsonObject | undefined

const onTop: UsageFinder = (event) => (isObject(event.usage) ? event.usage : undefined)

/** Groq reports streams in `x_groq.usage`. */
const underGroq: UsageFinder = (event) =>
  onTop(event) ?? (isObject(event.x_groq) && isObject(event.x_groq.usage) ? event.x_groq.usage : undefined)

/** Moonshot reports streams in the last choice. */
const onChoice: UsageFinder = (event) => {
  const top = onTop(event)
  if (top !== undefined || !Array.isArray(event.choices)) return top
  for (const choice of event.choices) if (isObject(choice) && isObject(choice.usage)) return choice.usage
  return undefined
}

const finders = { top: onTop, x_groq: underGroq, choice: onChoice } as const

export const usageFinder = (quirks: UsageQuirks | undefined): UsageFinder => finders[quirks?.usageAt ?? 'top']
