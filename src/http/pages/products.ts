/** Descriptors of products: `/products.json`, `/products/{id}/product.json`, and their vocabulary. */
import { invalid, must, refuse } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { contextOf, contextUrl, descriptorOf, summaryOf } from '../../products/descriptor.ts'
import { found, type Item } from '../../products/shelf.ts'
import { publicJson, publicReply } from '../answer/public-reply.ts'
import { readQuery } from '../request/query.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { placeOf, shelfHere } from './place.ts'

export const productQuery = ['category', 'vendor', 'q', 'page', 'limit'] as const

const LIMIT = 50
const LIMIT_MOST = 100
const PAGES_MOST = 1_000_000
const WORDS_MOST = 200

const whole = (name: string, text: string | undefined, fallback: number, most: number): number => {
  if (text === undefined) return fallback
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most) throw invalid(name, `'${name}' must be a whole number from 1 to ${most}.`)
  return value
}

/** The part of the shelf that a query asks for, and where the next part begins. */
export const shelfPage = (gateway: Gateway, { query }: HttpCall) => {
  const read = must(readQuery(query, productQuery))
  const page = whole('page', read.get('page'), 1, PAGES_MOST)
  const limit = whole('limit', read.get('limit'), LIMIT, LIMIT_MOST)
  const q = read.get('q') ?? ''
  if (q.length > WORDS_MOST) throw invalid('q', `'q' has at most ${WORDS_MOST} letters.`)
  const category = read.get('category')
  const vendor = read.get('vendor')
  const shelf = shelfHere(gateway)
  const all = found(shelf, {
    ...(category === undefined || category === '' ? {} : { category: category.split(',') }),
    ...(vendor === undefined || vendor === '' ? {} : { vendor }),
    q,
  })
  const items = all.slice((page - 1) * limit, page * limit)
  const at = (number: number) =>
    new URLSearchParams({ ...Object.fromEntries(read), page: String(number) }).toString()
  return {
    shelf,
    items,
    total: all.length,
    wanted: { category, vendor, q },
    previous: page > 1 ? at(page - 1) : undefined,
    next: page * limit < all.length ? at(page + 1) : undefined,
  }
}

export const listProducts: Handler = async (gateway, call) => {
  const place = placeOf(gateway, call)
  const { shelf, items, total, next, previous } = shelfPage(gateway, call)
  const address = (query: string | undefined) =>
    query === undefined ? null : `${place.base}/products.json?${query}`
  return publicJson(call, {
    '@context': contextUrl(place),
    object: 'list',
    data: items.map((item) => summaryOf(item, place)),
    total,
    next: address(next),
    previous: address(previous),
    categories: Object.fromEntries(shelf.categories),
    vendors: Object.fromEntries(shelf.vendors),
  })
}

export const getContext: Handler = async (gateway, call) =>
  publicJson(call, contextOf(placeOf(gateway, call)), 'application/ld+json')

/** The product by its id, short name or alias. Throws the 404. */
export const itemNamed = (gateway: Gateway, name: string): Item => {
  const id = gateway.offering.catalogue.find(name)?.id
  const item = id === undefined ? undefined : shelfHere(gateway).byId.get(id)
  if (item === undefined)
    throw refuse('not_found', `There is no product '${name}'; /products.json lists those there are.`)
  return item
}

/** The descriptor; its ETag stays the same while only its time changes. */
export const descriptorReply = (gateway: Gateway, call: HttpCall, name: string): Answer => {
  const item = itemNamed(gateway, name)
  const whole = descriptorOf(shelfHere(gateway), item, placeOf(gateway, call))
  const { generated_at: _time, ...same } = whole
  return publicReply(call, {
    type: 'application/json',
    text: JSON.stringify(whole),
    same: JSON.stringify(same),
  })
}

/** The name of the product whose descriptor an address asks for; undefined if it asks for the page. */
export const descriptorNamed = (rest: string): string | undefined =>
  /^(.+?)(?:\/product\.json|\.json)$/.exec(rest)?.[1]
