/** What the tools of one request need in order to answer. */

import { allowedFor } from '../../gateway/enter/rules.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Place } from '../../products/place.ts'
import type { Item } from '../../products/shelf.ts'
import { toldModel } from '../../products/told-model.ts'
import type { Key } from '../../tenancy/key.ts'
import type { HttpCall, Route } from '../route/route.ts'

export type McpCall = {
  readonly gateway: Gateway
  readonly call: HttpCall
  /** The credential as sent; null for a guest. */
  readonly authorization: string | null
  /** The key behind it; undefined for a guest. */
  readonly key: Key | undefined
  readonly place: Place
  readonly routes: readonly Route[]
}

/** Those of the products that the caller may use, by the rules of its wallet; a guest sees all. */
export const usable = async ({ gateway, key }: McpCall, items: readonly Item[]): Promise<readonly Item[]> => {
  if (key === undefined) return items
  const allowed = await allowedFor(gateway, key)
  return items.filter(({ model }) => allowed(model)).map((item) => toldItem(key, item))
}

/** A product with the prices that the caller is told. */
export const toldItem = (key: Key | undefined, item: Item): Item =>
  key?.terms === undefined ? item : { ...item, model: toldModel(item.model, key.terms) }
