/**
 * A look through the bytes of a JSON object before anything is made of them: where its members stand, what its values will
 * weigh, and which long texts need not be read. Source of the format: RFC 8259.
 */

/** Where a top-level member stands: `start` is its key's quote, [valueStart, end) its value. */
export type ByteSpan = { readonly start: number; readonly valueStart: number; readonly end: number }
export type MemberSpan = ByteSpan & { name: string }

/** What a look through a body's bytes told; of bytes that are no JSON it tells nothing. */
export type Scan = {
  /** The top-level members; parsing gives them their names. */
  readonly spans: readonly MemberSpan[]
  /** Bytes of memory that the parsed body will take, beside the bytes that came. */
  readonly weight: number
  readonly valuesMax: number
  readonly over: 'too deep' | 'too many' | undefined
  /** Where the long texts of a conversation begin and end between their quotes, one after the other. */
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

/** Texts up to this length, and all in bodies up to that, are read with the rest: that is faster. */
const LONG_TEXT = 1024
const LONG_BODY = 16 * 1024

const namesOf = (...names: readonly string[]) => names.map((name) => Buffer.from(`"${name}"`))

/** The members of a body in which conversations stand, and the members below them that hold words. */
const conversations = namesOf(
  'messages',
  'input',
  'contents',
  'system',
  'systemInstruction',
  'system_instruction',
)
const words = namesOf('text', 'content', 'output', 'arguments')

/** Whether the string at this quote is a conversation's words; `member` is where the name of the body's member stands. */
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

/** Index of the last byte before this one that is no white space. */
const lastLetter = (bytes: Uint8Array, before: number): number => {
  let at = before - 1
  while (at > 0 && (bytes[at] ?? 0) <= SPACE) at--
  return at
}

const standsAt = (bytes: Uint8Array, at: number, name: Uint8Array): boolean => {
  for (let index = 0; index < name.length; index++) if (bytes[at + index] !== name[index]) return false
  return true
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
