/** What a product costs, as its descriptor says: from the same prices that calls are charged by. */
import type { Json } from '../core/json-body.ts'
import type { Model, Price } from '../core/model.ts'
import { type ExactNumber, perMillionFromPico, usdNumber } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { usageClasses } from '../core/usage.ts'
import { decodeRunInputs } from '../dialects/run-inputs.ts'
import { chargeFor, priceOf, rateOf, usdOfPico } from '../pricing/charge.ts'
import { ceiling } from '../pricing/quote.ts'
import { outputClass, unitOf } from '../pricing/unit.ts'
import { exampleOf } from './example.ts'

/** USD per unit as exact decimal texts, for inputs with these values. */
type Row = {
  readonly when?: Readonly<Record<string, Json | readonly Json[]>>
  readonly above_input_tokens?: number
  readonly rates: Readonly<Record<string, string>>
}

type Pricing = {
  readonly '@type': 'Offer'
  readonly currency: 'USD'
  /** The unit in which calls are counted, such as token or image. */
  readonly unit: string
  readonly per_1m_input_usd: number
  readonly per_1m_output_usd: number
  /** For one unit; if that is a token, for a token of input. */
  readonly per_unit_usd: number
  /** The first row that matches prices a call; rows for longer inputs come first. */
  readonly rows: readonly Row[]
  /** The most that the example can cost, which is what is held for it. */
  readonly max_usd: ExactNumber
  readonly version: string
}

const ratesOf = (price: Price): Row['rates'] =>
  Object.fromEntries(
    usageClasses.flatMap((one) => {
      const rate = price.rates[one]
      return rate === undefined ? [] : [[one, usdOfPico(BigInt(rate))]]
    }),
  )

const rowsOf = (model: Model, price: Price): readonly Row[] => {
  if (model.product !== undefined)
    return model.product.rows.map((row) => ({
      ...(Object.keys(row.when).length === 0 ? {} : { when: row.when }),
      rates: ratesOf(row.price),
    }))
  const tiers = price.tiers.toReversed().map(({ aboveInputTokens, rates }) => ({
    above_input_tokens: aboveInputTokens,
    rates: ratesOf({ ...price, rates: { ...price.rates, ...rates } }),
  }))
  return [...tiers, { rates: ratesOf(price) }]
}

/** What is held for a call with these inputs, in nano-USD; a Refusal for inputs that are not accepted. */
const boundOf = (model: Model): bigint | Refusal => {
  const example = exampleOf(model)
  if (model.product !== undefined) {
    const priced = model.product.price(example)
    return priced instanceof Refusal ? priced : chargeFor(priced.price, priced.most)
  }
  const call = decodeRunInputs(example, model)
  if (call instanceof Refusal) return call
  return ceiling(model, call.size, call.maxOutput ?? model.maxOutputTokens, call.choices)
}

export const pricingOf = (model: Model): Pricing => {
  const price = priceOf(model)
  const unit = unitOf(price)
  const bound = boundOf(model)
  const perMillion = (one: Parameters<typeof rateOf>[1]) =>
    Number(perMillionFromPico(rateOf(price.rates, one)))
  const one = unit === 'token' ? 'input' : unit
  return {
    '@type': 'Offer',
    currency: 'USD',
    unit,
    per_1m_input_usd: perMillion('input'),
    per_1m_output_usd: model.kind === 'embeddings' ? 0 : perMillion(outputClass(model, price)),
    per_unit_usd: Number(usdOfPico(BigInt(rateOf(price.rates, one)))),
    rows: rowsOf(model, price),
    max_usd: bound instanceof Refusal ? 0 : usdNumber(bound),
    version: price.version,
  }
}

/** A small number without an exponent. */
export const decimal = (value: ExactNumber): string =>
  typeof value === 'object' ? value.rawJSON : value.toFixed(12).replace(/\.?0+$/, '')

/** `2 USD / 1M input tokens, 8 USD / 1M output tokens`, or `0.04 USD / image`. */
export const priceText = ({ unit, per_1m_input_usd, per_1m_output_usd, per_unit_usd }: Pricing): string =>
  unit === 'token'
    ? `${per_1m_input_usd} USD / 1M input tokens, ${per_1m_output_usd} USD / 1M output tokens`
    : `${decimal(per_unit_usd)} USD / ${unit}`
