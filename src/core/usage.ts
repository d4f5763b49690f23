/**
 * Usage: what a call consumed, in classes that never overlap.
 *
 * Vendors report inclusive totals in different ways; inside Turnpike a token belongs to exactly one class, so a price
 * list times a usage is a sum without corrections. Inclusive totals exist only where a dialect writes them.
 */

/** What is counted in tokens of the input. A sum over them is `inputTokens`. */
export const inputClasses = [
  'input',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'input_audio',
  'cache_read_audio',
  'input_image',
] as const

/** What is counted in tokens. */
export const tokenClasses = [...inputClasses, 'output', 'reasoning', 'output_audio', 'output_image'] as const

export const usageClasses = [
  ...tokenClasses,
  'call',
  // Not counted in tokens; `cost` counts nano-USD of the vendor's own bill.
  'image',
  'pixel',
  'video_ms',
  'audio_ms',
  'character',
  'page',
  'search',
  // A search of a model's vendor, beside its tokens.
  'web_search',
  'song',
  'credit',
  'cost',
] as const

export type UsageClass = (typeof usageClasses)[number]

/** Units per class; an absent class was not used. Counts are non-negative safe integers. */
export type Usage = { readonly [Class in UsageClass]?: number }

/** Who counted: the vendor, or Turnpike when the vendor gave no figure or an absurd one. */
export type MeteredUsage = { readonly usage: Usage; readonly estimated: boolean }

export const inputTokens = (usage: Usage): number =>
  (usage.input ?? 0) +
  (usage.cache_read ?? 0) +
  (usage.cache_write ?? 0) +
  (usage.cache_write_1h ?? 0) +
  (usage.input_audio ?? 0) +
  (usage.cache_read_audio ?? 0) +
  (usage.input_image ?? 0)

/** Of the tokens of the input, those that a vendor read from its cache. */
export const cachedTokens = (usage: Usage): number => (usage.cache_read ?? 0) + (usage.cache_read_audio ?? 0)

export const outputTokens = (usage: Usage): number =>
  (usage.output ?? 0) + (usage.reasoning ?? 0) + (usage.output_audio ?? 0) + (usage.output_image ?? 0)

/** More tokens than any call has: a larger count is a fault, not a bill. */
export const COUNT_MAX = 1_000_000_000

/** What a vendor counted, without zeros but with its input, which shows that it did report; undefined if a count is absurd. */
export const soundUsage = (counts: Usage): Usage | undefined =>
  Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0 && count <= COUNT_MAX)
    ? Object.fromEntries(Object.entries(counts).filter(([name, count]) => name === 'input' || count > 0))
    : undefined
