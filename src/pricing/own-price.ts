/**
 * What a call by an organisation's own key costs: a fee in place of the list price, which its vendor bills the organisation.
 * Such a call runs under a twin of its model, whose price is the most that it can be charged.
 */
import type { Model, Price, Priced, UnitPrices } from '../core/model.ts'
import type { Nano } from '../core/money.ts'
import { greatest } from '../core/money.ts'
import type { Mutable } from '../core/mutable.ts'
import { usageClasses } from '../core/usage.ts'

/** A share of the list price in hundredths of a percent, and an amount for each call. */
type Fee = { readonly basisPoints: number; readonly perCall: Nano }

const WHOLE = 10_000n
const PICO_IN_NANO = 1_000n

const partOf = (rate: number, { basisPoints }: Fee): number =>
  Number((BigInt(rate) * BigInt(basisPoints) + WHOLE - 1n) / WHOLE)

const ratesBy = (rates: UnitPrices, fee: Fee): UnitPrices => {
  const changed: Mutable<UnitPrices> = {}
  for (const one of usageClasses) {
    const rate = rates[one]
    if (rate !== undefined) changed[one] = partOf(rate, fee)
  }
  return changed
}

const withEachCall = (rates: UnitPrices, { perCall }: Fee): UnitPrices =>
  perCall === 0n ? rates : { ...rates, call: (rates.call ?? 0) + Number(perCall * PICO_IN_NANO) }

/** The fee for what costs this by the list; each rate is rounded up to a pico-dollar. */
export const feePrice = ({ rates, tiers, version }: Price, fee: Fee): Price => ({
  rates: withEachCall(ratesBy(rates, fee), fee),
  tiers: tiers.map((tier) => ({ ...tier, rates: ratesBy(tier.rates, fee) })),
  version: `${version}:own-key`,
})

/** No less than the list price and than the fee, whatever is used. */
const dearer = (list: Price, fee: Fee): Price => {
  const call = feePrice(list, fee).rates.call
  return call === undefined
    ? list
    : {
        ...list,
        rates: {
          ...list.rates,
          call: Number(greatest(BigInt(call), BigInt(list.rates.call ?? 0))),
        },
      }
}

/** How calls by own keys are priced; `falls` if the house's keys may answer, at the list price. */
type OwnTerms = { readonly fee: Fee; readonly falls: boolean }

const heldBy = (list: Price, { fee, falls }: OwnTerms): Price =>
  falls ? dearer(list, fee) : feePrice(list, fee)

export const ownTwin = (model: Model, terms: OwnTerms): Model => ({
  ...model,
  price: heldBy(model.price, terms),
  ...(model.cheaper === undefined
    ? {}
    : { cheaper: { ...model.cheaper, price: heldBy(model.cheaper.price, terms) } }),
  own: { list: model, ...terms },
})

/** The same of what its vendor bills for an own key; undefined for a call by the house's keys. */
export const byList = <T>({ own }: Model, of: (list: Model) => T): T | undefined =>
  own === undefined ? undefined : of(own.list)

/** The inputs of a call as they are held. */
export const ownPriced = (priced: Priced, terms: OwnTerms): Priced => {
  const price = heldBy(priced.price, terms)
  const most = price.rates.call === undefined ? priced.most : { ...priced.most, call: 1 }
  return { ...priced, price, most, list: priced.price }
}
