/**
 * How to ask OpenAI's models, at OpenAI and at Azure; the first pattern that matches applies. Read on 2026-11-21 in the
 * public material named with each.
 */
import type { RequestStyle, UnitPrices } from '../../core/model.ts'
import type { CachedInput } from '../../pricing/batch-price.ts'

type ModelFamily = { readonly names: RegExp; readonly style: RequestStyle }

const entries: readonly ModelFamily[] = [
  // OpenAI Cookbook, "GPT-5-Codex prompting guide", and model pages: Responses API only. So are the pro models; asked
  // elsewhere they answer 404 "This model is only supported in v1/responses and not in v1/chat/completions".
  { names: /codex|(?:^|-)pro(?:-|$)|deep-research/, style: { in: 'responses' } },
  // openai (npm) 7.55.0, `ResponsesModel`: what it names beyond `ChatModel`.
  { names: /cyber|daybreak|rosalind/, style: { in: 'responses' } },
  // OpenAI API deprecations: older than the Responses API.
  { names: /-instruct$|^o1-(?:mini|preview)/, style: { in: 'chat' } },
  // openai/openai-openapi, issue 541: "Function tools with reasoning_effort are not supported for gpt-5.4".
  { names: /^gpt-5\.[45](?:-|$)/, style: { in: 'both', chatTools: 'without_effort' } },
  // gpt-5.6 gives the same 400 also where no effort is named: "or set reasoning_effort to 'none'".
  { names: /^gpt-(?:5\.[6-9]|[6-9])/, style: { in: 'both', chatTools: 'effort_none' } },
  // OpenAI guide, "Migrate to the Responses API": all other models take both.
  { names: /^(?:ft:)?(?:gpt-[345]|chatgpt|o\d)/, style: { in: 'both' } },
]

/** How to ask a model, by OpenAI's name for it; undefined for names that are not OpenAI's. */
export const openaiRequestStyle = (name: string): RequestStyle | undefined =>
  entries.find(({ names }) => names.test(name))?.style

/**
 * Models whose searches cost what OpenAI API pricing, "Tools", says of web search: 10 USD for 1,000 calls, and the tokens
 * of what was found. The others have another price, or tokens that no usage reports (8,000 a call for the small ones).
 */
const searching = /^(?:gpt-(?:4o|4\.1|[5-9])|o[34])/
const otherwise = /^gpt-4(?:o|\.1)-(?:mini|nano)|search|deep-research|audio|realtime|transcribe|tts/

/** What a search by the model's own tool costs, by OpenAI's name for the model, in pico-USD. */
export const openaiHostedRates = (name: string): UnitPrices | undefined =>
  searching.test(name) && !otherwise.test(name) ? { web_search: 10_000_000_000 } : undefined

/** OpenAI API pricing, "Batch": models with a price there, and those among them that list one for cached input too. */
const batched = /^(?:gpt-(?:3\.5-turbo|4|[5-9])|o[134]|text-embedding-)/
const notBatched = /chat-latest|codex|search|audio|realtime|transcribe|tts|image|instruct|-preview/
const cachedInBatches = /^gpt-[5-9]/

/** How cached input is billed in batches, by OpenAI's name for the model; undefined if it has no price there. */
export const openaiBatchCached = (name: string): CachedInput | undefined => {
  if (!batched.test(name) || notBatched.test(name)) return undefined
  return cachedInBatches.test(name) ? 'half' : 'as input'
}
