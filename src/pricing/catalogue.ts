/** The catalogue: which models this server sells, under which names, at which prices. Made once at the start. */
import type { Capability, Model, Price, Rates, Tier } from '../core/model.ts'
import { nanoFromDecimal, type Pico } from '../core/money.ts'
import { type UsageClass, usageClasses } from '../core/usage.ts'
import table from './catalogue.json' with { type: 'json' }

export type Catalogue = {
  /** By full id, by short id where its vendor has those, or by either with the trailing `l` of the discounted family. */
  find(name: string): Model | undefined
  list(): readonly Model[]
}

/** What the catalogue must know of a vendor that is on. */
type SoldVendor = {
  readonly id: string
  readonly shortIds?: boolean
  /** The vendor has a cheaper tier, or runs on the operator's own machines: its models are also sold at a discount. */
  readonly discounts: boolean
}

type CatalogueParts = {
  readonly vendors: readonly SoldVendor[]
  /** Models beside those of the price table; the same id replaces. */
  readonly extra: readonly Model[]
  /** Rates by model id that replace those of the table. */
  readonly overrides: Readonly<Record<string, Rates>>
  /** Factors as decimal texts: what vendors' prices are multiplied by, and what discounted ones are on top. */
  readonly markup: string
  readonly discount: string
}

type Entry = {
  readonly rates: Readonly<Record<string, number>>
  readonly tiers?: readonly { readonly above: number; readonly rates: Readonly<Record<string, number>> }[]
  readonly context: number
  readonly output: number
  readonly kind?: string
  readonly has: string
}

/** For vendors that do not say what an image costs: more than any usual picture does. */
const IMAGE_TOKENS_MAX = 6_000
/** Small OpenAI models count an image as up to this many tokens (2 833 and 5 667 for each of eight tiles). */
const IMAGE_TOKENS_MAX_MINI = 50_000

/** Builds the catalogue. Throws an Error that names the setting when an override names no model. */
export const buildCatalogue = (parts: CatalogueParts): Catalogue => {
  const markup = factorOf(parts.markup)
  const discount = factorOf(parts.discount)
  const byId = new Map<string, Model>()
  for (const vendor of parts.vendors) for (const model of tableModels(vendor.id)) byId.set(model.id, model)
  for (const model of parts.extra) byId.set(model.id, model)
  for (const [id, rates] of Object.entries(parts.overrides)) {
    const model = byId.get(id)
    if (model === undefined) throw new Error(`prices: there is no model '${id}'; its vendor may be off`)
    byId.set(id, {
      ...model,
      price: { rates: { ...model.price.rates, ...rates }, tiers: model.price.tiers, version: 'config' },
    })
  }
  const sold = new Map<string, Model>()
  for (const model of byId.values()) sold.set(model.id, { ...model, price: scaled(model.price, markup) })
  const discounting = new Set(parts.vendors.filter((vendor) => vendor.discounts).map((vendor) => vendor.id))
  for (const model of [...sold.values()])
    if (discounting.has(model.vendor) && !sold.has(`${model.id}l`))
      sold.set(`${model.id}l`, {
        ...model,
        id: `${model.id}l`,
        price: scaled(model.price, discount),
        discounted: true,
      })
  const names = new Map(sold)
  for (const [name, model] of shortNames(sold, parts.vendors)) names.set(name, model)
  const list = [...sold.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  return { find: (name) => names.get(name), list: () => list }
}

/** Names without the vendor, where just one vendor with short ids has them. */
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

const tableModels = (vendor: string): readonly Model[] => {
  const models: Readonly<Record<string, Readonly<Record<string, Entry>>>> = table.models
  return Object.entries(models[vendor] ?? {}).map(([name, entry]) => modelOf(vendor, name, entry))
}

const modelOf = (vendor: string, name: string, entry: Entry): Model => ({
  id: `${vendor}/${name}`,
  vendor,
  upstreamName: name,
  kind: entry.kind === 'embeddings' ? 'embeddings' : 'chat',
  price: {
    rates: ratesOf(entry.rates),
    tiers: (entry.tiers ?? []).map(
      (tier): Tier => ({ aboveInputTokens: tier.above, rates: ratesOf(tier.rates) }),
    ),
    version: table.version,
  },
  contextTokens: entry.context,
  maxOutputTokens: entry.output,
  capabilities: capabilitiesOf(entry),
  imageTokensMax: /(?:^|[-.])(?:mini|nano)/.test(name) ? IMAGE_TOKENS_MAX_MINI : IMAGE_TOKENS_MAX,
  discounted: false,
})

const capabilitiesOf = (entry: Entry): readonly Capability[] => {
  if (entry.kind === 'embeddings') return ['embeddings']
  const capabilities: Capability[] = ['streaming']
  if (entry.has.includes('t')) capabilities.push('function_calling')
  if (entry.has.includes('v')) capabilities.push('vision')
  if (entry.has.includes('r')) capabilities.push('reasoning')
  if (entry.rates.output_audio !== undefined) capabilities.push('audio')
  return capabilities
}

const ratesOf = (rates: Readonly<Record<string, number>>): Rates => {
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

/** Prices times a factor, each rounded up to a pico-dollar. */
const scaled = (price: Price, factor: bigint): Price => {
  if (factor === BILLION) return price
  const scale = (rates: Rates): Rates =>
    ratesOf(
      Object.fromEntries(
        Object.entries(rates).map(([name, rate]) => [
          name,
          Number((BigInt(rate) * factor + BILLION - 1n) / BILLION),
        ]),
      ),
    )
  return {
    rates: scale(price.rates),
    tiers: price.tiers.map((tier) => ({ ...tier, rates: scale(tier.rates) })),
    version: price.version,
  }
}
