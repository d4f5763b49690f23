/** Generate content, a vendor's events → steps in the neutral form. Source of the format: Gemini API reference, "models.streamGenerateContent". */
import { withDigits } from '../../core/exact-json.ts'
import { isObject, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import type { Part, Piece } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { textIn } from '../translate/citations.ts'
import { faultOf } from './error.ts'
import { readGrounding } from './grounding.ts'
import { finishOf, isBlocked, logprobsOf, lostPart, readGeminiUsage, readPart } from './reply.ts'

/** Makes a reader for one stream. Every event has usage, which grows; the last one counts. */
export const geminiStreamReader = (newId: () => string): ((data: string) => readonly Piece[]) => {
  let started = false
  const tools = new Map<number, number>()
  /** The text of each candidate so far, and its latest list of sources. */
  const texts = new Map<number, string>()
  const sources = new Map<number, JsonObject>()
  const cited = (choice: number): Piece[] => {
    const { citations, notCarried } = readGrounding(sources.get(choice) ?? {}, texts.get(choice) ?? '')
    const pieces = citations.map((citation): Piece => ({ type: 'citation', choice, citation }))
    return notCarried ? [...pieces, { type: 'not_carried', name: 'citations' }] : pieces
  }

  const candidatePieces = (candidate: JsonObject): Piece[] => {
    const choice = numberOf(candidate.index) ?? 0
    const parts = objectsOf(objectOf(candidate.content).parts).flatMap((part) => readPart(part, newId))
    const pieces = parts.flatMap((part) => {
      if (part.type !== 'tool_call') return piecesOf(part, choice)
      const index = tools.get(choice) ?? 0
      tools.set(choice, index + 1)
      const { type: _type, arguments: text, ...call } = part
      const tool: Piece = { ...call, type: 'tool', choice, index }
      return [tool, { type: 'arguments' as const, choice, index, text }]
    })
    texts.set(choice, (texts.get(choice) ?? '') + textIn(parts))
    if (candidate.groundingMetadata ?? candidate.citationMetadata)
      sources.set(choice, { ...sources.get(choice), ...sourcesIn(candidate) })
    for (const name of objectsOf(objectOf(candidate.content).parts).flatMap(lostPart))
      pieces.push({ type: 'not_carried', name })
    const logprobs = logprobsOf(candidate.logprobsResult)
    if (logprobs !== undefined) pieces.push({ type: 'logprobs', choice, logprobs })
    if (typeof candidate.finishReason === 'string')
      pieces.push(...cited(choice), {
        type: 'finish',
        choice,
        finish: finishOf(candidate.finishReason, tools.has(choice)),
      })
    const message = faultOf(candidate.finishReason, tools.has(choice))
    if (message !== undefined) pieces.push({ type: 'error', error: { message } })
    return pieces
  }

  return (data) => {
    const parsed = data === '' ? undefined : parseJson(data)
    if (!isObject(parsed)) return []
    const event = withDigits(data, parsed)
    if (isObject(event.error)) return [{ type: 'error', error: event.error }]
    const pieces: Piece[] = []
    if (!started) {
      started = true
      pieces.push({
        type: 'start',
        id: textOf(event.responseId) ?? '',
        model: textOf(event.modelVersion) ?? '',
      })
    }
    if (isBlocked(event)) pieces.push({ type: 'blocked' })
    // Usage comes before the text, because some callers get the input's count first.
    const usage = isObject(event.usageMetadata) ? readGeminiUsage(event.usageMetadata) : undefined
    if (usage !== undefined) pieces.push({ type: 'usage', usage })
    for (const candidate of objectsOf(event.candidates)) pieces.push(...candidatePieces(candidate))
    return pieces
  }
}

const sourcesIn = ({ groundingMetadata, citationMetadata }: JsonObject): JsonObject =>
  present({ groundingMetadata, citationMetadata })

const piecesOf = (part: Part, choice: number): Piece[] => {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', choice, text: part.text }]
    case 'image':
      return [{ type: 'image', choice, image: part }]
    case 'audio':
      return [{ type: 'audio', choice, audio: part }]
    case 'thinking': {
      const { text, signature, redacted } = part
      const said: Piece[] = text === '' ? [] : [{ type: 'thinking', choice, text }]
      if (signature === undefined) return said
      return [...said, { type: 'signature', choice, signature, ...(redacted === true ? { redacted } : {}) }]
    }
    default:
      return []
  }
}
