/** The price of a model in its vendor's own batches: half for all tokens, and what a vendor says of cached input. */
import type { Model, Price, UnitPrices } from '../core/model.ts'
import type { Mutable } from '../core/mutable.ts'
import { tokenClasses } from '../core/usage.ts'

/** Cached input costs half as well; or as much as outside of batches; or as much as other input of the batch, or half of that. */
export type CachedInput = 'half' | 'whole' | 'as input' | 'half of input'

const reading = ['cache_read', 'cache_read_audio'] as const

const ratesIn = (rates: UnitPrices, cached: CachedInput): UnitPrices => {
  const changed: Mutable<UnitPrices> = { ...rates }
  for (const one of tokenClasses) {
    const rate = rates[one]
    if (rate !== undefined) changed[one] = Math.ceil(rate / 2)
  }
  for (const one of reading) {
    // Without a rate it costs what input does.
    if (cached === 'as input') delete changed[one]
    else if (cached === 'half of input' && changed.input !== undefined)
      changed[one] = Math.ceil(changed.input / 2)
    else if (cached === 'whole' && rates[one] !== undefined) changed[one] = rates[one]
  }
  return changed
}

const priceIn = ({ rates, tiers, version }: Price, cached: CachedInput): Price => ({
  rates: ratesIn(rates, cached),
  tiers: tiers.map((tier) => ({ ...tier, rates: ratesIn(tier.rates, cached) })),
  version: `${version}:batch`,
})

const known = new WeakMap<Model, Model>()

/** The model at its price in batches; the same one each time. */
export const inBatches = (model: Model, cached: CachedInput): Model => {
  const before = known.get(model)
  if (before !== undefined) return before
  const twin = { ...model, price: priceIn(model.price, cached) }
  known.set(model, twin)
  return twin
}
