/**
 * What a tenant is told of money where its reseller wants something else than our price: the reseller's price, or nothing.
 * Only figures that a tenant reads, or sends as bounds, know of it; the ledger and all limits stay in our price.
 */
import type { Nano } from '../core/money.ts'
import type { Month } from '../core/time.ts'
import { billedFor, costWithin, type Margin, marginIn } from './margin.ts'

/** `cost`: our price, as for any other key. */
export const tenantsSee = ['cost', 'price', 'nothing'] as const
export type TenantsSee = (typeof tenantsSee)[number]

export type Terms = {
  readonly see: Exclude<TenantsSee, 'cost'>
  /** The margin on our price this month, in hundredths of a percent. */
  readonly basisPoints: number
  /** The margins that may apply to the tenant, its own and those of all, for other months. */
  readonly margins: readonly Margin[]
  readonly tenantId: string
  /** The reseller, by the name of its organisation. */
  readonly issuer: string
}

/** Undefined: our price. */
export type Told = Terms | undefined

/** An amount of ours as the tenant is told it. */
export const told = (amount: Nano, terms: Told): Nano =>
  terms === undefined ? amount : billedFor(amount, terms.basisPoints)

/** A bound that a tenant sets, as it binds here: never more than it allows. */
export const bound = (amount: Nano, terms: Told): Nano =>
  terms === undefined ? amount : costWithin(amount, terms.basisPoints)

export const tellsNothing = (terms: Told): boolean => terms?.see === 'nothing'

/** The terms by which the use of a month is told, now or later. */
export const termsIn = (terms: Terms, month: Month): Terms => ({
  ...terms,
  basisPoints: marginIn(terms.margins, month, terms.tenantId).basisPoints,
})

/** The terms of a key that asks, for another one that it is told of. */
export const termsOf = ({ terms }: { readonly terms?: Terms }) => (terms === undefined ? {} : { terms })
