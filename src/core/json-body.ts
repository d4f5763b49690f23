/**
 * JSON bodies: parsed once, kept as the bytes that came, and edited by splicing.
 *
 * What Turnpike validated and priced is exactly what it sends on: unknown members, number spellings and member order
 * survive, and a large prompt is copied once instead of being serialised again. Source of the format: RFC 8259.
 */
import { isUtf8 } from 'node:buffer'
import { must, Refusal, refuse } from './refusal.ts'
import { type ByteSpan, DEPTH_LIMIT, type MemberSpan, type Scan, scanJson } from './scan-json.ts'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json | undefined }

export type JsonBody = {
  readonly bytes: Uint8Array
  /** The parsed body. A body with long texts is parsed on first use, which throws the Refusal of invalid JSON. */
  readonly value: JsonObject
  /**
   * The parsed body without its words: each long text of a conversation is cut to a single character. For checks that
   * do not need the text.
   */
  readonly outline: JsonObject
  /** The body as a string in which every character is one byte; undefined for other bodies, and for long ones. */
  readonly text?: string | undefined
  /**
   * Top-level members in order. Undefined when a name occurs twice or is a number, because splicing would be ambiguous.
   */
  readonly members: readonly MemberSpan[] | undefined
}

/**
 * New values by member name, as JSON text; undefined removes the member. We choose the names, so they need no escapes.
 */
export type Edits = Readonly<Record<string, string | undefined>>

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
const encoder = new TextEncoder()

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object without its undefined members. */
export const present = <T extends Readonly<Record<string, unknown>>>(object: T): Present<T> => {
  const kept: Record<string, unknown> = {}
  for (const name in object) if (object[name] !== undefined) kept[name] = object[name]
  return kept as Present<T>
}

/** Makes members that may be undefined optional instead. */
type Present<T> = {
  [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name]
} & { [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined> }

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
  // A body whose values would exceed the memory limit is refused before anything is built from it.
  if (scan.over === 'too deep')
    return refuse('invalid_json', `The body is nested deeper than ${DEPTH_LIMIT} levels.`)
  if (scan.over === 'too many')
    return refuse('invalid_json', `The body holds more than ${scan.valuesMax} values.`)
  if (scan.texts.length > 0) return readOutline(bytes, scan)
  const text = decoded(bytes)
  if (text === undefined) return notUtf8()
  const value = objectIn(text)
  if (value instanceof Refusal) return value
  const plain = bytes.length <= TEXT_MAX && text.length === bytes.length ? text : undefined
  return { bytes, value, outline: value, text: plain, members: withNames(scan.spans, value) }
}

const notUtf8 = () => refuse('invalid_json', 'The body is not valid UTF-8.')

const decoded = (bytes: Uint8Array): string | undefined => {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

const objectIn = (text: string): JsonObject | Refusal => {
  const value = parseJson(text)
  if (value === undefined) return refuse('invalid_json', 'The body is not valid JSON.')
  return isObject(value) ? value : refuse('invalid_json', 'The body must be a JSON object.')
}

/** Takes the place of a long text in an outline. */
const WORDS = encoder.encode('…')

/**
 * Parses everything except the long texts. Whether those are valid JSON strings is checked when somebody reads them.
 */
const readOutline = (bytes: Uint8Array, { spans, texts }: Scan): JsonBody | Refusal => {
  if (!isUtf8(bytes)) return notUtf8()
  const pieces: Uint8Array[] = []
  let from = 0
  for (let index = 0; index < texts.length; index += 2) {
    pieces.push(bytes.subarray(from, texts[index]), WORDS)
    from = texts[index + 1] ?? from
  }
  pieces.push(bytes.subarray(from))
  const outline = objectIn(strictUtf8.decode(concat(pieces)))
  return outline instanceof Refusal ? outline : new OutlinedBody(bytes, outline, withNames(spans, outline))
}

/** A body whose long texts are parsed only on request. */
class OutlinedBody implements JsonBody {
  readonly bytes: Uint8Array
  readonly outline: JsonObject
  readonly members: JsonBody['members']
  #value: JsonObject | undefined

  constructor(bytes: Uint8Array, outline: JsonObject, members: JsonBody['members']) {
    this.bytes = bytes
    this.outline = outline
    this.members = members
  }

  get value(): JsonObject {
    this.#value ??= must(objectIn(strictUtf8.decode(this.bytes)))
    return this.#value
  }
}

/** Up to this length, joining strings is faster than copying bytes. */
const TEXT_MAX = 16 * 1024

/** The body of an object that did not arrive over the wire. */
export const bodyOf = (value: JsonObject): JsonBody => {
  const members: MemberSpan[] = []
  let text = ''
  let start = 1
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const key = `${JSON.stringify(name)}:`
    const written = JSON.stringify(member)
    text += `${members.length === 0 ? '{' : ','}${key}${written}`
    const valueStart = start + Buffer.byteLength(key)
    const end = valueStart + Buffer.byteLength(written)
    members.push({ name, start, valueStart, end })
    start = end + 1
  }
  return { bytes: encoder.encode(members.length === 0 ? '{}' : `${text}}`), value, outline: value, members }
}

/** The body's bytes with the edits applied; members that are not named keep their bytes. */
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

/** Builds an object's text from kept and new members. */
class Spliced {
  readonly #bytes: Uint8Array
  readonly #plain: string | undefined
  readonly #pieces: (string | Uint8Array)[] = []
  /** Text that is not yet among the pieces, and the separator before the next member. */
  #text = ''
  #separator = '{'
  /** Adjacent kept members go out as one run of bytes. */
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

/** Joins strings and bytes into one run of bytes, copied once. */
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

/** An index such as `7`: JavaScript objects list such names before all others, wherever they stood in the text. */
const INDEX = /^\d+$/

/** Gives the members their names; spans and names are in the same order. */
const withNames = (spans: readonly MemberSpan[], value: JsonObject): readonly MemberSpan[] | undefined => {
  let place = 0
  for (const name in value) {
    const span = spans[place++]
    if (span === undefined || (place === 1 && INDEX.test(name))) return undefined
    span.name = name
  }
  return place === spans.length ? spans : undefined
}
