/** A product that is not chat, as one record: its inputs, how its vendor is asked, and what it costs. */
import type { z } from 'zod'
import type { Category } from '../core/model.ts'
import type { RateCard } from './rate-card.ts'
import type { Inputs, Shape } from './shape.ts'

export type MediaModel = {
  /** The vendor's own name of it, and the second half of its id here. */
  readonly name: string
  /** Where the vendor's name for it is not the one it is sold by. */
  readonly upstreamName?: string
  readonly category: Category
  readonly title: string
  readonly description: string
  /** A strict object: what it does not name is refused, so that nothing unpriced reaches the vendor. */
  readonly inputs: z.ZodObject
  /** What a first-time user sends; also what the documentation shows. */
  readonly example: Inputs
  readonly shape: Shape
  readonly card: RateCard
  /** Where prices and bounds stand, and since when they were read: `<page>, <month>`. */
  readonly source: string
  /** The day on which the vendor ends it, `2027-01-06`. */
  readonly ends?: string
}

/** A product whose price nobody could verify: it is not sold before turnpike.yaml gives one; `source` says what is missing. */
export type UnpricedModel = Omit<MediaModel, 'card'> & { readonly most: RateCard['most'] }

/** What a vendor sells besides, but not here: with a record, turnpike.yaml may give its price; without, it is only told of. */
type Waiting = UnpricedModel | { readonly name: string; readonly why: string }

/** A vendor's products that are not chat. */
export type VendorMedia = {
  readonly models: readonly MediaModel[]
  /** Who hangs up stops the work, and nothing is billed for it; other vendors bill what they have begun. */
  readonly stops?: true
  /** What rests on memory or on the word of others, and must be checked first when there is a key. For the documentation. */
  readonly unverified?: string
  readonly waiting?: readonly Waiting[]
}

/** Those that wait for a price alone. */
export const unpricedOf = ({ waiting = [] }: VendorMedia): readonly UnpricedModel[] =>
  waiting.filter((one): one is UnpricedModel => 'most' in one)
