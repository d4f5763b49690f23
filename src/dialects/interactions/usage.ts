/** Interactions, usage in both directions. Source of the format: npm @google/genai 3.3.0, `Usage`. */
import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import { cachedTokens, inputTokens, outputTokens, soundUsage, type Usage } from '../../core/usage.ts'
import { type Bill, withBill } from '../bill-members.ts'
import { numberOf, objectOf, objectsOf, textsOf } from '../request/json-members.ts'

const sumOf = (list: Json | undefined, name: string, kind: string, value: string): number =>
  objectsOf(list)
    .filter((one) => one[name] === kind)
    .reduce((sum, one) => sum + (numberOf(one[value]) ?? 0), 0)

const ofKind = (list: Json | undefined, modality: string): number =>
  sumOf(list, 'modality', modality, 'tokens')

/** The queries that the vendor bills: its own count, or those of its steps, each once. */
const searchesIn = (raw: JsonObject, steps: readonly JsonObject[]): number =>
  Array.isArray(raw.grounding_tool_count)
    ? sumOf(raw.grounding_tool_count, 'type', 'google_search', 'count')
    : new Set(
        steps
          .filter(({ type }) => type === 'google_search_call')
          .flatMap((step) => textsOf(objectOf(step.arguments).queries))
          .filter((query) => query !== ''),
      ).size

/**
 * Reads a vendor's usage, with the searches of its steps; undefined when it is absent or absurd. Thoughts are not part of
 * the output's total.
 */
export const readInteractionsUsage = (raw: JsonObject, steps: readonly JsonObject[]): Usage | undefined => {
  const total = numberOf(raw.total_input_tokens)
  if (total === undefined) return undefined
  const cached = numberOf(raw.total_cached_tokens) ?? 0
  const cachedAudio = ofKind(raw.cached_tokens_by_modality, 'audio')
  const audio = Math.max(0, ofKind(raw.input_tokens_by_modality, 'audio') - cachedAudio)
  const outputImage = ofKind(raw.output_tokens_by_modality, 'image')
  const outputAudio = ofKind(raw.output_tokens_by_modality, 'audio')
  return soundUsage({
    input: total + (numberOf(raw.total_tool_use_tokens) ?? 0) - cached - audio,
    cache_read: cached - cachedAudio,
    cache_read_audio: cachedAudio,
    input_audio: audio,
    output: (numberOf(raw.total_output_tokens) ?? 0) - outputImage - outputAudio,
    reasoning: numberOf(raw.total_thought_tokens) ?? 0,
    output_image: outputImage,
    output_audio: outputAudio,
    web_search: searchesIn(raw, steps),
  })
}

/** Usage with this dialect's totals: the input includes what was cached, the output excludes thoughts. */
export const interactionsUsage = (usage: Usage): JsonObject => {
  const cached = cachedTokens(usage)
  const searches = usage.web_search ?? 0
  return present({
    total_input_tokens: inputTokens(usage),
    total_cached_tokens: cached,
    total_output_tokens: outputTokens(usage) - (usage.reasoning ?? 0),
    total_thought_tokens: usage.reasoning ?? 0,
    total_tool_use_tokens: 0,
    total_tokens: inputTokens(usage) + outputTokens(usage),
    grounding_tool_count: searches === 0 ? undefined : [{ type: 'google_search', count: searches }],
  })
}

/** JSON text of the usage with the bill; the vendor's own counts if it gave them. */
export const usageText = (reported: Json | undefined, usage: Usage, bill: Bill): string => {
  const counts = isObject(reported) ? reported : interactionsUsage(usage)
  const { cost: _cost, cost_details: _details, ...rest } = counts
  return withBill(rest, bill)
}
