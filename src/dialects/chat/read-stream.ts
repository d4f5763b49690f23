/** Chat completions, a vendor's events → steps in the neutral form. Source of the format: OpenAI API reference, "The chat completion chunk object". */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import type { Piece } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { splitId } from '../translate/signatures.ts'
import { readAnnotations, readSources } from './annotations.ts'
import { faultOf, finishOf, imagesOf, indexOf, saidIn, thoughtsOf } from './reply.ts'

/** Makes a reader for one stream; `usageOf` finds the vendor's usage in an event. */
export const chatStreamReader = (
  newId: () => string,
  usageOf: (event: JsonObject) => Usage | undefined,
): ((data: string) => readonly Piece[]) => {
  let started = false
  /** Choices whose present thought has been partly sent. */
  const thought = new Set<number>()
  /** For each choice: the tool that each of the vendor's numbers now stands for. */
  const tools = new Map<string, { index: number; id: string; text: string }>()
  const counts = new Map<number, number>()
  /** The length of the first choice's text, and the sources listed beside it. */
  let length = 0
  let sources: JsonObject = {}

  const toolPieces = (choice: number, call: JsonObject): Piece[] => {
    const called = objectOf(call.function)
    const slot = `${choice}/${numberOf(call.index) ?? 0}`
    const id = textOf(call.id) ?? ''
    const pieces: Piece[] = []
    let tool = tools.get(slot)
    // Some vendors number every call 0, so a new id means a new call, and so does a name after complete arguments.
    if (
      tool === undefined ||
      (id === ''
        ? tool.id === '' && textOf(called.name) && isObject(parseJson(tool.text))
        : id !== tool.id && typeof called.name === 'string')
    ) {
      const index = counts.get(choice) ?? 0
      counts.set(choice, index + 1)
      tool = { index, id, text: '' }
      tools.set(slot, tool)
      pieces.push({
        type: 'tool',
        choice,
        index,
        ...splitId(id || newId()),
        name: textOf(called.name) ?? '',
      })
    }
    const text = textOf(called.arguments) ?? ''
    tool.text += text
    if (text !== '') pieces.push({ type: 'arguments', choice, index: tool.index, text })
    return pieces
  }

  const deltaPieces = (choice: number, delta: JsonObject): Piece[] => {
    const pieces: Piece[] = []
    for (const { text, signature, redacted } of thoughtsOf(delta)) {
      // The detail with the signature may repeat the whole streamed text.
      if (text !== '' && (signature === undefined || !thought.has(choice)))
        pieces.push({ type: 'thinking', choice, text })
      if (signature === undefined) thought.add(choice)
      else {
        thought.delete(choice)
        pieces.push({ type: 'signature', choice, signature, ...(redacted === true ? { redacted } : {}) })
      }
    }
    const thoughts = pieces.length
    for (const { type, text } of saidIn(delta.content)) {
      pieces.push({ type, choice, text })
      if (type === 'text' && choice === 0) length += text.length
    }
    const { citations, notCarried } = readAnnotations(delta.annotations)
    for (const citation of citations) pieces.push({ type: 'citation', choice, citation })
    if (notCarried) pieces.push({ type: 'not_carried', name: 'citations' })
    for (const image of imagesOf(delta.images)) pieces.push({ type: 'image', choice, image })
    const declined = textOf(delta.refusal) ?? ''
    if (declined !== '') pieces.push({ type: 'refusal', choice, text: declined })
    for (const call of objectsOf(delta.tool_calls)) pieces.push(...toolPieces(choice, call))
    if (isObject(delta.function_call)) pieces.push(...toolPieces(choice, { function: delta.function_call }))
    if (pieces.length > thoughts) thought.delete(choice)
    return pieces
  }

  return (data) => {
    if (data === '') return []
    if (data === '[DONE]') return [{ type: 'end' }]
    const event = parseJson(data)
    if (!isObject(event)) return []
    if (isObject(event.error)) return [{ type: 'error', error: event.error }]
    const pieces: Piece[] = []
    if (!started) {
      started = true
      pieces.push({ type: 'start', id: textOf(event.id) ?? '', model: textOf(event.model) ?? '' })
    }
    // Usage comes before the text, because some callers get the input's count first.
    const usage = usageOf(event)
    if (usage !== undefined) pieces.push({ type: 'usage', usage })
    for (const choice of objectsOf(event.choices)) {
      const index = indexOf(choice)
      pieces.push(...deltaPieces(index, objectOf(choice.delta)))
      if (isObject(choice.logprobs))
        pieces.push({ type: 'logprobs', choice: index, logprobs: choice.logprobs })
      if (Array.isArray(event.citations)) sources = event
      if (typeof choice.finish_reason === 'string' && index === 0)
        for (const citation of readSources(sources, length))
          pieces.push({ type: 'citation', choice: 0, citation })
      pieces.push(...finishPieces(choice, index, counts.has(index)))
    }
    return pieces
  }
}

/** How a choice ended; one that its vendor says has failed ends in an error. */
const finishPieces = ({ finish_reason }: JsonObject, choice: number, callsTools: boolean): Piece[] => {
  if (typeof finish_reason !== 'string') return []
  const message = faultOf(finish_reason)
  return [
    { type: 'finish', choice, finish: finishOf(finish_reason, callsTools) },
    ...(message === undefined ? [] : [{ type: 'error' as const, error: { message } }]),
  ]
}
