/** Responses, a vendor's answer in one piece → neutral form. Source of the format: OpenAI API reference, "The response object". */
import { type JsonObject, present } from '../../core/json-body.ts'
import type { Choice, Citation, Finish, Part, Reply } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { Cited } from '../translate/citations.ts'
import { splitId } from '../translate/signatures.ts'
import { isBlockedBy } from './fault.ts'
import { isResponse } from './pass-reply.ts'
import { thoughtsOf } from './thoughts.ts'

/** Reads an answer; undefined when it is not one. `newId` makes ids for calls that came without one. */
export const readResponsesReply = (
  value: JsonObject,
  newId: () => string,
): Omit<Reply, 'usage'> | undefined => {
  const names = { id: textOf(value.id) ?? '', model: textOf(value.model) ?? '' }
  if (isBlockedBy(objectOf(value.error))) return { ...names, choices: [], blocked: true }
  if (!isResponse(value)) return undefined
  const read = objectsOf(value.output).map((item) => readItem(item, newId))
  const parts = read.flatMap((item) => item.parts)
  const notCarried = [...new Set(read.flatMap((item) => item.notCarried))]
  const citations = citationsOf(objectsOf(value.output))
  const choice: Choice = present({
    parts,
    finish: finishOf(
      value,
      parts.some(({ type }) => type === 'tool_call'),
    ),
    citations: citations.length === 0 ? undefined : citations,
  })
  return { ...names, choices: [choice], ...(notCarried.length === 0 ? {} : { notCarried }) }
}

/** How an answer ended; one with tool calls stops for them. */
export const finishOf = ({ incomplete_details }: JsonObject, callsTools: boolean): Finish => {
  const { reason } = objectOf(incomplete_details)
  if (reason === 'content_filter') return 'content_filter'
  if (typeof reason === 'string') return 'length'
  return callsTools ? 'tool_calls' : 'stop'
}

type ReadItem = { readonly parts: readonly Part[]; readonly notCarried: readonly string[] }

const readItem = (item: JsonObject, newId: () => string): ReadItem => {
  switch (item.type) {
    case 'reasoning':
      return { parts: thoughtsOf(item), notCarried: [] }
    case 'message': {
      const content = objectsOf(item.content)
      const notCarried = content.some(({ annotations }) => annotationsIn(annotations, 0).notCarried)
      return { parts: content.flatMap(saidIn), notCarried: notCarried ? ['citations'] : [] }
    }
    case 'function_call':
      return {
        parts: [{ type: 'tool_call', ...calledBy(item, newId), arguments: argumentsOf(item) }],
        notCarried: [],
      }
    default:
      return { parts: [], notCarried: [textOf(item.type) ?? 'item'] }
  }
}

const argumentsOf = (item: JsonObject): string => textOf(item.arguments) || '{}'

/** The id and name of a call. */
export const calledBy = (item: JsonObject, newId: () => string) => ({
  ...splitId(textOf(item.call_id) || newId()),
  name: textOf(item.name) ?? '',
})

const saidIn = (content: JsonObject): readonly Part[] => {
  if (content.type === 'refusal') return [{ type: 'refusal', text: textOf(content.refusal) ?? '' }]
  const text = textOf(content.text) ?? ''
  return text === '' ? [] : [{ type: 'text', text }]
}

const citationsOf = (output: readonly JsonObject[]): readonly Citation[] => {
  let length = 0
  return output
    .flatMap((item) => (item.type === 'message' ? objectsOf(item.content) : []))
    .flatMap((content) => {
      const { citations } = annotationsIn(content.annotations, length)
      length += textOf(content.text)?.length ?? 0
      return citations
    })
}

/** Citations of a text that begins `start` units into the whole; citations of files have no address. */
export const annotationsIn = (annotations: JsonObject[string], start: number): Cited => {
  const all = objectsOf(annotations)
  const citations = all.flatMap((annotation): Citation[] => {
    const url = annotation.type === 'url_citation' ? textOf(annotation.url) : undefined
    if (url === undefined) return []
    const from = start + (numberOf(annotation.start_index) ?? 0)
    const to = start + (numberOf(annotation.end_index) ?? 0)
    return [present({ url, title: textOf(annotation.title), from, to })]
  })
  return { citations, notCarried: citations.length < all.length }
}
