/** Google's Gemini API: speaks generate-content; thoughts are reported and billed apart from the answer. Source: Gemini API reference. */

import type { RequestStyle } from '../../core/model.ts'
import { geminiBatches } from '../batches/gemini-form.ts'
import type { Vendor } from '../vendor.ts'
import { googleInteractions } from './interactions.ts'
import { googleMedia } from './media.ts'

/** npm @google/genai 3.3.0, `Model`: what interactions take beside generate-content, of what is sold here. */
const INTERACTIONS =
  /^(?:gemma-4|gemini-(?:flash|flash-lite|pro)-latest$|gemini-2\.5-(?:flash|flash-lite|pro)$|gemini-(?:3|4)[.-])/

/**
 * How to ask a model, by Google's name for it: in both styles, so that each caller's call passes in its own if that is one
 * of them; undefined for models that only generate-content has.
 */
export const googleRequestStyle = (name: string): RequestStyle | undefined =>
  INTERACTIONS.test(name) ? { in: 'both_of_google' } : undefined

/**
 * How cached input of a model costs in batches: Gemini API pricing, "Batch": half, and cached input as outside of batches. Names
 * that are moved to another model, and models whose answers are not text, have no such price.
 */
export const inGoogleBatches = (name: string): 'whole' | undefined =>
  /^gemini-\d/.test(name) && !/image|tts|live|audio/.test(name) ? 'whole' : undefined

export const google = {
  id: 'google',
  name: 'Google Gemini',
  keyVariable: 'GEMINI_API_KEY',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  surfaces: ['chat', 'embeddings'],
  speaks: 'gemini',
  embeds: 'gemini',
  auth: 'x-goog-api-key',
  requestStyleOf: googleRequestStyle,
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  catalogue: { prices: 'google', limits: 'google', names: '^gem' },
  shortIds: true,
  batches: { form: geminiBatches, cachedInput: inGoogleBatches },
  // Gemini API pricing, "Grounding with Google Search": from Gemini 3 on 14 USD for 1,000 queries, in pico-USD for one, beyond those that are free. Before
  // that, prompts are billed and not queries.
  hostedRatesOf: (name) =>
    /^gemini-(?:[3-9]|flash-(?:lite-)?latest)/.test(name) ? { web_search: 14_000_000_000 } : undefined,
  media: { ...googleMedia, models: [...googleMedia.models, ...googleInteractions] },
} satisfies Vendor
