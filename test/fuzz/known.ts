/** What answers have named so far: ids, keys, receipts and claims, which later requests use. */
import { isObject, parseJson } from '../../src/core/json-body.ts'
import type { Choose } from './choose.ts'

const KEPT = 200
const TOKENS_KEPT = 6

export type Known = {
  /** Values for paths, and for members and headers that name things. */
  readonly names: string[]
  readonly subWallets: string[]
  /** Keys that can call. */
  readonly tokens: string[]
  readonly receipts: string[]
  readonly claims: string[]
}

export const nothingKnown = (): Known => ({ names: [], subWallets: [], tokens: [], receipts: [], claims: [] })

const keep = (list: string[], value: unknown, most = KEPT): void => {
  if (typeof value !== 'string' || value === '' || list.includes(value)) return
  list.push(value)
  if (list.length > most) list.shift()
}

/** Notes what an answer names. */
export const learn = (known: Known, response: Response, text: string): void => {
  keep(known.receipts, response.headers.get('x-receipt'))
  keep(known.claims, response.headers.get('x-change-claim'))
  keep(known.names, response.headers.get('x-request-id'))
  const value = parseJson(text)
  if (!response.ok || !isObject(value)) return
  const data = isObject(value.data) ? value.data : value
  keep(known.names, data.id)
  keep(known.names, data.code)
  keep(known.tokens, data.key, TOKENS_KEPT)
  keep(known.tokens, data.api_key, TOKENS_KEPT)
  if (typeof data.id === 'string' && data.id.startsWith('sub_')) keep(known.subWallets, data.id)
}

/** One of the list, or a stand-in while the list is empty. */
export const oneOf = (list: readonly string[], choose: Choose, otherwise: string): string =>
  list.length === 0 ? otherwise : choose.one(list)
