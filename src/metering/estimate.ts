/** Estimates for a vendor that reports nothing: bounded, marked as estimates, and linear in what was delivered. */
import type { Call } from '../core/call.ts'
import type { JsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { Usage } from '../core/usage.ts'
import { denseSurplus } from './dense-scripts.ts'

/** What has reached the caller: events with content, and the letters of it, as `lettersIn` counts them. */
export type Delivered = { readonly letters: number; readonly events: number }

/**
 * A text in an alphabet has about four bytes per input token, and an estimate of output counts three letters as one
 * token.
 */
const BYTES_A_TOKEN = 4
const LETTERS_A_TOKEN = 3

/** Output tokens of what was delivered: at least one per event, and one for every three letters. */
export const deliveredTokens = ({ letters, events }: Delivered): number =>
  Math.max(events, Math.ceil(letters / LETTERS_A_TOKEN))

/** A stream is estimated again and again, but its request is read only once. */
const surpluses = new WeakMap<JsonBody, number>()

const surplusOf = ({ body }: Call): number => {
  const known = surpluses.get(body) ?? denseSurplus(body.bytes)
  surpluses.set(body, known)
  return known
}

/** Roughly how many tokens the text of a call has. */
export const textEstimate = (call: Call): number =>
  Math.ceil((call.size.textBytes + surplusOf(call)) / BYTES_A_TOKEN)

/**
 * The usage to charge when the vendor gave none: at most the priced bound for input, and the model's maximum for
 * output.
 */
export const estimateUsage = (model: Model, call: Call, inputBound: number, delivered: Delivered): Usage => {
  const text = textEstimate(call)
  const media = call.size.images * Math.min(model.imageTokensMax, 1_000)
  const input = Math.min(text + media, inputBound)
  if (model.kind === 'embeddings') return { input }
  const bound = Math.min(call.maxOutput ?? model.maxOutputTokens, model.maxOutputTokens) * call.choices
  return { input, output: Math.min(deliveredTokens(delivered), bound) }
}
