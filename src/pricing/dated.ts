/** Prices with a date: a model at its price of now is followed by the same model at each price that comes. */
import type { Model, Tier, UnitPrices } from '../core/model.ts'

export type Given = { readonly rates: UnitPrices; readonly tiers?: readonly Tier[] }

/** Rates and tiers that replace what is in force until then, in ms since 1970. */
export type Later = Given & { readonly from: number }

/** Of now, without a time, or of later. */
export type Change = Given & { readonly from?: number }

/** The model at the price of an instant: a call is priced by that of its start. */
export const modelAt = (model: Model, now: number): Model => {
  let at = model
  while (at.coming !== undefined && at.coming.from <= now) at = at.coming.model
  return at
}

/** The model that is made of no change, with those that follow as each change has come. */
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
