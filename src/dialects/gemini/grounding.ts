/** Generate content, references of an answer ⇄ neutral form. Source of the format: Gemini API reference, "GroundingMetadata" and "CitationMetadata". */
import { type JsonObject, present } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import type { Citation } from '../neutral.ts'
import { listOf, numberOf, objectOf, objectsOf, textOf, textsOf } from '../request/json-members.ts'
import type { Cited } from '../translate/citations.ts'

/** Reads a candidate's references to its sources; positions count bytes of the text. */
export const readGrounding = (candidate: JsonObject, text: string): Cited => {
  const bytes = Buffer.from(text)
  const place = (index: number | undefined, otherwise: number): number =>
    index === undefined ? otherwise : bytes.subarray(0, index).toString('utf8').length
  const stretch = ({ startIndex, endIndex }: JsonObject) => ({
    from: place(numberOf(startIndex), 0),
    to: place(numberOf(endIndex), text.length),
  })
  const grounding = objectOf(candidate.groundingMetadata)
  const supports = objectsOf(grounding.groundingSupports)
  const grounded = objectsOf(grounding.groundingChunks).map((chunk, index): readonly Citation[] => {
    const found = objectOf(chunk.web ?? chunk.retrievedContext ?? chunk.maps)
    const url = textOf(found.uri)
    if (url === undefined) return []
    const source = present({ url, title: textOf(found.title), quote: textOf(found.text) })
    const of = supports.filter(({ groundingChunkIndices }) => listOf(groundingChunkIndices).includes(index))
    const stretches = of.length === 0 ? [{}] : of.map(({ segment }) => objectOf(segment))
    return stretches.map((segment) => ({ ...source, ...stretch(segment) }))
  })
  const metadata = objectOf(candidate.citationMetadata)
  const recited = objectsOf(metadata.citationSources ?? metadata.citations).map(
    (one): readonly Citation[] => {
      const url = textOf(one.uri)
      return url === undefined ? [] : [present({ url, title: textOf(one.title), ...stretch(one) })]
    },
  )
  const all = [...grounded, ...recited]
  return { citations: all.flat(), notCarried: all.some(({ length }) => length === 0) }
}

/** The queries that an answer or event made, as the vendor counts them: empty ones and repeated ones are not billed. */
export const queriesIn = (value: JsonObject): readonly string[] =>
  objectsOf(value.candidates)
    .flatMap(({ groundingMetadata }) => textsOf(objectOf(groundingMetadata).webSearchQueries))
    .filter((query) => query !== '')

/** The usage with its queries. */
export const withQueries = (usage: Usage | undefined, queries: readonly string[]): Usage | undefined =>
  usage === undefined || queries.length === 0 ? usage : { ...usage, web_search: new Set(queries).size }

/** Writes the citations of a text; nothing if there are none. */
export const groundingOf = (citations: readonly Citation[], text: string): JsonObject => {
  if (citations.length === 0) return {}
  const bytesTo = (place: number) => Buffer.byteLength(text.slice(0, place))
  const sources = [...new Map(citations.map((one) => [one.url, one])).values()]
  return {
    groundingMetadata: {
      groundingChunks: sources.map(({ url, title }) => ({ web: { uri: url, title: title ?? url } })),
      groundingSupports: citations.map(({ url, from, to }) => ({
        segment: { startIndex: bytesTo(from), endIndex: bytesTo(to), text: text.slice(from, to) },
        groundingChunkIndices: [sources.findIndex((source) => source.url === url)],
      })),
    },
  }
}
