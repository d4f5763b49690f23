/**
 * Prices of products that are not chat. A card turns checked inputs into unit prices and the maximum units of each
 * class, so a call is priced before it is sent. Law: charge(measured) ≤ charge(most).
 */

import type { Json } from '../core/json-body.ts'
import type { UnitPrices } from '../core/model.ts'
import type { Pico } from '../core/money.ts'
import { type Usage, type UsageClass, usageClasses } from '../core/usage.ts'
import type { Inputs } from './shape.ts'

/** USD as a decimal text, for `per` units. */
type UnitPrice = { readonly usd: string; readonly per: number }

/** The price of `per` units, by default 1. */
export const usd = (text: string, per = 1): UnitPrice => ({ usd: text, per })

type Row = {
  /** The row matches when each named input has one of the given values; without `when` it always matches. */
  readonly when?: Readonly<Record<string, Json | readonly Json[]>>
  readonly rates: { readonly [Class in UsageClass]?: UnitPrice }
}

export type RateCard = {
  /** The first row that matches the inputs prices them; every accepted input must match one. */
  readonly rows: readonly [Row, ...Row[]]
  /** The most units of each class that the inputs can cost. Whole numbers. */
  readonly most: UnitCounts
  /**
   * The units that the inputs ask for and every delivery has, where `most` has a margin above them: what a job costs
   * that is cancelled and whose vendor does not say what it bills. Whole numbers, none above `most`.
   */
  readonly asked?: UnitCounts
}

type UnitCounts = { readonly [Class in UsageClass]?: (inputs: Inputs) => number }

const matches = ({ when = {} }: Row, inputs: Inputs): boolean =>
  Object.entries(when).every(([name, wanted]) =>
    Array.isArray(wanted) ? wanted.includes(inputs[name] ?? null) : wanted === (inputs[name] ?? null),
  )

const PICO_A_DOLLAR = 1_000_000_000_000n

/** Pico-USD a unit, rounded up. */
const picoOf = ({ usd: text, per }: UnitPrice): Pico => {
  const [whole = '0', fraction = ''] = text.split('.')
  const digits = 10n ** BigInt(fraction.length)
  const above = (BigInt(whole) * digits + BigInt(fraction || '0')) * PICO_A_DOLLAR
  const below = digits * BigInt(per)
  return Number((above + below - 1n) / below)
}

/** The vendor's unit prices of a row. */
export const ratesOf = ({ rates }: Row): UnitPrices => {
  const found: { [Class in UsageClass]?: Pico } = {}
  for (const usageClass of usageClasses) {
    const price = rates[usageClass]
    if (price !== undefined) found[usageClass] = picoOf(price)
  }
  return found
}

/** The vendor's prices of a call with these inputs. Throws if no row matches, which the cards' law rules out. */
export const ratesFor = (card: RateCard, inputs: Inputs): UnitPrices => {
  const row = card.rows.find((one) => matches(one, inputs))
  if (row === undefined) throw new Error('no row of the rate card matches the inputs')
  return ratesOf(row)
}

type Counts = Pick<RateCard, 'most' | 'asked'>

/** The most units that a call with these inputs can cost. */
export const mostUnits = ({ most }: Counts, inputs: Inputs): Usage => unitsOf(most, inputs)

/** The units that these inputs ask for; undefined where that is the most. */
export const askedUnits = ({ asked }: Counts, inputs: Inputs): Usage | undefined =>
  asked === undefined ? undefined : unitsOf(asked, inputs)

const unitsOf = (counts: UnitCounts, inputs: Inputs): Usage => {
  const units: { [Class in UsageClass]?: number } = {}
  for (const usageClass of usageClasses) {
    const count = counts[usageClass]
    if (count !== undefined) units[usageClass] = Math.ceil(count(inputs))
  }
  return units
}
