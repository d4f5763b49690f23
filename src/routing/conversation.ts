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
 * else its user and the beginning of the prompt, which stays the same while turns are added. Undefined for calls that have
 * none.
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

/** The bytes of a member as text, to the end that `endOf` finds; undefined for bodies that did not come over the wire. */
const sentText = (
  { members, bytes }: JsonBody,
  name: string,
  endOf: (from: number, end: number) => number,
): string | undefined => {
  const span = members?.find((one) => one.name === name)
  if (span === undefined) return undefined
  const from = span.valueStart
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, endOf(from, span.end) - from).toString()
}

/** The turns up to the first one of the user; of long ones the beginning. */
const firstTurns = (body: JsonBody, name: string): string => {
  const turns = body.outline[name]
  if (turns === undefined) return ''
  // A plain text is the first turn, which in later requests is an item.
  if (!Array.isArray(turns)) {
    const sent = sentText(body, name, (from, end) => Math.min(end, from + HEAD_BYTES))
    return headOf([{ type: 'message', role: 'user', content: parseJson(sent ?? '') ?? sent ?? turns }])
  }
  const user = turns.findIndex((turn) => isObject(turn) && turn.role === 'user')
  const items = Math.max(user, 0) + 1
  const sent = sentText(body, name, (from, end) =>
    endOfItems(body.bytes, {
      at: body.bytes.indexOf(OPEN_BRACKET, from) + 1,
      items,
      most: Math.min(end, from + HEAD_BYTES),
    }),
  )
  if (sent === undefined) return headOf(turns.slice(0, items))
  const read = parseJson(`${sent}]`)
  return Array.isArray(read) ? headOf(read) : sent
}

const headOf = (turns: readonly Json[]): string => JSON.stringify(turns).slice(0, HEAD_BYTES)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const OPEN = new Set([OPEN_BRACKET, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])

/** Where so many items of an array end whose first item begins at or after `at`; `most` if they do not before it. */
const endOfItems = (
  bytes: Uint8Array,
  { at, items, most }: { readonly at: number; readonly items: number; readonly most: number },
): number => {
  let depth = 0
  let ended = 0
  for (let place = at; place < most; place++) {
    const byte = bytes[place] ?? 0
    if (byte === QUOTE) {
      for (place++; place < most && bytes[place] !== QUOTE; place++) if (bytes[place] === BACKSLASH) place++
    } else if (OPEN.has(byte)) depth++
    else if (CLOSE.has(byte)) {
      // The end of the array itself ends its last item.
      if (--depth < 0) return place
    } else if (byte === COMMA && depth === 0 && ++ended === items) return place
  }
  return most
}
