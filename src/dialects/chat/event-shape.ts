/**
 * Most events of a stream differ from the one before only in their text. Such an event is recognised and counted byte
 * by byte, without decoding or parsing. Any other event is read in full.
 */
import { isObject, type Json, parseJson } from '../../core/json-body.ts'
import { lettersOfByte } from '../../metering/dense-scripts.ts'

/** The bytes of an event before and after the text of its only choice, including the line ends. */
export type EventShape = { readonly before: Uint8Array; readonly after: Uint8Array }

/** An event of a known shape: where it ends, and how much text it contains. */
type KnownEvent = { readonly end: number; readonly letters: number }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
/** Neither occurs in JSON or in words, so no vendor's text equals a probe made of them. */
const PROBE = '\u2063probe\u2063'
const MARK = '"content":"'

const encoder = new TextEncoder()

/** The shape of an event that contains nothing but `content`; undefined when its bytes are not in the plain form. */
export const shapeOf = (bytes: Uint8Array, data: string, content: string): EventShape | undefined => {
  const start = data.indexOf(MARK) + MARK.length
  const before = `data: ${data.slice(0, start)}`
  const after = `${data.slice(start + content.length)}\n\n`
  if (start < MARK.length || !sameBytes(encoder.encode(before + content + after), bytes)) return undefined
  // Putting another text in its place proves that the content is read from there.
  const probed = parseJson(`${data.slice(0, start)}${PROBE}${data.slice(start + content.length)}`)
  return contentOf(probed) === PROBE
    ? { before: encoder.encode(before), after: encoder.encode(after) }
    : undefined
}

/** The content of an event with one choice. */
export const contentOf = (event: Json | undefined): string | undefined => {
  if (!isObject(event) || !Array.isArray(event.choices) || event.choices.length !== 1) return undefined
  const choice: Json = event.choices[0] ?? null
  if (!isObject(choice) || !isObject(choice.delta)) return undefined
  return typeof choice.delta.content === 'string' ? choice.delta.content : undefined
}

/**
 * Recognises an event of the shape that begins at `start`; undefined for any other event, and for an incomplete one.
 */
export const knownEvent = (
  bytes: Uint8Array,
  start: number,
  { before, after }: EventShape,
): KnownEvent | undefined => {
  if (!standsAt(bytes, start, before)) return undefined
  let letters = 0
  for (let at = start + before.length; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) return standsAt(bytes, at, after) ? { end: at + after.length, letters } : undefined
    if (byte < SPACE || byte === BACKSLASH) return undefined
    letters += lettersOfByte(byte)
  }
  return undefined
}

const standsAt = (bytes: Uint8Array, start: number, part: Uint8Array): boolean => {
  if (bytes.length - start < part.length) return false
  for (let at = 0; at < part.length; at++) if (bytes[start + at] !== part[at]) return false
  return true
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && standsAt(a, 0, b)
