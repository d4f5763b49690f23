/**
 * Opens the catalogue: the vendors that are on, with the built-in one and those found on localhost, and their models
 * with prices.
 */
import { messageOf } from '../../core/message-of.ts'
import { DAY_MS, systemClock } from '../../core/time.ts'
import { modelOf as mediaModelOf } from '../../media/models.ts'
import { type MediaModel, type UnpricedModel, unpricedOf } from '../../media/product.ts'
import { buildCatalogue, type Catalogue, NoSuchModel, type Override } from '../../pricing/catalogue.ts'
import { dearerThan, priceOf } from '../../pricing/charge.ts'
import { BadSetting } from '../../settings/bad-setting.ts'
import { discover } from '../../transport/discover.ts'
import { localFetch } from '../../transport/local.ts'
import { mediaHere } from '../../transport/local-media/serve.ts'
import { local, localModels } from '../../vendors/local/local.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import type { Config } from './config.ts'
import type { FileEqual } from './config-file.ts'
import { withFileMedia } from './config-media.ts'
import { stating } from './config-vendors.ts'
import { type Offered, offeredModels } from './offered-models.ts'

export type OpenCatalogue = {
  readonly vendors: ReadonlyMap<string, VendorSetup>
  readonly catalogue: Catalogue
  readonly failover: ReadonlyMap<string, readonly string[]>
  /** Equals that cost more and that the file does not allow, as `model → equal`. */
  readonly unusedEquals: readonly string[]
  /** Models offered at the operator's addresses that have no price yet. */
  readonly unpriced: Offered['unpriced']
}

export const openCatalogue = async (config: Config): Promise<OpenCatalogue> => {
  const found = config.discover ? await discover(new Set(config.vendors.map(({ vendor }) => vendor.id))) : []
  const offered = config.discover
    ? await offeredModels(config)
    : { models: [], unpriced: new Map<string, readonly string[]>() }
  const made: VendorSetup = {
    vendor: { ...local, media: mediaHere },
    baseUrl: local.baseUrl,
    secrets: [],
    fetch: localFetch,
  }
  const builtIn = stating(made, config.file.vendors?.local?.handling)
  const known = [builtIn, ...config.vendors, ...found.map(({ setup }) => setup)].map((setup) =>
    withOwnPrices(setup, config.overrides),
  )
  const on = new Set(known.map(({ vendor }) => vendor.id))
  try {
    const setups = withFileMedia(known, config.media)
    const catalogue = buildCatalogue({
      vendors: setups.map(({ vendor }) => ({
        id: vendor.id,
        shortIds: vendor.shortIds === true,
        ...(vendor.hostedRatesOf === undefined ? {} : { hostedRatesOf: vendor.hostedRatesOf }),
        ...(vendor.wireName === undefined ? {} : { wireName: vendor.wireName }),
        ...(vendor.requestStyleOf === undefined ? {} : { requestStyleOf: vendor.requestStyleOf }),
      })),
      extra: [
        ...localModels,
        ...setups.flatMap(({ vendor }) =>
          (vendor.media?.models ?? []).map((record) => mediaModelOf(vendor.id, record)),
        ),
        ...found.flatMap(({ models }) => models),
        ...offered.models,
        ...config.models.filter((model) => on.has(model.vendor)),
      ],
      overrides: config.overrides,
      markup: config.markup,
      discount: config.discount,
      aliases: config.aliases,
      now: systemClock.now,
    })
    checkBatches(setups, catalogue)
    return {
      vendors: new Map(setups.map((setup) => [setup.vendor.id, setup])),
      catalogue,
      ...failoverOf(config, catalogue),
      unpriced: offered.unpriced,
    }
  } catch (error) {
    throw new BadSetting(`${messageOf(error)}${error instanceof NoSuchModel ? fixOf(error, config) : ''}`)
  }
}

/** Throws for batches of a model that is not sold. One that has ended is let be, because a start must not fail just because a day has come. */
const checkBatches = (setups: readonly VendorSetup[], catalogue: Catalogue): void => {
  for (const { vendor, batches = {}, bucket } of setups)
    for (const name of [...Object.keys(batches), ...(bucket?.models ?? [])]) {
      const id = `${vendor.id}/${name}`
      if (catalogue.find(id) === undefined && catalogue.ended(id) === undefined)
        throw new NoSuchModel(`vendors.${vendor.id}.batch${bucket === undefined ? 'es' : '.models'}`, id)
    }
}

/** How the model that turnpike.yaml names would be sold. */
const fixOf = ({ model }: NoSuchModel, { off }: Pick<Config, 'off'>): string => {
  const vendor = off.find(({ id }) => model.startsWith(`${id}/`))
  return vendor === undefined
    ? '; correct the name, or turn on its vendor'
    : `; ${vendor.id} is off: set ${vendor.variable}`
}

/**
 * Equals that cost more than the model whose calls they take over, as `model → equal`: the operator pays the
 * difference.
 */
export const dearerEquals = ({
  failover,
  catalogue,
}: Pick<OpenCatalogue, 'failover' | 'catalogue'>): readonly string[] =>
  [...failover].flatMap(([id, equals]) =>
    equals.filter((equal) => isDearer(catalogue, id, equal)).map((equal) => `${id} → ${equal}`),
  )

const isDearer = (catalogue: Pick<Catalogue, 'find'>, id: string, equal: string): boolean => {
  const [own, found] = [catalogue.find(id), catalogue.find(equal)]
  return own !== undefined && found !== undefined && dearerThan(found.price, priceOf(own))
}

/** What an operator should know of models in a turnpike.yaml that is valid: each thing with its models. */
export const modelWarnings = (
  config: Pick<Config, 'failover' | 'aliases' | 'file' | 'off'>,
  opened: Pick<OpenCatalogue, 'failover' | 'catalogue' | 'unusedEquals'>,
  now: number,
): readonly { readonly what: string; readonly models: string }[] =>
  (
    [
      [
        'failover to a dearer model is charged at the price of the model that was asked for',
        dearerEquals(opened),
      ],
      ['turnpike.yaml lists vendors that are off, as they have no key', keyless(config)],
      ['turnpike.yaml names models that their vendors end', endingModels(config, opened.catalogue, now)],
      [
        'dearer equals are not used; list one as { model: …, dearer: true } to bear the difference',
        opened.unusedEquals,
      ],
    ] as const
  ).flatMap(([what, models]) => (models.length === 0 ? [] : [{ what, models: models.join(', ') }]))

/** Vendors of turnpike.yaml without a key, each with the variable that it lacks. */
const keyless = ({ file, off }: Pick<Config, 'file' | 'off'>): readonly string[] =>
  off.filter(({ id }) => file.vendors?.[id] !== undefined).map(({ id, variable }) => `${id}: set ${variable}`)

/** How long before its end we warn of a model. */
const WARNED_MS = 30 * DAY_MS

/** Models that turnpike.yaml relies on and that have ended or soon will, each with the day. */
export const endingModels = (
  { failover, aliases }: Pick<Config, 'failover' | 'aliases'>,
  catalogue: Catalogue,
  now: number,
): readonly string[] => {
  const listed = Object.entries(failover).flatMap(([id, equals]) => [id, ...equals.map(({ model }) => model)])
  const named = new Set([...listed, ...Object.values(aliases)])
  return [...named].flatMap((name) => {
    const endsAt = catalogue.ended(name) ?? catalogue.find(name)?.endsAt
    return endsAt === undefined || endsAt > now + WARNED_MS
      ? []
      : [`${name} on ${new Date(endsAt).toISOString().slice(0, 10)}`]
  })
}

/**
 * The operator's lists of equals. Throws an Error that names the setting if one is not a model of the same kind. Models
 * that have ended are left out, because a start must not fail just because a day has come.
 */
const failoverOf = (config: Config, catalogue: Catalogue) => {
  const unusedEquals: string[] = []
  const lists = Object.entries(config.failover).flatMap(([id, equals]): [string, readonly string[]][] => {
    if (catalogue.ended(id) !== undefined) return []
    const model = catalogue.find(id)
    if (model === undefined) throw new NoSuchModel('failover', id)
    const itself = equals.find(({ model: equal }) => catalogue.find(equal)?.id === model.id)
    if (itself !== undefined)
      throw new Error(`failover.${id}: '${itself.model}' is the model itself, not an equal of it`)
    const left = equals.filter(({ model: equal }) => catalogue.ended(equal) === undefined)
    for (const { model: equal } of left)
      if (catalogue.find(equal)?.kind !== model.kind)
        throw new NoSuchModel(`failover.${id}`, equal, `${model.kind} `)
    const isUnused = ({ model: equal, dearer }: FileEqual): boolean =>
      !dearer && isDearer(catalogue, model.id, equal)
    for (const one of left) if (isUnused(one)) unusedEquals.push(`${model.id} → ${one.model}`)
    return [[model.id, left.filter((one) => !isUnused(one)).map((one) => one.model)]]
  })
  return { failover: new Map(lists), unusedEquals }
}

/** The vendor with those of its products that the operator prices. Throws BadSetting if a unit's price is missing. */
const withOwnPrices = (setup: VendorSetup, overrides: Readonly<Record<string, Override>>): VendorSetup => {
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
