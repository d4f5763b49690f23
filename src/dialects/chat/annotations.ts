/** Chat completions, references of an answer ⇄ neutral form. Source of the format: OpenAI API reference, "The chat completion object". */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import type { Citation } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from '../request/json-members.ts'
import type { Cited } from '../translate/citations.ts'

/** Reads `annotations`; annotations of files have no address. */
export const readAnnotations = (annotations: Json | undefined): Cited => {
  const all = objectsOf(annotations)
  const citations = all.flatMap((annotation): Citation[] => {
    const cited = annotation.type === 'url_citation' ? objectOf(annotation.url_citation) : {}
    const url = textOf(cited.url)
    if (url === undefined) return []
    const from = numberOf(cited.start_index) ?? 0
    const to = numberOf(cited.end_index) ?? from
    return [present({ url, title: textOf(cited.title), quote: textOf(cited.content), from, to })]
  })
  return { citations, notCarried: citations.length < all.length }
}

/** Addresses listed beside an answer, as some searching vendors send them; they apply to the whole text. */
export const readSources = (answer: JsonObject, length: number): readonly Citation[] => {
  const titles = new Map(objectsOf(answer.search_results).map(({ url, title }) => [url, textOf(title)]))
  return textsOf(answer.citations).map((url) => present({ url, title: titles.get(url), from: 0, to: length }))
}

/** Writes one annotation. */
export const annotationOf = ({ url, title, from, to }: Citation): JsonObject => ({
  type: 'url_citation',
  url_citation: { url, title: title ?? url, start_index: from, end_index: to },
})
