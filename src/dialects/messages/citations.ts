/** Messages, references of a text block ⇄ neutral form. Source of the format: Anthropic API reference, "Citations". */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import type { Citation } from '../neutral.ts'
import { objectsOf, textOf } from '../request/json-members.ts'
import type { Cited } from '../translate/citations.ts'
import { writeSignature } from '../translate/signatures.ts'

/** Reads a block's citations, which apply to all its text; citations of the caller's own documents have no address. */
export const readCitations = (citations: Json | undefined, from: number, to: number): Cited => {
  const all = objectsOf(citations)
  const read = all.flatMap((citation): Citation[] => {
    const url = textOf(citation.url)
    if (url === undefined) return []
    return [present({ url, title: textOf(citation.title), quote: textOf(citation.cited_text), from, to })]
  })
  return { citations: read, notCarried: read.length < all.length }
}

/** Sent back later, the mark shows that this vendor did not find the source. */
const FOUND_ELSEWHERE = writeSignature({ origin: 'chat', value: 'cited' }, 'messages')

/** Writes one citation. */
export const citationOf = ({ url, title, quote }: Citation): JsonObject => ({
  type: 'web_search_result_location',
  url,
  title: title ?? null,
  cited_text: quote ?? '',
  encrypted_index: FOUND_ELSEWHERE,
})
