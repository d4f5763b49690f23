/**
 * The texts in JSON, or in events that carry it, each with the members that lead to it, and the same JSON with some of them
 * changed: all other bytes stay as they are. What is not JSON, such as the lines around it, is passed over.
 */

export type JsonText = {
  /** The token with its quotes, or the number. */
  readonly start: number
  readonly end: number
  /** Names of members on the way to it; places in lists are left out. */
  readonly path: readonly string[]
  /** Places in the lists on the way to it. */
  readonly places: readonly number[]
  readonly kind: 'name' | 'text' | 'number'
  /** Counts the objects and lists at the top, one after the other. */
  readonly root: number
}

const QUOTE = '"'

/** The end of the string that begins at `start`, or of the text. */
const stringEnd = (json: string, start: number): number => {
  for (let at = json.indexOf(QUOTE, start + 1); at >= 0; at = json.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (json.charCodeAt(at - 1 - slashes) === 92) slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return json.length
}

const isNumberPart = (code: number): boolean =>
  (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101

/** What a string token says. */
export const saidBy = (token: string): string => {
  const inner = token.slice(1, -1)
  if (!inner.includes('\\')) return inner
  try {
    return String(JSON.parse(token))
  } catch {
    return inner
  }
}

/** All names, texts and numbers, in order. */
export const textsIn = (json: string): JsonText[] => {
  const found: JsonText[] = []
  /** The last name in each open object; undefined for a list. */
  const open: (string | undefined)[] = []
  /** The place in each open list; undefined for an object. */
  const counts: (number | undefined)[] = []
  let named = false
  let root = 0
  const add = (start: number, end: number, kind: JsonText['kind']): void => {
    const path = open.filter((name) => name !== undefined)
    const places = counts.filter((count) => count !== undefined)
    found.push({ start, end, path, places, kind, root })
  }
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at)
    if (code === 34) {
      const end = stringEnd(json, at)
      if (open.length > 0 && !named && open.at(-1) !== undefined) {
        open[open.length - 1] = saidBy(json.slice(at, end))
        add(at, end, 'name')
      } else if (open.length > 0) add(at, end, 'text')
      at = end
      continue
    }
    if (open.length > 0 && (code === 45 || (code >= 48 && code <= 57))) {
      const start = at
      while (at < json.length && isNumberPart(json.charCodeAt(at))) at++
      add(start, at, 'number')
      continue
    }
    at++
    if (code === 123 || code === 91) {
      open.push(code === 123 ? '' : undefined)
      counts.push(code === 123 ? undefined : 0)
      named = false
    } else if (code === 125 || code === 93) {
      open.pop()
      counts.pop()
      if (open.length === 0) root++
    } else if (code === 58) named = true
    else if (code === 44) {
      named = false
      const count = counts.at(-1)
      if (count !== undefined) counts[counts.length - 1] = count + 1
    }
  }
  return found
}

/** The JSON with texts changed as `said` tells, by their places; undefined keeps one. */
export const withTexts = (
  json: string,
  texts: readonly JsonText[],
  said: (text: JsonText, at: number) => string | undefined,
): string => {
  let out = ''
  let from = 0
  for (const [at, text] of texts.entries()) {
    const now = said(text, at)
    if (now === undefined) continue
    out += json.slice(from, text.start) + JSON.stringify(now)
    from = text.end
  }
  return from === 0 ? json : out + json.slice(from)
}

const BASE64_LEAST = 256
const DATA_URL = /^data:[\w.+/-]{0,100}(?:;[\w.=-]{0,100}){0,4};base64,[\w+/=-]*$/

/** Bytes as text, in which there is nothing to read: words behind `data:` are words. */
export const isBinary = (text: string): boolean =>
  DATA_URL.test(text) || (text.length > BASE64_LEAST && /^[A-Za-z0-9+/]+={0,2}$/.test(text))

/** Members whose texts are JSON themselves. */
const NESTED = new Set(['arguments', 'partial_json'])

export const isNested = ({ path }: Pick<JsonText, 'path'>): boolean => NESTED.has(path.at(-1) ?? '')

export const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** What a part of JSON in a text says. */
export const unescaped = (text: string): string => (text.includes('\\') ? saidBy(`"${text}"`) : text)
