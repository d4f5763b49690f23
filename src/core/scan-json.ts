/**
 * Scans the bytes of a JSON object before it is parsed: where its members are, how much memory its values will take,
 * and which long texts need not be parsed. Source of the format: RFC 8259.
 */

/** The place of a top-level member: `start` is the quote of its key, [valueStart, end) its value. */
export type ByteSpan = { readonly start: number; readonly valueStart: number; readonly end: number }
export type MemberSpan = ByteSpan & { name: string }

/** The result of a scan. For bytes that are not JSON it means nothing. */
export type Scan = {
  /** The top-level members, without names; parsing adds them. */
  readonly spans: readonly MemberSpan[]
  /** The memory, in bytes, that the parsed body will take beside its bytes. */
  readonly weight: number
  readonly valuesMax: number
  readonly over: 'too deep' | 'too many' | undefined
  /** Where the conversation's long texts begin and end between their quotes, as one flat list. */
  readonly texts: readonly number[]
}

export const DEPTH_LIMIT = 64
const VALUE_LIMIT = 1_000_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20

/** Measured memory, in bytes, of each parsed array or object, member and value, without its text. */
const CONTAINER_BYTES = 80
const MEMBER_BYTES = 24
const VALUE_BYTES = 24

/** Scans a body before it is parsed: where its members are and how much memory its values will take. */
export const scanJson = (bytes: Uint8Array, valuesMax = VALUE_LIMIT): Scan => {
  const spans: MemberSpan[] = []
  let over: Scan['over']
  let depth = 0
  let values = 0
  let containers = 0
  let named = 0
  let start = -1
  let valueStart = -1
  const texts: number[] = []
  for (let at = 0; at < bytes.length && over === undefined; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      if (depth === 1 && start < 0) start = at
      const quote = at
      at = stringEnd(bytes, quote)
      if (at - quote > LONG_TEXT && depth > 1 && isWords(bytes, quote, start)) texts.push(quote + 1, at)
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
  return { spans, valuesMax, over, weight, texts }
}

/** Shorter texts, and all texts of shorter bodies, are parsed with the rest, because that is faster. */
const LONG_TEXT = 1024
const LONG_BODY = 16 * 1024

const namesOf = (...names: readonly string[]) => names.map((name) => Buffer.from(`"${name}"`))

/** The body's members that hold conversations, and the members inside them that hold words. */
const conversations = namesOf(
  'messages',
  'input',
  'contents',
  'system',
  'systemInstruction',
  'system_instruction',
)
const words = namesOf('text', 'content', 'output', 'arguments')

/**
 * Whether the string at this quote is words of a conversation; `member` is the position of the top-level member's name.
 */
const isWords = (bytes: Uint8Array, quote: number, member: number): boolean => {
  if (bytes.length <= LONG_BODY || !conversations.some((name) => standsAt(bytes, member, name))) return false
  const colon = lastLetter(bytes, quote)
  if (bytes[colon] !== COLON) return false
  const end = lastLetter(bytes, colon) + 1
  return words.some((name) => {
    const start = end - name.length
    return standsAt(bytes, start, name) && bytes[start - 1] !== BACKSLASH
  })
}

/** Index of the last byte before this one that is not white space. */
const lastLetter = (bytes: Uint8Array, before: number): number => {
  let at = before - 1
  while (at > 0 && (bytes[at] ?? 0) <= SPACE) at--
  return at
}

const standsAt = (bytes: Uint8Array, at: number, name: Uint8Array): boolean => {
  for (let index = 0; index < name.length; index++) if (bytes[at + index] !== name[index]) return false
  return true
}

/**
 * How many bytes we check one by one before the native search takes over: most strings are short, but prompts are long.
 */
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
