/** How to ask Google's models. Read on 2026-11-26 in the public material named with each. */
import type { RequestStyle } from '../../core/model.ts'

/** npm @google/genai 3.3.0, `Model`: what interactions take beside generate-content, of what is sold here. */
const INTERACTIONS =
  /^(?:gemma-4|gemini-(?:flash|flash-lite|pro)-latest$|gemini-2\.5-(?:flash|flash-lite|pro)$|gemini-(?:3|4)[.-])/

/**
 * How to ask a model, by Google's name for it: in both styles, so that each caller's call passes in its own if that is one
 * of them; undefined for models that only generate-content has.
 */
export const googleRequestStyle = (name: string): RequestStyle | undefined =>
  INTERACTIONS.test(name) ? { in: 'both_of_google' } : undefined
