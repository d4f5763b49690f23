/** The catalogue: which models this server sells, under which names, at which prices. Made once at the start. */
import type { Capability, Model, Price, RequestStyle, Tier, UnitPrices } from '../core/model.ts'
import { nanoFromDecimal, type Pico } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { type UsageClass, usageClasses } from '../core/usage.ts'
import table from './catalogue.json' with { type: 'json' }
import { type Change, eachInTime, type GivenPrice, inTime, type Later, modelAt } from './dated.ts'

export type Catalogue = {
  /**
   * Finds a model by full id, by short id if its vendor has those, by either with the trailing `l` of the discounted
   * family, or by an alias of the operator's; as it is sold now, or was `at` an instant. A retired model is not found.
   */
  find(name: string, at?: number): Model | undefined
  list(): readonly Model[]
  /**
   * When the vendor retired the model of that name, in ms since 1970; undefined for models that are sold or unknown.
   */
  ended(name: string): number | undefined
}

/** The model as it is sold in this tier of its vendor's; undefined if it is not. */
export const inTier = ({ find }: Pick<Catalogue, 'find'>, model: Model, tier: string): Model | undefined =>
  [model, find(`${model.id}l`)].find(
    (one) => one?.cheaper?.tier === tier && one.upstreamName === model.upstreamName,
  )

/** What the catalogue needs to know of a vendor that is on. */
type SoldVendor = {
  readonly id: string
  readonly shortIds?: boolean
  /** Its own name for a model of the price table; by that, prices of the tools that it runs, and how the model is asked. */
  readonly wireName?: (name: string) => string
  readonly hostedRatesOf?: (upstreamName: string) => UnitPrices | undefined
  readonly requestStyleOf?: (upstreamName: string) => RequestStyle | undefined
}

/** The operator's price for a model: present rates and tiers, and later ones. */
export type Override = GivenPrice & { readonly later?: readonly Later[] }

type CatalogueParts = {
  readonly vendors: readonly SoldVendor[]
  /** Models beside those of the price table; one with the same id replaces the table's. */
  readonly extra: readonly TableModel[]
  /** Prices by model id that replace those of the table. */
  readonly overrides: Readonly<Record<string, Override>>
  /** Model ids or short ids, by their aliases. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Factors as decimal texts: the markup on vendors' prices, and a further one on discounted prices. */
  readonly markup: string
  readonly discount: string
  /** The time, in ms since 1970, because models end on a date. */
  readonly now: () => number
}

type CatalogueEntry = {
  readonly rates: Readonly<Record<string, number>>
  readonly tiers?: readonly { readonly above: number; readonly rates: Readonly<Record<string, number>> }[]
  readonly context: number
  readonly output: number
  readonly kind?: string
  readonly has: string
  readonly ends?: string
  readonly cheaper?: { readonly tier: string; readonly atFullPrice?: readonly string[] }
}

/** For vendors that do not say what an image costs: more tokens than any usual image has. */
const IMAGE_TOKENS_MAX = 6_000
/** Small OpenAI models count an image as up to this many tokens (2 833 and 5 667 for each of eight tiles). */
const IMAGE_TOKENS_MAX_MINI = 50_000

/** Builds the catalogue. Throws an Error that names the setting if an override or an alias names no model. */
export const buildCatalogue = (parts: CatalogueParts): Catalogue => {
  const sold = pricedModels(parts)
  const names = new Map(sold)
  for (const [name, model] of shortNames(sold, parts.vendors)) names.set(name, model)
  const hasEnded = ({ endsAt }: Model, at?: number) => endsAt !== undefined && endsAt <= (at ?? parts.now())
  addAliases(names, sold, { aliases: parts.aliases ?? {}, hasEnded })
  const all = [...sold.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  let last: readonly Model[] = []
  return {
    find: (name, at) => {
      const model = names.get(name)
      if (model === undefined || hasEnded(model, at)) return undefined
      return model.coming === undefined ? model : modelAt(model, at ?? parts.now())
    },
    list: () => {
      const now = parts.now()
      const listed = all.filter((model) => !hasEnded(model)).map((model) => modelAt(model, now))
      // The same list object until the models change, so that what others derive from it stays cached.
      if (listed.length !== last.length || listed.some((model, at) => model !== last[at])) last = listed
      return last
    },
    ended: (name) => {
      const model = names.get(name)
      return model !== undefined && hasEnded(model) ? model.endsAt : undefined
    },
  }
}

/** A place of turnpike.yaml names a model that is not sold. */
export class NoSuchModel extends Error {
  readonly model: string

  constructor(place: string, model: string, kind = '') {
    super(`${place}: there is no ${kind}model '${model}'`)
    this.model = model
  }
}

/** The models of the table and the operator's, by id, at their selling prices, with their discounted twins. */
const pricedModels = (parts: CatalogueParts): Map<string, Model> => {
  const markup = factorOf(parts.markup)
  const discount = factorOf(parts.discount)
  const byId = new Map<string, TableModel>()
  for (const vendor of parts.vendors) for (const model of tableModels(vendor)) byId.set(model.id, model)
  for (const model of parts.extra) byId.set(model.id, model)
  for (const id of Object.keys(parts.overrides)) if (!byId.has(id)) throw new NoSuchModel('prices', id)
  const sold = new Map<string, Model>()
  const vendors = new Map(parts.vendors.map((vendor) => [vendor.id, vendor]))
  for (const { lower, later = [], ...found } of byId.values()) {
    const requestStyle = found.requestStyle ?? vendors.get(found.vendor)?.requestStyleOf?.(found.upstreamName)
    const model = requestStyle === undefined ? found : { ...found, requestStyle }
    const { later: laterToo = [], ...override } = parts.overrides[model.id] ?? { rates: {} }
    const first = model.id in parts.overrides ? [override] : []
    const changes = [...later, ...laterToo].sort((a, b) => a.from - b.from)
    const own = inTime(changes, (made) => atSellingPrice(model, [...first, ...made], markup))
    sold.set(model.id, own)
    const twin = `${model.id}l`
    if (lower !== undefined && !byId.has(twin))
      sold.set(
        twin,
        eachInTime(own, (one) => ({
          ...one,
          id: twin,
          cheaper: {
            tier: lower.tier,
            price: scaled(one.price, discount, [...(lower.atFullPrice ?? []), 'web_search']),
          },
        })),
      )
  }
  return sold
}

/** The model with the operator's price in place of its own, times the markup. */
const atSellingPrice = (model: Model, changes: readonly Change[], markup: bigint): Model => ({
  ...model,
  price: scaled(changes.reduce(overridden, model.price), markup),
  ...productAtSellingPrice(model, changes, markup),
})

/**
 * A product prices each call by its inputs. Here, too, the operator's price replaces its own, and the markup applies.
 */
const productAtSellingPrice = (
  { product }: Model,
  changes: readonly Change[],
  markup: bigint,
): Pick<Model, 'product'> => {
  if (product === undefined) return {}
  const asSold = (price: Price): Price => scaled(changes.reduce(overridden, price), markup)
  return {
    product: {
      ...product,
      rows: product.rows.map(({ when, price }) => ({ when, price: asSold(price) })),
      price: (inputs) => {
        const priced = product.price(inputs)
        return priced instanceof Refusal ? priced : { ...priced, price: asSold(priced.price) }
      },
    },
  }
}

/**
 * A class that the operator prices has that price at every length of input; the operator's tiers replace the table's.
 */
const overridden = (price: Price, { rates, tiers, from }: Change): Price => ({
  rates: { ...price.rates, ...rates },
  tiers: tiers ?? price.tiers.map((tier) => ({ ...tier, rates: { ...tier.rates, ...rates } })),
  version: from === undefined ? 'config' : `config from ${new Date(from).toISOString()}`,
})

/** Adds the operator's aliases to the names of models. */
const addAliases = (
  names: Map<string, Model>,
  sold: Map<string, Model>,
  it: { readonly aliases: Readonly<Record<string, string>>; readonly hasEnded: (model: Model) => boolean },
): void => {
  const found = new Map<string, Model>()
  for (const [alias, name] of Object.entries(it.aliases)) {
    const model = names.get(name)
    if (model === undefined) throw new NoSuchModel(`aliases.${alias}`, name)
    const taken = names.get(alias)
    if (taken !== undefined && !it.hasEnded(taken))
      throw new Error(`aliases.${alias}: '${alias}' is a model's own name: ${taken.id}`)
    found.set(alias, model)
  }
  for (const [alias, { id }] of found) {
    const model = sold.get(id)
    if (model === undefined) continue
    const named = eachInTime(model, (one) => ({ ...one, aliases: [...(model.aliases ?? []), alias] }))
    for (const [name, one] of names) if (one.id === id) names.set(name, named)
    names.set(alias, named)
    sold.set(id, named)
  }
}

/** Names without the vendor, if exactly one vendor with short ids has them. */
const shortNames = (sold: ReadonlyMap<string, Model>, vendors: readonly SoldVendor[]): Map<string, Model> => {
  const short = new Set(vendors.filter((vendor) => vendor.shortIds === true).map((vendor) => vendor.id))
  const names = new Map<string, Model>()
  const taken = new Set<string>()
  for (const model of sold.values()) {
    const name = model.id.slice(model.vendor.length + 1)
    if (!short.has(model.vendor) || sold.has(name)) continue
    if (names.has(name)) taken.add(name)
    names.set(name, model)
  }
  for (const name of taken) names.delete(name)
  return names
}

/** A model of the table or the operator's before pricing, with the vendor's cheaper tier for it. */
export type TableModel = Model & {
  readonly later?: readonly Later[]
  readonly lower?: { readonly tier: string; readonly atFullPrice?: readonly string[] }
}

const tableModels = (vendor: SoldVendor): readonly TableModel[] => {
  const models: Readonly<Record<string, Readonly<Record<string, CatalogueEntry>>>> = table.models
  return Object.entries(models[vendor.id] ?? {}).map(([name, entry]) => modelOf(vendor, name, entry))
}

const modelOf = (vendor: SoldVendor, name: string, entry: CatalogueEntry): TableModel => ({
  id: `${vendor.id}/${name}`,
  vendor: vendor.id,
  upstreamName: vendor.wireName?.(name) ?? name,
  kind: entry.kind === 'embeddings' ? 'embeddings' : 'chat',
  price: {
    rates: { ...ratesOf(entry.rates), ...(entry.kind === 'embeddings' ? {} : vendor.hostedRatesOf?.(name)) },
    tiers: (entry.tiers ?? []).map(
      (tier): Tier => ({ aboveInputTokens: tier.above, rates: ratesOf(tier.rates) }),
    ),
    version: table.version,
  },
  contextTokens: entry.context,
  maxOutputTokens: entry.output,
  capabilities: capabilitiesOf(entry),
  imageTokensMax: /(?:^|[-.])(?:mini|nano)/.test(name) ? IMAGE_TOKENS_MAX_MINI : IMAGE_TOKENS_MAX,
  ...(entry.ends === undefined ? {} : { endsAt: Date.parse(entry.ends) }),
  ...(entry.cheaper === undefined ? {} : { lower: entry.cheaper }),
})

const capabilitiesOf = (entry: CatalogueEntry): readonly Capability[] => {
  if (entry.kind === 'embeddings') return ['embeddings']
  const capabilities: Capability[] = ['streaming']
  if (entry.has.includes('t')) capabilities.push('function_calling')
  if (entry.has.includes('v')) capabilities.push('vision')
  if (entry.has.includes('r')) capabilities.push('reasoning')
  if (entry.rates.output_audio !== undefined) capabilities.push('audio')
  return capabilities
}

const ratesOf = (rates: Readonly<Record<string, number>>): UnitPrices => {
  const read: { [Class in UsageClass]?: Pico } = {}
  for (const usageClass of usageClasses) {
    const rate = rates[usageClass]
    if (rate !== undefined) read[usageClass] = rate
  }
  return read
}

/** A factor in billionths. */
const factorOf = (decimal: string): bigint => {
  const factor = nanoFromDecimal(decimal)
  if (factor === undefined) throw new Error(`'${decimal}' is not a decimal factor such as 1.15`)
  return factor
}

const BILLION = 1_000_000_000n

/** Prices times a factor, each rounded up to a pico-dollar, except the classes in `but`. */
const scaled = (price: Price, factor: bigint, but: readonly string[] = []): Price => {
  if (factor === BILLION) return price
  const scale = (rates: UnitPrices): UnitPrices =>
    ratesOf(
      Object.fromEntries(
        Object.entries(rates).map(([name, rate]) => [
          name,
          but.includes(name) ? rate : Number((BigInt(rate) * factor + BILLION - 1n) / BILLION),
        ]),
      ),
    )
  return {
    rates: scale(price.rates),
    tiers: price.tiers.map((tier) => ({ ...tier, rates: scale(tier.rates) })),
    version: price.version,
  }
}
