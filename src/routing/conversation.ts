/**
 * What names a conversation, so that its turns go to the same key of a vendor: vendors keep their prompt caches by key,
 * and cached input is most of an agent's bill. No state is shared or stored: all processes find the same name in a call,
 * and the same key for it (weighted rendezvous hashing, in deployments.ts).
 */
import type { Call } from '../core/call.ts'
import { isObject, type Json, type JsonBody, parseJson } from '../core/json-body.ts'

/** Where a dialect has the turns of a conversation. */
const turnsOf: Readonly<Partial<Record<Call['dialect'], string>>> = {
  chat: 'messages',
  messages: 'messages',
  responses: 'input',
  gemini: 'contents',
  interactions: 'input',
}

/** How much of the first turns tells conversations apart. */
const HEAD_BYTES = 16_384

/**
 * The name of a call's conversation among those of its key: what the caller says (`X-Session-Id`, `prompt_cache_key`),
 * else its user and the beginning of the prompt, whose words stay the same while turns are added. Undefined for calls that
 * have none.
 */
export const conversationOf = (
  { dialect, body, kind }: Pick<Call, 'dialect' | 'body' | 'kind'>,
  by: { readonly keyId: string; readonly session: string | null | undefined },
): string | undefined => {
  const turns = turnsOf[dialect]
  if (kind !== 'chat' || turns === undefined) return undefined
  const { outline } = body
  const named = by.session ?? textOf(outline.prompt_cache_key)
  if (named !== undefined) return `${by.keyId} ${named}`
  const { metadata } = outline
  const user = textOf(isObject(metadata) ? metadata.user_id : undefined) ?? textOf(outline.user) ?? ''
  const head = firstTurns(body, turns)
  return head === '' ? undefined : `${by.keyId} ${user} ${head}`
}

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The words of the turns up to the first one of the user; of long ones the beginning. */
const firstTurns = ({ bytes, members, outline }: JsonBody, name: string): string => {
  const turns = outline[name]
  if (turns === undefined) return ''
  const user = Array.isArray(turns) ? turns.findIndex((turn) => isObject(turn) && turn.role === 'user') : 0
  const span = members?.find((one) => one.name === name)
  const json =
    span === undefined ? encoder.encode(JSON.stringify(turns)) : bytes.subarray(span.valueStart, span.end)
  // A plain text is the first turn, which in later requests is an item.
  const from = Array.isArray(turns) ? json.indexOf(OPEN_BRACKET) + 1 : 0
  return JSON.stringify(wordsIn(json.subarray(from), Math.max(user, 0) + 1))
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const OPEN = new Set([OPEN_BRACKET, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])

/** Members that tell how words are wrapped: a client writes its last turn in blocks, with a mark, and earlier ones plain. */
const WRAPPING = new Set(['type', 'role', 'cache_control'])

/**
 * The texts in so many items, the first of which begins `json`, to the bound of a head: without names of members, and
 * without what only wraps them.
 */
const wordsIn = (json: Uint8Array, items: number): readonly string[] => {
  const words: string[] = []
  let letters = 0
  let depth = 0
  let ended = 0
  let member = ''
  /** The depth of a member that only wraps. */
  let wraps = Number.POSITIVE_INFINITY
  for (let place = 0; place < json.length && letters < HEAD_BYTES; place++) {
    const byte = json[place] ?? 0
    if (byte === QUOTE) {
      const end = endOfText(json, place)
      const isName = isNameAt(json, end + 1)
      if (isName) member = textIn(json, place, end)
      else if (depth < wraps && !WRAPPING.has(member)) {
        words.push(textIn(json, place, Math.min(end, place + HEAD_BYTES)))
        letters += end - place
      }
      if (!isName) member = ''
      place = end
    } else if (OPEN.has(byte)) {
      if (WRAPPING.has(member)) wraps = Math.min(wraps, depth + 1)
      member = ''
      depth++
    } else if (CLOSE.has(byte)) {
      // The end of the array itself ends its last item.
      if (--depth < 0) return words
      if (depth < wraps) wraps = Number.POSITIVE_INFINITY
    } else if (byte === COMMA && depth === 0 && ++ended === items) return words
  }
  return words
}

/** The closing quote of the text whose opening one is at `from`. */
const endOfText = (json: Uint8Array, from: number): number => {
  let end = from + 1
  while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1
  return end
}

/** Whether a colon comes next: then the text before it is a member's name. */
const isNameAt = (json: Uint8Array, from: number): boolean => {
  let at = from
  while ((json[at] ?? COLON) <= 0x20) at++
  return json[at] === COLON
}

/** The text between two quotes, however it was escaped; as it was written where it is cut. */
const textIn = (json: Uint8Array, from: number, end: number): string => {
  const written = decoder.decode(json.subarray(from + 1, end))
  const read = parseJson(`"${written}"`)
  return typeof read === 'string' ? read : written
}
