/**
 * All products of a catalogue with their names, to be found by id, by tool, or by what they are. Built once per
 * catalogue.
 */
import type { Category, Model } from '../core/model.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { capabilitiesOf, categoryOf } from './capabilities.ts'
import { metaTools } from './meta-tools.ts'

export type Item = Names & {
  readonly model: Model
  readonly category: Category
  readonly name: string
  readonly description: string
  /** The text that searches look through, in lower case. */
  readonly words: string
}

export type Shelf = {
  /** In the order of ids. */
  readonly items: readonly Item[]
  readonly byId: ReadonlyMap<string, Item>
  readonly byTool: ReadonlyMap<string, Item>
  /** Products that agents see without asking. */
  readonly featured: readonly Item[]
  /** Categories and vendors with the number of their products, sorted by name. */
  readonly categories: readonly (readonly [Category, number])[]
  readonly vendors: readonly (readonly [string, number])[]
  /** When it was built, as ISO 8601. */
  readonly madeAt: string
}

const FEATURED_MOST = 40

/** What people call it. */
export const titleOf = (model: Model): string => {
  const name = model.product?.title ?? model.id.slice(model.vendor.length + 1)
  return model.cheaper === undefined ? name : `${name} (discounted)`
}

const descriptionOf = (model: Model): string => {
  if (model.product !== undefined) return model.product.description
  const tokens = (count: number) => count.toLocaleString('en')
  if (model.kind === 'embeddings')
    return `The embeddings model ${model.upstreamName} of ${model.vendor}: inputs of up to ${tokens(model.contextTokens)} tokens.`
  const tier = model.cheaper === undefined ? '' : ' Served at lower priority for less.'
  return `The chat model ${model.upstreamName} of ${model.vendor}: up to ${tokens(model.contextTokens)} tokens of context and ${tokens(model.maxOutputTokens)} of output.${tier}`
}

const counted = <T extends string>(all: readonly T[]): readonly (readonly [T, number])[] => {
  const counts = new Map<T, number>()
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Takes one of each category in turn and, within a category, one of each vendor before the second of any. */
const featuredOf = (items: readonly Item[]): readonly Item[] => {
  const seen = new Map<string, number>()
  const numberIn = (name: string): number => {
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count
  }
  const ranked = items
    .filter(({ model }) => model.kind === 'media')
    .map((item) => ({ item, round: numberIn(`${item.category} of ${item.model.vendor}`) }))
    .sort((a, b) => a.round - b.round)
    .map(({ item }) => ({ item, turn: numberIn(item.category) }))
  return ranked
    .sort((a, b) => a.turn - b.turn)
    .slice(0, FEATURED_MOST)
    .map(({ item }) => item)
}

/** Puts models on a shelf. */
const shelfOf = (models: readonly Model[], madeAt: string): Shelf => {
  const names = namesOf(
    models.map(({ id }) => id),
    metaTools.map(({ name }) => name),
  )
  const items = models.map((model): Item => {
    const { slug = model.id, tool = model.id } = names.get(model.id) ?? {}
    const category = categoryOf(model)
    const [name, description] = [titleOf(model), descriptionOf(model)]
    const words = [model.id, name, category, ...capabilitiesOf(model), description].join(' ').toLowerCase()
    return { model, slug, tool, category, name, description, words }
  })
  return {
    items,
    byId: new Map(items.map((item) => [item.model.id, item])),
    byTool: new Map(items.map((item) => [item.tool, item])),
    featured: featuredOf(items),
    categories: counted(items.map(({ category }) => category)),
    vendors: counted(items.map(({ model }) => model.vendor)),
    madeAt,
  }
}

const shelves = new WeakMap<readonly Model[], Shelf>()

/**
 * The shelf of a catalogue as it is now, rebuilt when a model has ended or its price has changed. `now` in ms since
 * 1970.
 */
export const shelfFor = (catalogue: Catalogue, now: number): Shelf => {
  const models = catalogue.list()
  const known = shelves.get(models)
  if (known !== undefined) return known
  const made = shelfOf(models, new Date(now).toISOString())
  shelves.set(models, made)
  return made
}

type Wanted = {
  readonly category?: readonly string[]
  readonly vendor?: string
  /** Words that must all occur. */
  readonly q?: string
}

/** The matching items, in order. */
export const found = ({ items }: Shelf, { category, vendor, q = '' }: Wanted): readonly Item[] => {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter(
    (item) =>
      category?.includes(item.category) !== false &&
      (vendor === undefined || item.model.vendor === vendor) &&
      words.every((word) => item.words.includes(word)),
  )
}

/** Names for agents and addresses: no slashes or dots, of bounded length, and different for any two products. */
const TOOL_MOST = 64
const HASH_LETTERS = 8

const hashOf = (id: string): string =>
  new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, HASH_LETTERS)

/** The name; if it is too long or taken, its end is replaced by a hash of the id. */
const unlike = (name: string, id: string, most: number): string =>
  `${name.slice(0, most - HASH_LETTERS - 1)}-${hashOf(id)}`

/** The id with `-` in place of `/` and `.`. */
const slugOf = (id: string): string => id.replaceAll(/[^A-Za-z0-9_-]/g, '-')

/** `<vendor>_<name>` in the letters that agents allow in names of tools. */
const toolOf = (id: string): string => id.replace('/', '_').replaceAll(/[^A-Za-z0-9_-]/g, '-')

type Names = { readonly slug: string; readonly tool: string }

/**
 * Names of products by their ids. If two would get the same name, the first keeps it; names in `taken` go to no
 * product.
 */
export const namesOf = (ids: readonly string[], taken: readonly string[]): ReadonlyMap<string, Names> => {
  const slugs = new Set<string>()
  const tools = new Set<string>(taken)
  const free = (name: string, id: string, { used, most }: { used: Set<string>; most: number }): string => {
    const given = name.length > most || used.has(name) ? unlike(name, id, most) : name
    used.add(given)
    return given
  }
  return new Map(
    ids.map((id) => [
      id,
      {
        slug: free(slugOf(id), id, { used: slugs, most: Number.MAX_SAFE_INTEGER }),
        tool: free(toolOf(id), id, { used: tools, most: TOOL_MOST }),
      },
    ]),
  )
}
