/** Estimates for a vendor that reports nothing: bounded, marked, and linear in what was delivered. */
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import type { Usage } from '../core/usage.ts'

/** What has reached the caller: events with content, and characters of it. */
export type Delivered = { readonly characters: number; readonly events: number }

/** Usual text has some four bytes a token on the way in, and an estimate of output counts three characters as one. */
const BYTES_A_TOKEN = 4
const CHARACTERS_A_TOKEN = 3

/** Output tokens as delivered: at least one an event, and one for every three characters. */
export const deliveredTokens = ({ characters, events }: Delivered): number =>
  Math.max(events, Math.ceil(characters / CHARACTERS_A_TOKEN))

/** The usage to charge when the vendor gave none: never more input than the bound that was priced, nor output than the model's. */
export const estimateUsage = (model: Model, call: Call, inputBound: number, delivered: Delivered): Usage => {
  const text = Math.ceil(call.size.textBytes / BYTES_A_TOKEN)
  const media = call.size.images * Math.min(model.imageTokensMax, 1_000)
  const input = Math.min(text + media, inputBound)
  if (model.kind === 'embeddings') return { input }
  const bound = Math.min(call.maxOutput ?? model.maxOutputTokens, model.maxOutputTokens) * call.choices
  return { input, output: Math.min(deliveredTokens(delivered), bound) }
}
