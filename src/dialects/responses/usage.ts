/** Responses, usage in both directions. Source of the format: OpenAI API reference, "The response object", `usage`. */
import type { JsonObject } from '../../core/json-body.ts'
import { inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import { readUsage } from '../../metering/read-usage.ts'
import type { UsageQuirks } from '../../metering/usage-quirks.ts'

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

/** Usage with this dialect's inclusive totals. */
export const responsesUsage = (usage: Usage): JsonObject => {
  const written = (usage.cache_write ?? 0) + (usage.cache_write_1h ?? 0)
  return {
    input_tokens: inputTokens(usage),
    input_tokens_details: {
      cached_tokens: (usage.cache_read ?? 0) + (usage.cache_read_audio ?? 0),
      ...(written === 0 ? {} : { cache_write_tokens: written }),
    },
    output_tokens: outputTokens(usage),
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: inputTokens(usage) + outputTokens(usage),
  }
}
