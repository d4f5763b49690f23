/** `tools/list`: the four tools that find and run any product, and the products that are featured or requested. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { invalid, must, Refusal } from '../../core/refusal.ts'
import { categories } from '../../products/capabilities.ts'
import { found, type Item, type Shelf } from '../../products/shelf.ts'
import { metaToolList, type Tool, toolOf } from '../../products/tool.ts'
import { tellsNothing } from '../../tenancy/terms.ts'
import { shelfHere } from '../pages/place.ts'
import { readQuery, readTruth } from '../request/query.ts'
import { type McpCall, usable } from './context.ts'

const PAGE = 100

/**
 * Which products an address of the server requests: featured ones, categories, single ids, or all. Chat only if it is
 * named.
 */
const wantedBy = (shelf: Shelf, query: string): readonly Item[] => {
  const read = must(readQuery(query, ['category', 'tools', 'all']))
  const [category, tools] = [read.get('category'), read.get('tools')]
  if (tools !== undefined)
    return tools.split(',').map((id) => {
      const item = shelf.byId.get(id)
      if (item === undefined) throw invalid('tools', `'tools' names no product '${id.slice(0, 100)}'.`)
      return item
    })
  if (category !== undefined) {
    const named = category.split(',')
    if (named.every((one) => categories.includes(one))) return found(shelf, { category: named })
    throw invalid('category', `'category' must be of ${categories.join(', ')}.`)
  }
  return must(readTruth('all', read.get('all') === '1' ? 'true' : read.get('all')))
    ? shelf.items.filter((item) => item.model.kind === 'media')
    : shelf.featured
}

const pageOf = (cursor: string | undefined): number => {
  if (cursor === undefined) return 0
  if (!/^[1-9]\d{0,5}$/.test(cursor)) throw invalid('cursor', "'cursor' must be the nextCursor of a list.")
  return Number(cursor)
}

type Listed = { tools: Tool[]; nextCursor?: string }

/** The page at a cursor. Throws the protocol's error if the cursor is wrong. */
export const listTools = async (it: McpCall, cursor: string | undefined): Promise<Listed> => {
  try {
    return await listed(it, cursor)
  } catch (thrown) {
    if (thrown instanceof Refusal) throw new ProtocolError(ProtocolErrorCode.InvalidParams, thrown.message)
    throw thrown
  }
}

const listed = async (it: McpCall, cursor: string | undefined): Promise<Listed> => {
  const { gateway, call, place, key } = it
  const priced = !tellsNothing(key?.terms)
  const items = await usable(it, wantedBy(shelfHere(gateway), call.query))
  const page = pageOf(cursor)
  const shown = items.slice(page * PAGE, (page + 1) * PAGE).map((item) => toolOf(item, place, priced))
  return {
    tools: page === 0 ? [...metaToolList, ...shown] : shown,
    ...((page + 1) * PAGE < items.length ? { nextCursor: String(page + 1) } : {}),
  }
}
