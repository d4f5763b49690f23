/**
 * The sources that an answer cites: addresses, each for a stretch of the text. A source without an address is not
 * carried.
 */
import type { Citation, Part } from '../neutral.ts'

/** What a reader makes of a vendor's references: the citations it can pass on, and whether there were others. */
export type Cited = { readonly citations: readonly Citation[]; readonly notCarried: boolean }

/** The text of an answer. */
export const textIn = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/**
 * For each text part, the citations that begin in it, counted from the part's start; the last part gets those beyond
 * the text.
 */
export const citationsByText = (
  parts: readonly Part[],
  citations: readonly Citation[],
): ReadonlyMap<Part, readonly Citation[]> => {
  const texts = parts.filter((part) => part.type === 'text')
  const placed = new Map<Part, readonly Citation[]>()
  let start = 0
  for (const [at, part] of texts.entries()) {
    const end = at === texts.length - 1 ? Number.POSITIVE_INFINITY : start + part.text.length
    const own = citations.filter(({ from }) => (from >= start || at === 0) && from < end)
    if (own.length > 0)
      placed.set(
        part,
        own.map((one) => within(one, start, part.text.length)),
      )
    start += part.text.length
  }
  return placed
}

const within = (citation: Citation, start: number, length: number): Citation => {
  const bounded = (place: number) => Math.min(Math.max(place - start, 0), length)
  return { ...citation, from: bounded(citation.from), to: bounded(citation.to) }
}
