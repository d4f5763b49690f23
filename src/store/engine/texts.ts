/** Statements' texts, which depend only on the engine: made once for each, so that prepared statements are found by them. */
import type { Words } from './engine.ts'

/** Texts by the engine's words; `make` runs once for each engine. */
export const textsOnce = <Texts>(make: (words: Words) => Texts): ((words: Words) => Texts) => {
  const made = new WeakMap<Words, Texts>()
  return (words) => {
    const known = made.get(words)
    if (known !== undefined) return known
    const texts = make(words)
    made.set(words, texts)
    return texts
  }
}
