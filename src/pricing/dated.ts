/** Dated prices: a model at its present price is followed by the same model at each later price. */
import type { Model, Tier, UnitPrices } from '../core/model.ts'

export type GivenPrice = { readonly rates: UnitPrices; readonly tiers?: readonly Tier[] }

/** Rates and tiers that replace those in force until then, in ms since 1970. */
export type Later = GivenPrice & { readonly from: number }

/** The present price, which has no time, or a later one. */
export type Change = GivenPrice & { readonly from?: number }

/** The model at the price of an instant; a call is priced as of its start. */
export const modelAt = (model: Model, now: number): Model => {
  let at = model
  while (at.coming !== undefined && at.coming.from <= now) at = at.coming.model
  return at
}

/** The model built from the present price, followed by one for each change in turn. */
export const inTime = (changes: readonly Later[], made: (changes: readonly Later[]) => Model): Model => {
  let next: Model['coming']
  for (let count = changes.length; count > 0; count--) {
    const model = made(changes.slice(0, count))
    const from = changes[count - 1]?.from ?? 0
    next = { from, model: next === undefined ? model : { ...model, coming: next } }
  }
  const first = made([])
  return next === undefined ? first : { ...first, coming: next }
}

/** Changes a model at each of its prices. */
export const eachInTime = (model: Model, change: (model: Model) => Model): Model => {
  const { coming, ...now } = model
  const changed = change(now)
  return coming === undefined
    ? changed
    : { ...changed, coming: { from: coming.from, model: eachInTime(coming.model, change) } }
}
