/**
 * The built-in embeddings: character trigrams and words hashed into a vector of fixed length, signed, of unit norm.
 * Source of the method: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
 */
export const LOCAL_DIMENSIONS = 256

/** After this many features others get a turn: a fraction of a millisecond. */
const SLICE = 8_192

const WORD_WEIGHT = 2

/** The vector of one text, or of a list of token numbers. Pauses after each slice of work. */
export function* embedLocally(
  input: string | readonly number[],
  dimensions: number,
): Generator<undefined, Float32Array> {
  const vector = new Float32Array(dimensions)
  let done = 0
  for (const [feature, weight] of typeof input === 'string' ? featuresOf(input) : numbersOf(input)) {
    const hash = hashOf(feature)
    const at = (hash >>> 1) % dimensions
    vector[at] = (vector[at] ?? 0) + (hash % 2 === 0 ? weight : -weight)
    if (++done % SLICE === 0) yield
  }
  let squares = 0
  for (const value of vector) squares += value * value
  const norm = Math.sqrt(squares)
  return norm === 0 ? vector.fill(1 / Math.sqrt(dimensions)) : vector.map((value) => value / norm)
}

type Feature = readonly [feature: string, weight: number]

function* numbersOf(tokens: readonly number[]): Generator<Feature> {
  for (const token of tokens) yield [`t${token}`, 1]
}

/** Words, and every three letters in a row; runs of blanks count once, and the text has one on each side. */
function* featuresOf(input: string): Generator<Feature> {
  for (const [word] of input.toLowerCase().matchAll(/\S{1,100}/g)) yield [`w${word}`, WORD_WEIGHT]
  let [before, last] = ['', ' ']
  for (const letter of lettersOf(input.toLowerCase())) {
    if (before !== '') yield [`c${before}${last}${letter}`, 1]
    before = last
    last = letter
  }
}

function* lettersOf(text: string): Generator<string> {
  let blank = true
  for (const letter of text) {
    const isBlank = letter.trim() === ''
    if (!isBlank) yield letter
    else if (!blank) yield ' '
    blank = isBlank
  }
  if (!blank) yield ' '
}

/** FNV-1a over UTF-16 units with the last mix of MurmurHash3; both are in the public domain. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
