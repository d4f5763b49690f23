/** Responses, usage in both directions. Source of the format: OpenAI API reference, "The response object", `usage`. */
import type { JsonObject } from '../../core/json-body.ts'
import { cachedTokens, inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import { readUsage, type UsageQuirks } from '../../metering/read-usage.ts'
import { numberOf, objectOf, objectsOf } from '../request/json-members.ts'

/** Reads a vendor's usage, whose totals are inclusive like those of chat completions; undefined when it is not one. */
export const readResponsesUsage = (raw: JsonObject, quirks: UsageQuirks): Usage | undefined =>
  readUsage(
    {
      prompt_tokens: raw.input_tokens,
      prompt_tokens_details: raw.input_tokens_details,
      completion_tokens: raw.output_tokens,
      completion_tokens_details: raw.output_tokens_details,
    },
    quirks,
  )

/** More searches than any answer has: a larger count is a fault, not a bill. */
const SEARCHES_MAX = 1_000_000

/** Searches that the vendor bills: its own count, or the items of a search, as opposed to a page that was opened. */
const searchesIn = ({ tool_usage, output }: JsonObject): number => {
  const counted = numberOf(objectOf(objectOf(tool_usage).web_search).num_requests)
  if (counted !== undefined && Number.isSafeInteger(counted) && counted >= 0 && counted <= SEARCHES_MAX)
    return counted
  return objectsOf(output).filter(
    ({ type, action }) => type === 'web_search_call' && (objectOf(action).type ?? 'search') === 'search',
  ).length
}

/** Reads the usage of a response, with its searches; undefined when there is none. */
export const usageOfResponse = (response: JsonObject, quirks: UsageQuirks): Usage | undefined => {
  const usage = readResponsesUsage(objectOf(response.usage), quirks)
  const searches = searchesIn(response)
  return usage === undefined || searches === 0 ? usage : { ...usage, web_search: searches }
}

/** Usage with this dialect's inclusive totals. */
export const responsesUsage = (usage: Usage): JsonObject => ({
  input_tokens: inputTokens(usage),
  input_tokens_details: {
    cached_tokens: cachedTokens(usage),
    cache_write_tokens: (usage.cache_write ?? 0) + (usage.cache_write_1h ?? 0),
  },
  output_tokens: outputTokens(usage),
  output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  total_tokens: inputTokens(usage) + outputTokens(usage),
})
