/** Environment and turnpike.yaml → one checked configuration. Any bad setting is one line that names it. */
import { type Block, readBlock } from '../core/address.ts'
import type { LogLevel } from '../core/log.ts'
import { type Nano, nanoFromDecimal } from '../core/money.ts'
import { Secret } from '../core/secret.ts'
import { DAY_MS, HOUR_MS } from '../core/time.ts'
import type { GatewayOptions } from '../gateway/gateway.ts'
import type { StripeSettings } from '../payment/stripe-parts.ts'
import type { X402Options } from '../payment/x402/offer.ts'
import type { Override, TableModel } from '../pricing/catalogue.ts'
import { vendors } from '../vendors/index.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { discountOf, markupOf, modelOf, overrideOf } from './config-prices.ts'
import { vendorSetups } from './config-vendors.ts'
import { bad, type Environment, numberOf, type SettingName, settingOf } from './settings.ts'
import { x402OptionsOf } from './x402-config.ts'

export type Config = {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string
  /** The journal's folder; undefined when it is off or the ledger is local. */
  readonly journal: string | undefined
  readonly workers: number
  readonly secret: string | undefined
  readonly firstFund: Nano
  readonly drainMs: number
  readonly discover: boolean
  readonly logLevel: LogLevel
  readonly receipts: {
    readonly mode: 'header' | 'on-demand' | 'off'
    readonly issuers: readonly [string, ...string[]]
  }
  readonly gateway: GatewayOptions
  readonly stripe: StripeSettings | undefined
  readonly vendors: readonly VendorSetup[]
  /** Vendors that are off, with the variable that turns each on. */
  readonly off: readonly { readonly id: string; readonly variable: string }[]
  readonly models: readonly TableModel[]
  readonly overrides: Readonly<Record<string, Override>>
  /** Names of the operator's own for models. */
  readonly aliases: Readonly<Record<string, string>>
  /** Equals of a model at other vendors, by its id, in order. */
  readonly failover: NonNullable<ConfigFile['failover']>
  readonly markup: string
  readonly discount: string
  /** Payments call by call, if they are set up. */
  readonly x402: X402Options | undefined
}

/** Reads and checks everything. Throws BadSetting. */
export const readConfig = (environment: Environment, file = readConfigFile(environment)): Config => {
  const setups = vendorSetups(file, environment)
  const config: Config = {
    host: settingOf(environment, 'HOST'),
    port: numberOf(environment, 'PORT'),
    databaseUrl: settingOf(environment, 'DATABASE_URL'),
    journal: journalOf(environment),
    workers: numberOf(environment, 'WORKERS'),
    secret: settingOf(environment, 'TURNPIKE_SECRET') || undefined,
    firstFund: amountOf(environment, 'FIRST_FUND_USD'),
    drainMs: millisOf(environment, 'DRAIN_SECONDS'),
    discover: settingOf(environment, 'DISCOVER') === 'on',
    logLevel: levelOf(settingOf(environment, 'LOG')),
    receipts: receiptsOf(environment),
    gateway: {
      creditNano: amountOf(environment, 'CREDIT_USD') || bad('CREDIT_USD must be a decimal amount above 0'),
      planRpm: numberOf(environment, 'PLAN_RPM'),
      guestRpm: numberOf(environment, 'GUEST_RPM'),
      ...boundsOf(environment),
      trustedProxies: blocksOf(settingOf(environment, 'TRUSTED_PROXIES')),
      trial: trialOf(environment),
      signUpUrl: settingOf(environment, 'SIGN_UP_URL') || undefined,
      referral: referralOf(environment),
    },
    stripe: stripeOf(environment),
    vendors: setups,
    off: offOf(setups),
    models: Object.entries(file.vendors ?? {}).flatMap(([id, entry]) =>
      Object.entries(entry.models ?? {}).map(([name, model]) => modelOf(id, name, model)),
    ),
    overrides: Object.fromEntries(
      Object.entries(file.prices ?? {}).map(([id, prices]) => [id, overrideOf(prices, `prices.${id}`)]),
    ),
    aliases: file.aliases ?? {},
    failover: file.failover ?? {},
    markup: markupOf(file.markup ?? '1'),
    discount: discountOf(file.discount ?? '0.5'),
    x402: file.x402 === undefined ? undefined : x402OptionsOf(file.x402),
  }
  if (config.workers > 1 && config.databaseUrl.startsWith('sqlite:'))
    bad('WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite')
  return config
}

const offOf = (setups: readonly VendorSetup[]): Config['off'] => {
  const on = new Set(setups.map(({ vendor }) => vendor.id))
  return vendors
    .filter(({ id }) => !on.has(id))
    .map(({ id, keyVariable, alsoNeeds }) => ({
      id,
      variable: alsoNeeds === undefined ? keyVariable : `${keyVariable} with ${alsoNeeds}`,
    }))
}

const issuersOf = (names: string): readonly [string, ...string[]] => {
  const [first = names, ...others] = names.split(',')
  return [first, ...others]
}
type Bounds = Omit<
  GatewayOptions,
  'creditNano' | 'planRpm' | 'guestRpm' | 'trustedProxies' | 'trial' | 'signUpUrl' | 'referral'
>

/** What callers and vendors may take of a process. */
const boundsOf = (environment: Environment): Bounds => {
  const seconds = (name: SettingName & `${string}_SECONDS`) => millisOf(environment, name)
  return {
    reportRpm: numberOf(environment, 'REPORT_RPM'),
    bodyBytesMax: numberOf(environment, 'BODY_BYTES_MAX'),
    bufferBytesMax: numberOf(environment, 'BUFFER_BYTES_MAX'),
    keptBytesMax: numberOf(environment, 'KEPT_BYTES_MAX'),
    keySharePercent: numberOf(environment, 'KEY_SHARE_PERCENT'),
    bodyMs: seconds('BODY_SECONDS'),
    readerMs: seconds('READER_SECONDS'),
    connectionSeconds: numberOf(environment, 'CONNECTION_SECONDS'),
    overloadMs: numberOf(environment, 'OVERLOAD_MS'),
    openCallsMax: numberOf(environment, 'OPEN_CALLS_MAX'),
    discountOpenMax: numberOf(environment, 'DISCOUNT_OPEN_MAX'),
    responsesKeptMs: numberOf(environment, 'RESPONSES_STORE') * HOUR_MS,
    timeouts: {
      firstByteMs: seconds('FIRST_BYTE_SECONDS'),
      idleMs: seconds('IDLE_SECONDS'),
      totalMs: seconds('TOTAL_SECONDS'),
    },
  }
}

const millisOf = (environment: Environment, name: SettingName & `${string}_SECONDS`): number =>
  numberOf(environment, name) * 1000

const journalOf = (environment: Environment): string | undefined => {
  const folder = settingOf(environment, 'JOURNAL')
  return folder === 'off' || settingOf(environment, 'DATABASE_URL').startsWith('sqlite:') ? undefined : folder
}

/** Off without the secret of the webhook: what was paid could not be heard of. */
const stripeOf = (environment: Environment): StripeSettings | undefined => {
  const key = settingOf(environment, 'STRIPE_SECRET_KEY')
  const secrets = settingOf(environment, 'STRIPE_WEBHOOK_SECRET')
  if (secrets === '') return undefined
  if (key === '') bad('STRIPE_WEBHOOK_SECRET is of no use without STRIPE_SECRET_KEY')
  return {
    key: new Secret(key),
    webhookSecrets: secrets.split(',').map((secret) => new Secret(secret)),
    baseUrl: settingOf(environment, 'STRIPE_BASE_URL'),
    returnUrl: settingOf(environment, 'STRIPE_RETURN_URL') || undefined,
    topUpDailyMax: amountOf(environment, 'TOP_UP_DAILY_USD'),
  }
}

const levelOf = (text: string): LogLevel =>
  (['call', 'info', 'warn', 'error', 'off'] as const).find((level) => level === text) ?? 'call'

const receiptsOf = (environment: Environment): Config['receipts'] => {
  const text = settingOf(environment, 'RECEIPTS')
  const mode = (['header', 'on-demand', 'off'] as const).find((one) => one === text) ?? 'header'
  return { mode, issuers: issuersOf(settingOf(environment, 'RECEIPT_ISSUER')) }
}

const trialOf = (environment: Environment): GatewayOptions['trial'] => {
  const lifeMs = numberOf(environment, 'TRIAL_DAYS') * DAY_MS
  return {
    amount: amountOf(environment, 'TRIAL_USD'),
    dailyAmount: amountOf(environment, 'TRIAL_DAILY_USD'),
    lifeMs,
    // What is left of a trial goes back to the house when it ends, so the next one cannot begin before.
    againMs: Math.max(lifeMs, numberOf(environment, 'TRIAL_AGAIN_DAYS') * DAY_MS),
  }
}

const referralOf = (environment: Environment): GatewayOptions['referral'] => ({
  referrerAmount: amountOf(environment, 'REFERRER_USD'),
  claimantAmount: amountOf(environment, 'REFERRED_USD'),
})

const blocksOf = (list: string): readonly Block[] =>
  list
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map(
      (text) =>
        readBlock(text) ??
        bad(
          `TRUSTED_PROXIES must hold addresses or blocks such as 10.0.0.0/8, no IPv4-mapped ones and not the whole Internet; '${text}' is none`,
        ),
    )

const amountOf = (
  environment: Environment,
  name:
    | 'CREDIT_USD'
    | 'FIRST_FUND_USD'
    | 'TRIAL_USD'
    | 'TRIAL_DAILY_USD'
    | 'REFERRER_USD'
    | 'REFERRED_USD'
    | 'TOP_UP_DAILY_USD',
): Nano => nanoFromDecimal(settingOf(environment, name)) ?? bad(`${name} must be a decimal amount`)
