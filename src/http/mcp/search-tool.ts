/** `search_products`: finds products by what they do, or shows one in full. Free. */
import type { JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { descriptorOf, summaryOf } from '../../products/descriptor.ts'
import { found } from '../../products/shelf.ts'
import type { Key } from '../../tenancy/key.ts'
import { tellsNothing } from '../../tenancy/terms.ts'
import { shelfHere } from '../pages/place.ts'
import { itemNamed } from '../pages/products.ts'
import { type McpCall, toldItem, usable } from './context.ts'
import type { ToolResult } from './result.ts'

const PAGE = 20
const PAGES_MOST = 1_000_000
const WORDS_MOST = 200

const text = (args: JsonObject, name: string): string | undefined => {
  const value = args[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string' && value.length <= WORDS_MOST) return value
  throw invalid(name, `'${name}' must be a text of at most ${WORDS_MOST} letters.`)
}

const pageOf = ({ page = 1 }: JsonObject): number => {
  if (typeof page === 'number' && Number.isSafeInteger(page) && page >= 1 && page <= PAGES_MOST) return page
  throw invalid('page', "'page' must be a whole number from 1 on.")
}

const resultOf = (value: Record<string, unknown>): ToolResult => ({
  structuredContent: value,
  content: [{ type: 'text', text: JSON.stringify(value) }],
})

/** A tenant pays its reseller, in no other way and by no other price. */
const shownTo = (key: Key | undefined, product: Record<string, unknown>): Record<string, unknown> => {
  if (key?.terms === undefined) return product
  const { payment_protocols: _ways, pricing, ...rest } = product
  return tellsNothing(key.terms) ? rest : { ...rest, pricing }
}

export const searchTool = async (it: McpCall, args: JsonObject): Promise<ToolResult> => {
  const { gateway, place, key } = it
  const shelf = shelfHere(gateway)
  const id = text(args, 'id')
  if (id !== undefined) {
    const item = toldItem(key, itemNamed(gateway, id))
    return resultOf({ product: shownTo(key, descriptorOf(shelf, item, place)) })
  }
  const [category, vendor] = [text(args, 'category'), text(args, 'vendor')]
  const page = pageOf(args)
  const matching = found(shelf, {
    ...(category === undefined ? {} : { category: category.split(',') }),
    ...(vendor === undefined ? {} : { vendor }),
    q: text(args, 'q') ?? '',
  })
  const all = await usable(it, matching)
  const items = all.slice((page - 1) * PAGE, page * PAGE)
  return resultOf({
    products: items.map((item) => shownTo(key, summaryOf(item, place))),
    total: all.length,
    next_page: page * PAGE < all.length ? page + 1 : null,
    categories: Object.fromEntries(shelf.categories),
  })
}
