/**
 * What is kept, as it is loaded: its bytes are counted before it is read from the store, and what they become before they
 * are parsed. A few bytes can name much, many times over.
 */
import type { Json } from '../../core/json-body.ts'
import type { KeyId } from '../../tenancy/key.ts'
import { readWeighed, type Taken, takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { tooLong } from './socket-turn.ts'

/** Whose items they are, and for whom their bytes are counted. */
export type Loading = { readonly keyId: KeyId; readonly taken: Taken }

/** Counts bytes that are to be loaded. Throws the 413 of more than a request may have. */
export const makeRoom = ({ capacity, options }: Gateway, { taken }: Loading, bytes: number): void => {
  if (bytes > options.bodyBytesMax) throw tooLong()
  takeBytes(capacity, taken, bytes)
}

const encoder = new TextEncoder()

/** Items from their JSON, one or a list of them in each text. */
export const itemsFrom = (
  { capacity }: Gateway,
  { taken }: Loading,
  texts: readonly string[],
): readonly Json[] => {
  if (texts.length === 0) return []
  const { items } = readWeighed(capacity, taken, encoder.encode(`{"items":[${texts.join()}]}`)).value
  return Array.isArray(items) ? items.flat() : []
}

/**
 * The items that are named, by id; missing ones are left out. Each is loaded and read once, and counted as often as it is
 * named.
 */
export const itemsNamed = async (
  gateway: Gateway,
  loading: Loading,
  names: readonly string[],
): Promise<ReadonlyMap<string, Json>> => {
  const { responses } = gateway.store
  if (names.length === 0) return new Map()
  const sizes = await responses.itemSizes(loading.keyId, [...new Set(names)])
  if (sizes.size === 0) return new Map()
  makeRoom(
    gateway,
    loading,
    names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0),
  )
  const kept = await responses.keptItems(loading.keyId, sizes)
  const items = itemsFrom(gateway, loading, [...kept.values()])
  return new Map([...kept.keys()].map((id, at) => [id, items[at] ?? null]))
}
