/**
 * JSON bodies: parsed once, kept as the bytes that came, and edited by splicing.
 *
 * What Turnpike validated and priced is exactly what it sends on: unknown members, number spellings and member order
 * survive, and a large prompt is copied once instead of being serialised again. Source of the format: RFC 8259.
 */
import { type Refusal, refuse } from './refusal.ts'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json | undefined }

/** Where a top-level member stands: `start` is its key's quote, [valueStart, end) its value. */
type ByteSpan = { readonly start: number; readonly valueStart: number; readonly end: number }
type MemberSpan = ByteSpan & { name: string }

/** What a look through a body's bytes told; of bytes that are no JSON it tells nothing. */
type Scan = {
  /** The top-level members; parsing gives them their names. */
  readonly spans: readonly MemberSpan[]
  /** Bytes of memory that the parsed body will take, beside the bytes that came. */
  readonly weight: number
  readonly valuesMax: number
  readonly over: 'too deep' | 'too many' | undefined
}

export type JsonBody = {
  readonly bytes: Uint8Array
  readonly value: JsonObject
  /** The same as a text in which each letter is one byte; undefined for other texts, and for long ones. */
  readonly text?: string | undefined
  /** Top-level members in order; undefined when a name stands twice or is a number, so that splicing would be ambiguous. */
  readonly members: readonly MemberSpan[] | undefined
}

/** New values by member name, as JSON text; undefined removes the member. The names are ours: they need no escapes. */
export type Edits = Readonly<Record<string, string | undefined>>

const DEPTH_LIMIT = 64
const VALUE_LIMIT = 1_000_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
const encoder = new TextEncoder()

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses one JSON text; undefined when it is not JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** Reads a body: strict UTF-8, an object at the top, bounded nesting, a bounded number of values. */
export const readJsonBody = (bytes: Uint8Array, scan = scanJson(bytes)): JsonBody | Refusal => {
  // Nothing is made of a body whose values would take the memory that the bounds are for.
  if (scan.over === 'too deep')
    return refuse('invalid_json', `The body is nested deeper than ${DEPTH_LIMIT} levels.`)
  if (scan.over === 'too many')
    return refuse('invalid_json', `The body holds more than ${scan.valuesMax} values.`)
  let text: string
  try {
    text = strictUtf8.decode(bytes)
  } catch {
    return refuse('invalid_json', 'The body is not valid UTF-8.')
  }
  const value = parseJson(text)
  if (value === undefined) return refuse('invalid_json', 'The body is not valid JSON.')
  if (!isObject(value)) return refuse('invalid_json', 'The body must be a JSON object.')
  const plain = bytes.length <= TEXT_MAX && text.length === bytes.length ? text : undefined
  return { bytes, value, text: plain, members: withNames(scan.spans, value) }
}

/** Up to this length a text is put together faster than bytes are copied. */
const TEXT_MAX = 16 * 1024

/** The body of an object that did not come over the wire. */
export const bodyOf = (value: JsonObject): JsonBody => ({
  bytes: encoder.encode(JSON.stringify(value)),
  value,
  members: undefined,
})

/** The body's bytes with the edits applied; members not named keep their bytes. */
export const splice = (body: JsonBody, edits: Edits): Uint8Array => {
  const { bytes, members, text: plain } = body
  if (members === undefined) return encoder.encode(JSON.stringify(applied(body.value, edits)))
  const spliced = new Spliced(bytes, plain)
  for (const member of members) {
    const { name } = member
    if (!Object.hasOwn(edits, name)) spliced.keep(member)
    else {
      const edit = edits[name]
      spliced.endRun()
      if (edit !== undefined) spliced.add(name, edit)
    }
  }
  spliced.endRun()
  for (const name in edits) {
    const edit = edits[name]
    if (edit !== undefined && !isAmong(members, name)) spliced.add(name, edit)
  }
  return spliced.end()
}

const isAmong = (members: readonly MemberSpan[], name: string): boolean => {
  for (const member of members) if (member.name === name) return true
  return false
}

/** An object's text on its way from members that are kept and members that are new. */
class Spliced {
  readonly #bytes: Uint8Array
  readonly #plain: string | undefined
  readonly #pieces: (string | Uint8Array)[] = []
  /** Text not yet among the pieces, and what stands before the next member. */
  #text = ''
  #separator = '{'
  /** Neighbours that are kept go out as one run of bytes. */
  #from = -1
  #to = -1

  constructor(bytes: Uint8Array, plain: string | undefined) {
    this.#bytes = bytes
    this.#plain = plain
  }

  keep({ start, end }: ByteSpan): void {
    if (this.#from < 0) this.#from = start
    this.#to = end
  }

  endRun(): void {
    if (this.#from < 0) return
    this.#text += this.#separator
    if (this.#plain === undefined) {
      this.#pieces.push(this.#text, this.#bytes.subarray(this.#from, this.#to))
      this.#text = ''
    } else this.#text += this.#plain.slice(this.#from, this.#to)
    this.#separator = ','
    this.#from = -1
  }

  add(name: string, value: string): void {
    this.#text += `${this.#separator}"${name}":${value}`
    this.#separator = ','
  }

  end(): Uint8Array {
    this.#text += this.#separator === '{' ? '{}' : '}'
    return this.#pieces.length === 0 ? encoder.encode(this.#text) : joined([...this.#pieces, this.#text])
  }
}

/** Texts and bytes as one run of bytes, copied once. */
const joined = (pieces: readonly (string | Uint8Array)[]): Uint8Array => {
  let length = 0
  for (const piece of pieces) length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  const whole = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') at += whole.write(piece, at)
    else {
      whole.set(piece, at)
      at += piece.length
    }
  }
  return whole
}

const applied = (value: JsonObject, edits: Edits): JsonObject => {
  const changed: Record<string, Json | undefined> = { ...value }
  for (const [name, edit] of Object.entries(edits)) {
    if (edit === undefined) delete changed[name]
    else changed[name] = JSON.parse(edit)
  }
  return changed
}

export const concat = (pieces: readonly Uint8Array[]): Uint8Array => {
  let length = 0
  for (const piece of pieces) length += piece.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** An index, such as `7`: objects list such names before all others, wherever they stood. */
const INDEX = /^\d+$/

/** Gives the members their names, in the order in which both stand. */
const withNames = (spans: readonly MemberSpan[], value: JsonObject): readonly MemberSpan[] | undefined => {
  let place = 0
  for (const name in value) {
    const span = spans[place++]
    if (span === undefined || (place === 1 && INDEX.test(name))) return undefined
    span.name = name
  }
  return place === spans.length ? spans : undefined
}

/** Bytes of memory that parsed JSON takes for each array or object, member and value, as measured, beside its texts. */
const CONTAINER_BYTES = 80
const MEMBER_BYTES = 24
const VALUE_BYTES = 24

/** Looks through a body before it is parsed: where the members of its object stand, and what its values will weigh. */
export const scanJson = (bytes: Uint8Array, valuesMax = VALUE_LIMIT): Scan => {
  const spans: MemberSpan[] = []
  let over: Scan['over']
  let depth = 0
  let values = 0
  let containers = 0
  let named = 0
  let start = -1
  let valueStart = -1
  for (let at = 0; at < bytes.length && over === undefined; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      if (depth === 1 && start < 0) start = at
      at = stringEnd(bytes, at)
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      containers++
      if (++depth > DEPTH_LIMIT) over = 'too deep'
    } else if (byte === COLON) {
      named++
      if (depth === 1) valueStart = at + 1
    } else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 1 && valueStart >= 0) {
        spans.push({ name: '', start, valueStart, end: at })
        start = -1
        valueStart = -1
      }
      if (byte !== COMMA) depth--
      else if (++values > valuesMax) over = 'too many'
    }
  }
  const weight = bytes.length + containers * CONTAINER_BYTES + named * MEMBER_BYTES + values * VALUE_BYTES
  return { spans, valuesMax, over, weight }
}

/** Bytes looked at one by one before the native search takes over: most strings are short, prompts are long. */
const SHORT = 48

/** Index of the quote that ends the string which begins at `start`. */
const stringEnd = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  for (;;) {
    const stop = Math.min(at + SHORT, bytes.length)
    for (; at < stop; at++) {
      const byte = bytes[at]
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) return at
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return bytes.length
    let slashes = 0
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
    at = quote + 1
  }
}
