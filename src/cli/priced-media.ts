/** Products whose price nobody could verify, sold once turnpike.yaml gives them one: for each unit that a call is billed by. */
import { type MediaModel, type UnpricedModel, unpricedOf } from '../media/product.ts'
import type { Override } from '../pricing/catalogue.ts'
import { BadSetting } from '../settings/bad-setting.ts'
import type { VendorSetup } from '../vendors/setup.ts'

/** The vendor with those of its products that the operator prices. Throws BadSetting where a unit's price is missing. */
export const withOwnPrices = (
  setup: VendorSetup,
  overrides: Readonly<Record<string, Override>>,
): VendorSetup => {
  const { vendor } = setup
  const { media } = vendor
  const priced = (media === undefined ? [] : unpricedOf(media)).flatMap((record) => {
    const id = `${vendor.id}/${record.name}`
    const override = overrides[id]
    return override === undefined ? [] : [pricedBy(record, override, id)]
  })
  return media === undefined || priced.length === 0
    ? setup
    : { ...setup, vendor: { ...vendor, media: { ...media, models: [...media.models, ...priced] } } }
}

/** The catalogue puts the operator's prices into the card, which has none of its own. */
const pricedBy = ({ most, ...record }: UnpricedModel, { rates }: Override, id: string): MediaModel => {
  const missing = Object.keys(most).find((unit) => !(unit in rates))
  if (missing !== undefined)
    throw new BadSetting(`prices.${id}.${missing}_usd_per_1m is missing: calls are billed by ${missing}`)
  return { ...record, card: { rows: [{ rates: {} }], most } }
}
