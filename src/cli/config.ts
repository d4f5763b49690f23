/** Environment and turnpike.yaml → one checked configuration. Any bad setting is one line that names it. */

import type { LogLevel } from '../core/log.ts'
import type { Capability, Model, Rates } from '../core/model.ts'
import { type Nano, nanoFromDecimal, picoFromPerMillion } from '../core/money.ts'
import { Secret } from '../core/secret.ts'
import type { GatewayOptions } from '../gateway/gateway.ts'
import { vendors } from '../vendors/index.ts'
import { ownAddress } from '../vendors/own-address.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { Vendor } from '../vendors/vendor.ts'
import { type ConfigFile, type FileModel, type FileRates, readConfigFile } from './config-file.ts'
import { BadSetting, type Environment, numberOf, settingOf } from './settings.ts'

export type Config = {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string
  readonly workers: number
  readonly secret: string | undefined
  readonly firstFund: Nano
  readonly drainMs: number
  readonly discover: boolean
  readonly logLevel: LogLevel
  readonly gateway: GatewayOptions
  readonly vendors: readonly VendorSetup[]
  /** Vendors that are off, with the variable that turns each on. */
  readonly off: readonly { readonly id: string; readonly variable: string }[]
  readonly models: readonly Model[]
  readonly overrides: Readonly<Record<string, Rates>>
  readonly markup: string
  readonly discount: string
}

/** Reads and checks everything. Throws BadSetting. */
export const readConfig = (environment: Environment): Config => {
  const file = readConfigFile(environment)
  const setups = vendorSetups(file, environment)
  const on = new Set(setups.map(({ vendor }) => vendor.id))
  const seconds = (name: 'FIRST_BYTE_SECONDS' | 'IDLE_SECONDS' | 'TOTAL_SECONDS' | 'DRAIN_SECONDS') =>
    numberOf(environment, name) * 1000
  const config: Config = {
    host: settingOf(environment, 'HOST'),
    port: numberOf(environment, 'PORT'),
    databaseUrl: settingOf(environment, 'DATABASE_URL'),
    workers: numberOf(environment, 'WORKERS'),
    secret: settingOf(environment, 'TURNPIKE_SECRET') || undefined,
    firstFund: amountOf(environment, 'FIRST_FUND_USD'),
    drainMs: seconds('DRAIN_SECONDS'),
    discover: settingOf(environment, 'DISCOVER') === 'on',
    logLevel: levelOf(settingOf(environment, 'LOG')),
    gateway: {
      creditNano: amountOf(environment, 'CREDIT_USD') || bad('CREDIT_USD must be a decimal amount above 0'),
      planRpm: numberOf(environment, 'PLAN_RPM'),
      bodyBytesMax: numberOf(environment, 'BODY_BYTES_MAX'),
      openCallsMax: numberOf(environment, 'OPEN_CALLS_MAX'),
      timeouts: {
        firstByteMs: seconds('FIRST_BYTE_SECONDS'),
        idleMs: seconds('IDLE_SECONDS'),
        totalMs: seconds('TOTAL_SECONDS'),
      },
    },
    vendors: setups,
    off: vendors
      .filter(({ id }) => !on.has(id))
      .map(({ id, keyVariable }) => ({ id, variable: keyVariable })),
    models: Object.entries(file.vendors ?? {}).flatMap(([id, entry]) =>
      Object.entries(entry.models ?? {}).map(([name, model]) => modelOf(id, name, model)),
    ),
    overrides: Object.fromEntries(
      Object.entries(file.prices ?? {}).map(([id, rates]) => [id, ratesOf(rates, `prices.${id}`)]),
    ),
    markup: factorOf('markup', file.markup ?? '1'),
    discount: factorOf('discount', file.discount ?? '0.5'),
  }
  if (config.workers > 1 && config.databaseUrl.startsWith('sqlite:'))
    bad('WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite')
  return config
}

const bad = (message: string): never => {
  throw new BadSetting(message)
}

const levelOf = (text: string): LogLevel =>
  (['call', 'info', 'warn', 'error', 'off'] as const).find((level) => level === text) ?? 'call'

const amountOf = (environment: Environment, name: 'CREDIT_USD' | 'FIRST_FUND_USD'): Nano =>
  nanoFromDecimal(settingOf(environment, name)) ?? bad(`${name} must be a decimal amount`)

/** `1.15` or `15%`: a factor as a decimal text. */
const factorOf = (name: string, text: string): string => {
  const percent = /^(\d{1,4})%$/.exec(text)?.[1]
  const factor =
    percent === undefined
      ? text
      : `${Math.floor((100 + Number.parseInt(percent, 10)) / 100)}.${String(Number.parseInt(percent, 10) % 100).padStart(2, '0')}`
  return (nanoFromDecimal(factor) ?? 0n) > 0n
    ? factor
    : bad(`${name} must be a factor such as 1.15, or a percentage such as 15%, not '${text}'`)
}

const vendorSetups = (file: ConfigFile, environment: Environment): readonly VendorSetup[] => {
  const entries = file.vendors ?? {}
  const builtIn = vendors.flatMap((vendor): VendorSetup[] => {
    const entry = entries[vendor.id]
    const baseUrl = addressOf(vendor, entry?.base_url, environment)
    const secrets = secretsOf(entry?.keys, environment[vendor.keyVariable])
    return secrets.length === 0 ? [] : [{ vendor, baseUrl, secrets }]
  })
  const own = Object.entries(entries).flatMap(([id, entry]): VendorSetup[] => {
    if (vendors.some((vendor) => vendor.id === id) || id === 'local') return []
    if (entry.base_url === undefined)
      return bad(`vendors.${id}.base_url is missing: '${id}' is not a known vendor, so its address is needed`)
    const vendor = ownAddress(id, checkedUrl(`vendors.${id}.base_url`, entry.base_url))
    return [
      {
        vendor,
        baseUrl: addressOf(vendor, entry.base_url, environment),
        secrets: secretsOf(entry.keys, environment[vendor.keyVariable]),
      },
    ]
  })
  return [...builtIn, ...own]
}

const secretsOf = (
  listed: string | string[] | undefined,
  variable: string | undefined,
): readonly Secret[] => {
  const texts = [...(listed === undefined ? [] : [listed].flat()), ...(variable ?? '').split(',')]
  return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))].map(
    (text) => new Secret(text),
  )
}

const addressOf = (vendor: Vendor, listed: string | undefined, environment: Environment): string => {
  const variable = `${vendor.id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_BASE_URL`
  const fromEnvironment = environment[variable]
  if (fromEnvironment !== undefined && fromEnvironment !== '') return checkedUrl(variable, fromEnvironment)
  return listed === undefined ? vendor.baseUrl : checkedUrl(`vendors.${vendor.id}.base_url`, listed)
}

const checkedUrl = (name: string, text: string): string => {
  if (!URL.canParse(text)) return bad(`${name} must be an address such as https://host/v1, not '${text}'`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return bad(`${name} must begin with https:// or http://`)
  if (url.username !== '' || url.password !== '' || url.search !== '')
    return bad(`${name} must not hold credentials or a query`)
  return text.replace(/\/+$/, '')
}

const modelOf = (vendor: string, name: string, model: FileModel): Model => {
  const where = `vendors.${vendor}.models.${name}`
  const kind = model.kind ?? 'chat'
  const rates = ratesOf(model, where)
  if (rates.input === undefined)
    bad(`${where}.input_usd_per_1m is missing: a model without a price is not sold; 0 is a price`)
  if (kind === 'chat' && rates.output === undefined)
    bad(`${where}.output_usd_per_1m is missing: a model without a price is not sold; 0 is a price`)
  const output =
    model.max_output_tokens ?? (kind === 'chat' ? bad(`${where}.max_output_tokens is missing`) : 0)
  const capabilities: readonly Capability[] =
    model.capabilities ?? (kind === 'chat' ? ['streaming', 'function_calling'] : ['embeddings'])
  return {
    id: `${vendor}/${name}`,
    vendor,
    upstreamName: model.upstream_name ?? name,
    kind,
    price: { rates, tiers: [], version: 'config' },
    contextTokens: model.context_tokens,
    maxOutputTokens: output,
    capabilities,
    imageTokensMax: 6_000,
    discounted: false,
  }
}

const ratesOf = (rates: FileRates, where: string): Rates => {
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
