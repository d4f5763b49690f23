/**
 * The built-in embeddings: character trigrams and words hashed into a vector of fixed length, signed, of unit norm.
 * Source of the method: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
 */
import { createHash } from 'node:crypto'

export const LOCAL_DIMENSIONS = 256

/** The vector of one text, or of a list of token numbers. */
export const embedLocally = (input: string | readonly number[], dimensions: number): Float32Array => {
  const vector = new Float32Array(dimensions)
  for (const [feature, weight] of featuresOf(input)) {
    const hash = createHash('sha1').update(feature).digest()
    const at = hash.readUInt32LE(0) % dimensions
    vector[at] = (vector[at] ?? 0) + ((hash[4] ?? 0) % 2 === 0 ? weight : -weight)
  }
  const norm = Math.hypot(...vector)
  return norm === 0 ? vector.fill(1 / Math.sqrt(dimensions)) : vector.map((value) => value / norm)
}

const featuresOf = (input: string | readonly number[]): Map<string, number> => {
  const features = new Map<string, number>()
  const add = (feature: string, weight: number) =>
    features.set(feature, (features.get(feature) ?? 0) + weight)
  if (typeof input !== 'string') {
    for (const token of input) add(`t${token}`, 1)
    return features
  }
  const text = ` ${input.toLowerCase().replace(/\s+/g, ' ').trim()} `
  for (const word of text.split(' ')) if (word !== '') add(`w${word}`, 2)
  const letters = [...text]
  for (let at = 0; at + 3 <= letters.length; at++) add(`c${letters.slice(at, at + 3).join('')}`, 1)
  return features
}
