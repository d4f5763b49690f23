/** Interactions, a vendor's answer in one piece → neutral form. Source of the format: npm @google/genai 3.3.0, `Interaction`. */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import type { Choice, Citation, Finish, Part, Reply, Thinking } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { Cited } from '../translate/citations.ts'
import { signed, splitId } from '../translate/signatures.ts'

const finishes: Readonly<Record<string, Finish>> = {
  completed: 'stop',
  requires_action: 'tool_calls',
  incomplete: 'length',
  budget_exceeded: 'length',
  // The vendor stopped at the most tokens that it makes for one request.
  requires_continuation: 'length',
}

/** Whether it is an answer; one that failed or was cancelled is none. */
export const isInteraction = ({ status }: JsonObject): boolean => finishes[textOf(status) ?? ''] !== undefined

const FILTERED = /safety|prohibited|blocked|policy|content_filter|recitation/i

const isFiltered = ({ errors }: JsonObject): boolean =>
  objectsOf(errors).some(({ code, message }) => FILTERED.test(`${textOf(code)} ${textOf(message)}`))

/** Whether the prompt was blocked, so that there is no answer. */
export const isBlockedPrompt = (value: JsonObject): boolean => value.status === 'failed' && isFiltered(value)

/** How an answer ended; one with calls of tools stops for them. */
export const finishOf = (value: JsonObject, callsTools: boolean): Finish => {
  const finish = finishes[textOf(value.status) ?? ''] ?? 'stop'
  if (finish === 'length' && isFiltered(value)) return 'content_filter'
  return finish === 'stop' && callsTools ? 'tool_calls' : finish
}

/** Reads an answer; undefined when it is not one. `newId` makes ids for calls that came without one. */
export const readInteractionsReply = (
  value: JsonObject,
  newId: () => string,
): Omit<Reply, 'usage'> | undefined => {
  const names = { id: textOf(value.id) ?? '', model: textOf(value.model) ?? '' }
  if (isBlockedPrompt(value)) return { ...names, choices: [], blocked: true }
  if (!isInteraction(value)) return undefined
  const steps = objectsOf(value.steps).filter(({ type }) => type !== 'user_input')
  const read = steps.map((step) => readStep(step, newId))
  const parts = read.flatMap((one) => one.parts)
  const cited = citedIn(steps)
  const notCarried = [...read.flatMap((one) => one.notCarried), ...(cited.notCarried ? ['citations'] : [])]
  const choice: Choice = present({
    parts,
    finish: finishOf(
      value,
      parts.some(({ type }) => type === 'tool_call'),
    ),
    citations: cited.citations.length === 0 ? undefined : cited.citations,
  })
  return { ...names, choices: [choice], ...(notCarried.length === 0 ? {} : { notCarried }) }
}

type ReadStep = { readonly parts: readonly Part[]; readonly notCarried: readonly string[] }

/** What a step says; `notCarried` names what no caller gets. */
export const readStep = (step: JsonObject, newId: () => string): ReadStep => {
  switch (step.type) {
    case 'thought':
      return { parts: thoughtOf(step), notCarried: [] }
    case 'function_call': {
      const text = JSON.stringify(step.arguments ?? {})
      return { parts: [{ type: 'tool_call', ...calledBy(step, newId), arguments: text }], notCarried: [] }
    }
    case 'model_output': {
      const contents = objectsOf(step.content)
      const parts = contents.map(readContent)
      const lost = contents.flatMap(({ type }, at) =>
        parts[at]?.length === 0 && type !== 'text' ? ['media'] : [],
      )
      return { parts: parts.flat(), notCarried: lost }
    }
    default:
      return { parts: [], notCarried: [textOf(step.type) ?? 'step'] }
  }
}

/** A thought; one of Google's without a text is only its signature, and of others the signature says so. */
export const thoughtOf = ({ summary, signature }: JsonObject): readonly Thinking[] => {
  const text = objectsOf(summary)
    .map((one) => textOf(one.text) ?? '')
    .join('')
  const read = signed(textOf(signature), 'gemini')
  if (text === '' && read.signature === undefined) return []
  const hidden = text === '' && read.signature?.origin === 'gemini'
  return [{ type: 'thinking', text, ...read, ...(hidden ? { redacted: true } : {}) }]
}

/** The id, name and signature of a call. */
const calledBy = (step: JsonObject, newId: () => string) => ({
  ...signed(textOf(step.signature), 'gemini'),
  ...splitId(textOf(step.id) || newId()),
  name: textOf(step.name) ?? '',
})

/** A content of an answer as parts: text, an image or sound. */
export const readContent = ({ type, text, data, uri, mime_type }: JsonObject): readonly Part[] => {
  if (type === 'text') return text === '' ? [] : [{ type, text: textOf(text) ?? '' }]
  if (type !== 'image' && type !== 'audio') return []
  const mediaType = textOf(mime_type) ?? (type === 'image' ? 'image/png' : 'audio/wav')
  if (typeof data === 'string') return [{ type, media: { mediaType, data } }]
  return typeof uri === 'string' && type === 'image' ? [{ type, media: { url: uri, mediaType } }] : []
}

/** The sources of the texts of steps that begin `start` units into the whole, and where those end. */
export const citedIn = (steps: readonly JsonObject[], start = 0): Cited & { readonly length: number } => {
  let length = start
  const all = steps
    .flatMap(({ type, content }) => (type === 'model_output' ? objectsOf(content) : []))
    .map(({ text, annotations }) => {
      const said = textOf(text) ?? ''
      const cited = annotationsIn(annotations, said, length)
      length += said.length
      return cited
    })
  return {
    citations: all.flatMap(({ citations }) => citations),
    notCarried: all.some(({ notCarried }) => notCarried),
    length,
  }
}

/** The sources of a text that begins `start` units into the whole; places come in bytes. */
const annotationsIn = (annotations: Json | undefined, text: string, start: number): Cited => {
  const all = objectsOf(annotations)
  const bytes = Buffer.from(text)
  const placeOf = (at: Json | undefined, otherwise: number): number =>
    start + bytes.toString('utf8', 0, numberOf(at) ?? otherwise).length
  const citations = all.flatMap((one): Citation[] => {
    const url = one.type === 'url_citation' ? textOf(one.url) : undefined
    if (url === undefined) return []
    const from = placeOf(one.start_index, 0)
    return [present({ url, title: textOf(one.title), from, to: placeOf(one.end_index, bytes.length) })]
  })
  return { citations, notCarried: citations.length < all.length }
}

/** Letters in an answer's steps: what it says, thinks and calls. */
export const interactionsLetters = ({ steps }: JsonObject): number =>
  objectsOf(steps).reduce((sum, step) => {
    const texts = [...objectsOf(step.content), ...objectsOf(step.summary)].map(
      ({ text }) => textOf(text) ?? '',
    )
    const called =
      step.type === 'function_call' ? [textOf(step.name) ?? '', JSON.stringify(objectOf(step.arguments))] : []
    return [...texts, ...called].reduce((letters, text) => letters + lettersIn(text), sum)
  }, 0)
