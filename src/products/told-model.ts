/** A model at the price that a tenant is told: each unit price with its reseller's margin, rounded up to a pico-dollar. */
import type { Model, Price, UnitPrices } from '../core/model.ts'
import { Refusal } from '../core/refusal.ts'
import { type Told, told } from '../tenancy/terms.ts'

const toldRates = (rates: UnitPrices, terms: Told): UnitPrices =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, Number(told(BigInt(rate), terms))]))

const toldPrice = ({ rates, tiers, version }: Price, terms: Told): Price => ({
  rates: toldRates(rates, terms),
  tiers: tiers.map((tier) => ({ ...tier, rates: toldRates(tier.rates, terms) })),
  version,
})

/** For what shows its prices; calls are priced by the model itself. */
export const toldModel = (model: Model, terms: Told): Model => {
  if (terms === undefined) return model
  const { price, cheaper, product, coming } = model
  return {
    ...model,
    price: toldPrice(price, terms),
    ...(cheaper === undefined ? {} : { cheaper: { ...cheaper, price: toldPrice(cheaper.price, terms) } }),
    ...(coming === undefined ? {} : { coming: { ...coming, model: toldModel(coming.model, terms) } }),
    ...(product === undefined
      ? {}
      : {
          product: {
            ...product,
            rows: product.rows.map((row) => ({ ...row, price: toldPrice(row.price, terms) })),
            price: (inputs) => {
              const priced = product.price(inputs)
              return priced instanceof Refusal ? priced : { ...priced, price: toldPrice(priced.price, terms) }
            },
          },
        }),
  }
}
