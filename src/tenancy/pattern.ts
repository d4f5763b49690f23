/** Globs of model ids: what they match, and which of them holds another. */

/** Whether everything that `narrow` matches is matched by `wide`; where that is hard to say, it is not. */
export const coversPattern = (wide: string, narrow: string): boolean =>
  matches(wide, narrow) && !(wide.includes('?') && narrow.includes('*'))

/**
 * Glob matching in time bounded by the product of both lengths, whatever the pattern: on a mismatch the last star takes
 * one more letter.
 */
export const matches = (pattern: string, text: string): boolean => {
  let [at, place, star, from] = [0, 0, -1, 0]
  while (at < text.length) {
    const letter = pattern[place]
    if (letter === '*') {
      star = place++
      from = at
    } else if (letter === '?' || (letter !== undefined && letter === text[at])) {
      place++
      at++
    } else if (star >= 0) {
      place = star + 1
      at = ++from
    } else return false
  }
  while (pattern[place] === '*') place++
  return place === pattern.length
}
