/** The charge of a call: units times prices, one rounding, upwards, on the total. */
import type { Model, Price, UnitPrices } from '../core/model.ts'
import { decimalOf, type Nano, nanoFromPicoUp, nanoFromSafePicoUp, type Pico } from '../core/money.ts'
import type { Mutable } from '../core/mutable.ts'
import { inputTokens, type Usage, type UsageClass, usageClasses } from '../core/usage.ts'
import { billedFor } from '../tenancy/margin.ts'

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

/**
 * The usage of a call, plus the call itself if it has a price of its own. A usage without any class is of a call that
 * came to nothing (its prompt was blocked), and is free.
 */
export const withCall = (price: Price, usage: Usage): Usage =>
  price.rates.call === undefined || Object.keys(usage).length === 0 ? usage : { ...usage, call: 1 }

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

/** The class that each cached token would be in, had the vendor no cache. */
const uncached = [
  ['cache_read', 'input'],
  ['cache_write', 'input'],
  ['cache_write_1h', 'input'],
  ['cache_read_audio', 'input_audio'],
] as const

/**
 * What a usage would have cost without the vendor's cache, less what it costs: negative if writing to the cache cost
 * more than reading from it saved. Undefined if no cache was used.
 */
const cacheSaving = (price: Price, usage: Usage, cost: Nano): Nano | undefined => {
  if (uncached.every(([cached]) => usage[cached] === undefined)) return undefined
  const plain: Mutable<Usage> = { ...usage }
  for (const [cached, instead] of uncached) {
    plain[instead] = (plain[instead] ?? 0) + (usage[cached] ?? 0)
    plain[cached] = 0
  }
  return chargeFor(price, plain) - cost
}

/** The charge for a usage, and what the vendor's cache saved of it. */
export const costOf = (
  price: Price,
  usage: Usage,
): { readonly cost: Nano; readonly cacheSaved: Nano | undefined } => {
  const cost = chargeFor(price, usage)
  return { cost, cacheSaved: cacheSaving(price, usage, cost) }
}

/**
 * The unit prices behind a charge: `chargeFor` rounds units times these. They are those of the classes that were used,
 * and of what cached tokens would have been, so that a receipt tells what the cache saved.
 */
export const unitPrices = (price: Price, usage: Usage): UnitPrices => {
  const rates = ratesFor(price, inputTokens(usage))
  const used: { [Class in UsageClass]?: Pico } = {}
  for (const usageClass of usageClasses)
    if ((usage[usageClass] ?? 0) > 0) used[usageClass] = rateOf(rates, usageClass)
  for (const [cached, instead] of uncached)
    if (used[cached] !== undefined) used[instead] = rateOf(rates, instead)
  return used
}

/**
 * USD by usage class as exact decimal texts, before the total is rounded; with a margin on the price, in hundredths of a
 * percent, each rounded up to twelve places.
 */
export const costDetails = (price: Price, usage: Usage, basisPoints?: number): Record<string, string> => {
  const rates = ratesFor(price, inputTokens(usage))
  const details: Record<string, string> = {}
  for (const usageClass of usageClasses) {
    const units = usage[usageClass]
    if (units === undefined || units <= 0) continue
    const rate = rateOf(rates, usageClass)
    const pico = units * rate
    const exact = Number.isSafeInteger(pico) ? pico : BigInt(units) * BigInt(rate)
    details[usageClass] = usdOfPico(basisPoints === undefined ? exact : billedFor(BigInt(exact), basisPoints))
  }
  return details
}

/** Pico-USD (a safe integer, if it is a number) as an exact decimal text of USD. */
export const usdOfPico = (pico: bigint | number): string => decimalOf(String(pico), 12)
