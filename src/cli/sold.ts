/** What is sold: the vendors that are on with the built-in one and those found on localhost, and the catalogue over them. */
import { buildCatalogue, type Catalogue } from '../pricing/catalogue.ts'
import { discover } from '../transport/discover.ts'
import { localFetch } from '../transport/local.ts'
import { local, localModels } from '../vendors/local/local.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { Config } from './config.ts'
import { BadSetting } from './settings.ts'

export type Sold = { readonly vendors: ReadonlyMap<string, VendorSetup>; readonly catalogue: Catalogue }

export const soldBy = async (config: Config): Promise<Sold> => {
  const found = config.discover ? await discover(new Set(config.vendors.map(({ vendor }) => vendor.id))) : []
  const builtIn: VendorSetup = { vendor: local, baseUrl: local.baseUrl, secrets: [], fetch: localFetch }
  const setups = [builtIn, ...config.vendors, ...found.map(({ setup }) => setup)]
  const on = new Set(setups.map(({ vendor }) => vendor.id))
  try {
    const catalogue = buildCatalogue({
      vendors: setups.map(({ vendor }) => ({
        id: vendor.id,
        shortIds: vendor.shortIds === true,
        discounts: vendor.cheaperTier !== undefined,
      })),
      extra: [
        ...localModels,
        ...found.flatMap(({ models }) => models),
        ...config.models.filter((model) => on.has(model.vendor)),
      ],
      overrides: config.overrides,
      markup: config.markup,
      discount: config.discount,
    })
    return { vendors: new Map(setups.map((setup) => [setup.vendor.id, setup])), catalogue }
  } catch (error) {
    throw new BadSetting(error instanceof Error ? error.message : String(error))
  }
}
