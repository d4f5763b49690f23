/** The charge of a call: units times prices, one rounding, upwards, on the total. */
import type { Model, Price, UnitPrices } from '../core/model.ts'
import { decimalOf, type Nano, nanoFromPicoUp, nanoFromSafePicoUp, type Pico } from '../core/money.ts'
import { inputTokens, type Usage, type UsageClass, usageClasses } from '../core/usage.ts'

/** The class that prices a class without a rate of its own. */
const base: { readonly [Class in UsageClass]?: UsageClass } = {
  cache_read: 'input',
  cache_write: 'input',
  cache_write_1h: 'cache_write',
  input_audio: 'input',
  cache_read_audio: 'input_audio',
  input_image: 'input',
  reasoning: 'output',
  output_audio: 'output',
  output_image: 'output',
}

/**
 * The price that a call is charged by. For a discounted model it is the cheaper one, unless the vendor says it served
 * the call in another tier than requested, and therefore bills in full.
 */
export const priceOf = (model: Model, served?: string): Price =>
  model.cheaper === undefined || (served !== undefined && served !== model.cheaper.tier)
    ? model.price
    : model.cheaper.price

/** The usage of a call, plus the call itself if it has a price of its own. */
export const withCall = (price: Price, usage: Usage): Usage =>
  price.rates.call === undefined ? usage : { ...usage, call: 1 }

/** The rate of a class; 0 only if neither it nor its base class is priced. */
export const rateOf = (rates: UnitPrices, usageClass: UsageClass): Pico => {
  let at: UsageClass | undefined = usageClass
  while (at !== undefined) {
    const rate = rates[at]
    if (rate !== undefined) return rate
    at = base[at]
  }
  return 0
}

/** The rates for an input of this many tokens: the tier that it reaches prices the whole call. */
export const ratesFor = (price: Price, input: number): UnitPrices => {
  let rates = price.rates
  for (const tier of price.tiers) if (input > tier.aboveInputTokens) rates = { ...price.rates, ...tier.rates }
  return rates
}

/** Whether any unit costs more under one price than under the other, at some length of input. */
export const dearerThan = (price: Price, other: Price): boolean =>
  [0, ...[...price.tiers, ...other.tiers].map(({ aboveInputTokens }) => aboveInputTokens + 1)].some(
    (input) => {
      const rates = ratesFor(price, input)
      const others = ratesFor(other, input)
      return usageClasses.some((one) => rateOf(rates, one) > rateOf(others, one))
    },
  )

/** The exact cost of a usage, rounded up once to a nano-dollar. */
export const chargeFor = (price: Price, usage: Usage): Nano => {
  const rates = price.tiers.length === 0 ? price.rates : ratesFor(price, inputTokens(usage))
  let small = 0
  for (const usageClass of usageClasses) {
    const units = usage[usageClass]
    if (units !== undefined && units > 0) small += units * rateOf(rates, usageClass)
  }
  // Numbers are exact below 2^53 pico-dollars, about nine thousand dollars; above that the sum is computed again in
  // bigints.
  return Number.isSafeInteger(small) ? nanoFromSafePicoUp(small) : nanoFromPicoUp(largeSum(rates, usage))
}

const largeSum = (rates: UnitPrices, usage: Usage): bigint =>
  usageClasses.reduce((sum, one) => sum + BigInt(usage[one] ?? 0) * BigInt(rateOf(rates, one)), 0n)

/** The unit prices behind a charge, for the classes that were used: `chargeFor` rounds units times these. */
export const unitPrices = (price: Price, usage: Usage): UnitPrices => {
  const rates = ratesFor(price, inputTokens(usage))
  const used: { [Class in UsageClass]?: Pico } = {}
  for (const usageClass of usageClasses)
    if ((usage[usageClass] ?? 0) > 0) used[usageClass] = rateOf(rates, usageClass)
  return used
}

/** USD by usage class as exact decimal texts, before the total is rounded. */
export const costDetails = (price: Price, usage: Usage): Record<string, string> => {
  const rates = ratesFor(price, inputTokens(usage))
  const details: Record<string, string> = {}
  for (const usageClass of usageClasses) {
    const units = usage[usageClass]
    if (units === undefined || units <= 0) continue
    const rate = rateOf(rates, usageClass)
    const pico = units * rate
    details[usageClass] = usdOfPico(Number.isSafeInteger(pico) ? pico : BigInt(units) * BigInt(rate))
  }
  return details
}

/** Pico-USD (a safe integer, if it is a number) as an exact decimal text of USD. */
export const usdOfPico = (pico: bigint | number): string => decimalOf(String(pico), 12)
