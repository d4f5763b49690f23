/** A product that is not chat, as one record: its inputs, how to ask its vendor, and what it costs. */
import type { z } from 'zod'
import type { Category } from '../core/model.ts'
import type { RateCard } from './rate-card.ts'
import type { Inputs, Shape } from './shape.ts'

export type MediaModel = {
  /** The vendor's own name for it, and the second half of its id here. */
  readonly name: string
  /** The vendor's name for it, if that differs from the name it is sold under. */
  readonly upstreamName?: string
  readonly category: Category
  readonly title: string
  readonly description: string
  /** A strict object: inputs that it does not name are refused, so that nothing unpriced reaches the vendor. */
  readonly inputs: z.ZodObject
  /** Inputs that a first-time user sends, and that the documentation shows. */
  readonly example: Inputs
  readonly shape: Shape
  readonly card: RateCard
  /** Where its prices and bounds are documented, and when we read them: `<page>, <month>`. */
  readonly source: string
  /** The day on which the vendor retires it, such as `2027-01-06`. */
  readonly ends?: string
}

/**
 * A product whose price nobody could verify: it is only sold if turnpike.yaml gives a price; `source` says what is
 * missing.
 */
export type UnpricedModel = Omit<MediaModel, 'card'> & { readonly most: RateCard['most'] }

/**
 * What the vendor also sells, but we do not. With a record, turnpike.yaml may give its price; without one it is only
 * listed.
 */
type Waiting = UnpricedModel | { readonly name: string; readonly why: string }

/** A vendor's products that are not chat. */
export type VendorMedia = {
  readonly models: readonly MediaModel[]
  /** If the caller hangs up, the work stops and is not billed; other vendors bill what they have begun. */
  readonly stops?: true
  /** Facts from memory or hearsay, to be checked first when there is a key. For the documentation. */
  readonly unverified?: string
  readonly waiting?: readonly Waiting[]
}

/** The products that only lack a price. */
export const unpricedOf = ({ waiting = [] }: VendorMedia): readonly UnpricedModel[] =>
  waiting.filter((one): one is UnpricedModel => 'most' in one)
