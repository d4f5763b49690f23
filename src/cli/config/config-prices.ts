/** What turnpike.yaml says about prices: factors, further models, and prices that replace those of the table. */
import type { Capability, Tier, UnitPrices } from '../../core/model.ts'
import { NANO_PER_USD, nanoFromDecimal, picoFromPerMillion } from '../../core/money.ts'
import { instantFrom } from '../../core/time.ts'
import type { Override, TableModel } from '../../pricing/catalogue.ts'
import type { Later } from '../../pricing/dated.ts'
import { BadSetting } from '../../settings/bad-setting.ts'
import { vendors } from '../../vendors/index.ts'
import type { FileModel, FilePrices } from './config-file.ts'

const bad = (message: string): never => {
  throw new BadSetting(message)
}

/** From this value on a plain number is more likely meant as a percentage than as a factor. */
const PLAIN_MAX = 3n * NANO_PER_USD

/** The markup `1.15`, `15x` or `15%` as a decimal factor. Throws BadSetting. */
export const markupOf = (text: string): string => {
  const percent = /^(\d{1,4})%$/.exec(text)?.[1]
  if (percent !== undefined) {
    const whole = 100 + Number.parseInt(percent, 10)
    return `${Math.floor(whole / 100)}.${String(whole % 100).padStart(2, '0')}`
  }
  const times = /^(.+)x$/.exec(text)?.[1]
  const factor = nanoFromDecimal(times ?? text) ?? 0n
  if (factor === 0n)
    return bad(`markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not '${text}'`)
  if (times === undefined && factor >= PLAIN_MAX)
    return bad(
      `markup: ${text} is ambiguous: write '${text}x' for ${text} times the vendor's price, '${text}%' for ${text} % on top`,
    )
  return times ?? text
}

/** What discounted models cost, as a share of the full price. Throws BadSetting. */
export const discountOf = (text: string): string => {
  const factor = nanoFromDecimal(text)
  return factor !== undefined && factor > 0n && factor <= NANO_PER_USD
    ? text
    : bad(`discount must be a factor above 0 and up to 1, such as 0.5 for half the price, not '${text}'`)
}

/** A model of the operator's. Throws a BadSetting that names what is missing. */
export const modelOf = (vendor: string, name: string, model: FileModel): TableModel => {
  const where = `vendors.${vendor}.models.${name}`
  const kind = model.kind ?? 'chat'
  const { rates, tiers = [], later } = overrideOf(model, where)
  if (rates.input === undefined)
    bad(`${where}.input_usd_per_1m is missing: a model without a price is not sold; 0 is a price`)
  if (kind === 'chat' && rates.output === undefined)
    bad(`${where}.output_usd_per_1m is missing: a model without a price is not sold; 0 is a price`)
  const output =
    model.max_output_tokens ?? (kind === 'chat' ? bad(`${where}.max_output_tokens is missing`) : 0)
  if (output > model.context_tokens)
    bad(
      `${where}.max_output_tokens (${output}) is above ${where}.context_tokens (${model.context_tokens}), ` +
        'which bounds input and output together',
    )
  const capabilities: readonly Capability[] =
    model.capabilities ?? (kind === 'chat' ? ['streaming', 'function_calling'] : ['embeddings'])
  return {
    id: `${vendor}/${name}`,
    vendor,
    upstreamName: model.upstream_name ?? vendors.find(({ id }) => id === vendor)?.wireName?.(name) ?? name,
    kind,
    price: { rates, tiers, version: 'config' },
    contextTokens: model.context_tokens,
    maxOutputTokens: output,
    capabilities,
    imageTokensMax: 6_000,
    ...(later === undefined ? {} : { later }),
    ...(model.ends === undefined ? {} : { endsAt: dayOf(model.ends, where) }),
    ...(model.cheaper_tier === undefined ? {} : { lower: { tier: model.cheaper_tier } }),
  }
}

const dayOf = (date: string, where: string): number =>
  instantFrom(date) ?? bad(`${where}.ends must be a date such as "2027-01-31" that there is, not '${date}'`)

/** The present rates and tiers, and later ones. Throws BadSetting. */
export const overrideOf = ({ later, ...prices }: FilePrices, where: string): Override => ({
  ...givenOf(prices, where),
  ...(later === undefined
    ? {}
    : { later: later.map((one, index) => laterOf(one, `${where}.later.${index}`)) }),
})

const laterOf = ({ from, ...prices }: NonNullable<FilePrices['later']>[number], where: string): Later => {
  const given = givenOf(prices, where)
  if (Object.keys(given.rates).length === 0 && given.tiers === undefined)
    bad(`${where} has no price, so it would change nothing`)
  const at =
    instantFrom(from) ?? bad(`${where}.from must be a day or a time in UTC that there is, not '${from}'`)
  return { ...given, from: at }
}

const givenOf = ({ tiers, ...rates }: Omit<FilePrices, 'later'>, where: string) => ({
  rates: ratesOf(rates, where),
  ...(tiers === undefined ? {} : { tiers: tiersOf(tiers, `${where}.tiers`) }),
})

const tiersOf = (tiers: NonNullable<FilePrices['tiers']>, where: string): readonly Tier[] =>
  tiers
    .map(({ above_input_tokens, ...rates }, index) => ({
      aboveInputTokens: above_input_tokens,
      rates: ratesOf(rates, `${where}.${index}`),
    }))
    .sort((a, b) => a.aboveInputTokens - b.aboveInputTokens)

const ratesOf = (rates: Readonly<Record<string, unknown>>, where: string): UnitPrices => {
  const read: Record<string, number> = {}
  for (const [name, text] of Object.entries(rates)) {
    const usageClass = /^(.+)_usd_per_1m$/.exec(name)?.[1]
    if (usageClass === undefined || typeof text !== 'string') continue
    read[usageClass] =
      picoFromPerMillion(text) ??
      bad(`${where}.${name} must be USD a million tokens with at most six decimals, not '${text}'`)
  }
  return read
}
