/**
 * Products whose price nobody could verify: they are sold once turnpike.yaml prices each unit that their calls are
 * billed by.
 */
import { type MediaModel, type UnpricedModel, unpricedOf } from '../../media/product.ts'
import type { Override } from '../../pricing/catalogue.ts'
import { BadSetting } from '../../settings/bad-setting.ts'
import type { VendorSetup } from '../../vendors/setup.ts'

/** The vendor with those of its products that the operator prices. Throws BadSetting if a unit's price is missing. */
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

/** The card has no prices of its own; the catalogue fills in the operator's. */
const pricedBy = ({ most, ...record }: UnpricedModel, { rates }: Override, id: string): MediaModel => {
  const missing = Object.keys(most).find((unit) => !(unit in rates))
  if (missing !== undefined)
    throw new BadSetting(`prices.${id}.${missing}_usd_per_1m is missing: calls are billed by ${missing}`)
  return { ...record, card: { rows: [{ rates: {} }], most } }
}
