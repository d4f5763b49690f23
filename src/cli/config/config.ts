/** Environment and turnpike.yaml → one checked configuration. All errors are reported at once, one line each. */
import { dirname, join } from 'node:path'
import { Secret } from '../../core/secret.ts'
import type { ConsoleSettings, GatewayOptions } from '../../gateway/parts/gateway.ts'
import type { StripeSettings } from '../../payment/stripe-parts.ts'
import type { X402Options } from '../../payment/x402/offer.ts'
import type { Override, TableModel } from '../../pricing/catalogue.ts'
import type { backupSettings } from '../../settings/backup.ts'
import { bad, type Environment, together } from '../../settings/bad-setting.ts'
import { type Company, companiesOf } from '../../settings/companies.ts'
import type { consoleSettings } from '../../settings/console.ts'
import { settings } from '../../settings/index.ts'
import { boundsWithin } from '../../settings/memory.ts'
import { checkMaster } from '../../settings/own-keys.ts'
import type { serverSettings } from '../../settings/server.ts'
import { readSettings, rowsOf, type ValuesOf } from '../../settings/setting.ts'
import type { watchSettings } from '../../settings/watch.ts'
import { BadAddress, readPostgresAddress } from '../../store/engine/postgres-address.ts'
import { fileOf } from '../../store/ledger-file.ts'
import { machineMemory } from '../../transport/machine-memory.ts'
import { vendors } from '../../vendors/index.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { withAddedKeys } from './added-keys.ts'
import { type AssetsConfig, assetsConfigOf } from './assets-config.ts'
import { strayAddresses } from './base-urls.ts'
import { companiesConfigOf } from './companies-config.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { discountOf, markupOf, modelOf, overrideOf } from './config-prices.ts'
import { vendorSetups } from './config-vendors.ts'
import { type ExportConfig, exportConfigOf } from './export-config.ts'
import { withSecretFiles } from './secret-files.ts'
import { readTls } from './tls-files.ts'
import { x402OptionsOf } from './x402-config.ts'

/** The file's content, with the keys and addresses that the environment adds. */
type FromFile = {
  readonly vendors: readonly VendorSetup[]
  readonly models: readonly TableModel[]
  readonly overrides: Readonly<Record<string, Override>>
  readonly markup: string
  readonly discount: string
  /** Payments call by call, if they are set up. */
  readonly x402: X402Options | undefined
  /** Where calls and events are exported to, if anywhere. */
  readonly exporting: ExportConfig | undefined
}

/** The settings of the process under their own names; values that several settings decide together are below. */
export type Config = Omit<ValuesOf<typeof serverSettings>, 'journal'> &
  FromFile & {
    /** The journal's folder; undefined when it is off, or the ledger is in memory. */
    readonly journal: string | undefined
    readonly gateway: GatewayOptions
    readonly assets: AssetsConfig
    readonly backup: ValuesOf<typeof backupSettings>
    readonly console: ConsoleSettings
    readonly watch: ValuesOf<typeof watchSettings>
    /** The address that callers know the server by. */
    readonly publicUrl: string | undefined
    readonly stripe: StripeSettings | undefined
    /** The bounds that are smaller than their defaults because memory is, by variable. */
    readonly smaller: Readonly<Record<string, string>>
    /** Vendors that are off, each with the variable that turns it on. */
    readonly off: readonly { readonly id: string; readonly variable: string }[]
    /** Variables that look like a vendor's address but belong to none. */
    readonly strayAddresses: readonly string[]
    /** The operator's own names for models. */
    readonly aliases: Readonly<Record<string, string>>
    /** Equals of a model at other vendors, by its id, in order. */
    readonly failover: NonNullable<ConfigFile['failover']>
    /**
     * Settings that are only read at a start, by name; a running server keeps them. For comparison only: they contain
     * secrets.
     */
    readonly fixed: Readonly<Record<string, Secret>>
    /** The whole content of turnpike.yaml. */
    readonly file: ConfigFile
    /** Prices and records of products that are not chat. */
    readonly media: NonNullable<ConfigFile['media']>
  }

/** Reads and checks everything; `file` replaces the one that TURNPIKE_CONFIG names. Throws BadSetting. */
export const readConfig = (given: Environment, file?: ConfigFile): Config => {
  const { environment: filled, check } = withSecretFiles(given)
  const environment = withAddedKeys(filled)
  const smaller = smallerBounds(environment)
  const { set, read } = together({
    files: check,
    set: () => readSettings(settings, { ...environment, ...smaller }),
    read: () => {
      const found = file ?? readConfigFile(environment)
      return { ...readFile(found, environment), file: found, fixed: fixedOf(found, environment) }
    },
  })
  const { server, calls } = set
  const local = server.databaseUrl.startsWith('sqlite:')
  const { stripe, assets, people } = together({
    assets: () => assetsConfigOf(set.assets),
    stripe: () => stripeOf(set.stripe, read.x402),
    people: () => consoleConfigOf(set.console, set.assets, companiesConfigOf(read.file.companies ?? {})),
    ownKeys: () => checkMaster(calls.ownKeys),
    database: () => checkDatabase(settings.server.databaseUrl.name, server.databaseUrl),
    replica: () => {
      const { name } = settings.server.replicaUrl
      if (server.replicaUrl === undefined) return
      if (local) bad(`${name} needs PostgreSQL: a ledger on SQLite has no replica`)
      checkDatabase(name, server.replicaUrl)
    },
    tls: () => readTls(server.tls),
    sync: () => {
      if (server.sync === 'require' && local)
        bad('SYNC=require needs PostgreSQL with a synchronous standby: SQLite has none')
    },
    workers: () => {
      if (server.workers > 1 && local)
        bad('WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite')
    },
  })
  return {
    ...server,
    journal: journalOf(server, environment),
    gateway: { ...calls, trial: trialOf(calls.trial) },
    stripe,
    assets,
    backup: set.backup,
    console: people,
    watch: set.watch,
    publicUrl: set.assets.publicUrl,
    smaller,
    ...read,
    off: offOf(read.vendors),
    strayAddresses: strayAddresses(
      read.vendors.map(({ vendor }) => vendor.id),
      environment,
    ),
  }
}

/** A PostgreSQL's address has parts of its own, and names files. */
const checkDatabase = (name: string, url: string): void => {
  try {
    if (!url.startsWith('sqlite:')) readPostgresAddress(url)
  } catch (error) {
    if (error instanceof BadAddress) bad(`${name}: ${error.message}`)
    throw error
  }
}

/** Each of several processes has an even part of the memory. Wrong values are reported with all others. */
const smallerBounds = (environment: Environment): Config['smaller'] => {
  const memory = settings.server.memoryMax.is.read(environment.MEMORY_MAX || 'auto')
  const workers = settings.server.workers.is.read(environment.WORKERS || '1')
  return 'unfit' in memory || 'unfit' in workers
    ? {}
    : boundsWithin((memory.value ?? machineMemory()) / workers.value, environment)
}

/** The journal of a SQLite ledger is beside it unless the setting says where. */
const journalOf = ({ databaseUrl, journal }: ValuesOf<typeof serverSettings>, environment: Environment) => {
  if (!databaseUrl.startsWith('sqlite:')) return journal
  const file = fileOf(databaseUrl)
  if (file === undefined || journal === undefined) return undefined
  return (environment[settings.server.journal.name] ?? '') === '' ? join(dirname(file), 'journal') : journal
}

/** The file's content, with the keys and addresses that the environment adds. */
const readFile = (file: ConfigFile, environment: Environment) => ({
  ...together({
    vendors: () => vendorSetups(file, environment),
    models: () =>
      Object.entries(file.vendors ?? {}).flatMap(([id, entry]) =>
        Object.entries(entry.models ?? {}).map(([name, model]) => modelOf(id, name, model)),
      ),
    overrides: () =>
      Object.fromEntries(
        Object.entries(file.prices ?? {}).map(([id, prices]) => [id, overrideOf(prices, `prices.${id}`)]),
      ),
    markup: () => markupOf(file.markup ?? '1'),
    discount: () => discountOf(file.discount ?? '0.5'),
    exporting: () => (file.export === undefined ? undefined : exportConfigOf(file.export)),
    x402: () => (file.x402 === undefined ? undefined : x402OptionsOf(file.x402)),
  }),
  aliases: file.aliases ?? {},
  failover: file.failover ?? {},
  media: file.media ?? {},
})

/** The settings, and the parts of the file that are only set up once. */
const fixedOf = (file: ConfigFile, environment: Environment): Config['fixed'] => {
  const rows = rowsOf(settings).map(({ name, fallback = '' }): [string, string] => [
    name,
    (environment[name] ?? '') === '' ? fallback : (environment[name] ?? ''),
  ])
  const parts = (['x402', 'export', 'companies'] as const).map((name): [string, string] => [
    `${name} in turnpike.yaml`,
    JSON.stringify(file[name] ?? null),
  ])
  return Object.fromEntries([...rows, ...parts].map(([name, text]) => [name, new Secret(text)]))
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

/** Off without the webhook's secret, because we could not learn of any payment. */
const stripeOf = (
  { key, webhookSecrets, ...others }: ValuesOf<typeof settings.stripe>,
  x402: X402Options | undefined,
): StripeSettings | undefined => {
  const { networkId, paymentMethodTypes } = settings.stripe
  if (others.networkId === undefined && others.paymentMethodTypes !== undefined)
    bad(`${paymentMethodTypes.name} is of no use without ${networkId.name}`)
  if (others.networkId !== undefined && webhookSecrets === undefined)
    bad(`${networkId.name} needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET`)
  if (others.networkId !== undefined && x402 === undefined)
    bad(`${networkId.name} needs the x402 section of turnpike.yaml: its quotes are those of x402`)
  if (webhookSecrets === undefined) return undefined
  return key === undefined
    ? bad('STRIPE_WEBHOOK_SECRET is of no use without STRIPE_SECRET_KEY')
    : { key, webhookSecrets, ...others }
}

/** What is left of a trial returns to the house when the trial ends, so the next one cannot begin before that. */
const trialOf = (trial: GatewayOptions['trial']): GatewayOptions['trial'] => ({
  ...trial,
  againMs: Math.max(trial.lifeMs, trial.againMs),
})

/**
 * Checks the settings that only make sense together. With mail or a company's sign-in the origin is always set: links
 * and the way back from a provider carry secrets, and whoever sends a request could name another host in it. Throws
 * BadSetting.
 */
const consoleConfigOf = (
  settings: ValuesOf<typeof consoleSettings>,
  { publicUrl }: { readonly publicUrl: string | undefined },
  companies: readonly Company[],
): ConsoleSettings => {
  const { smtp, oidcIssuer, oidcClientId } = settings
  const named = settings.origin ?? publicUrl
  together({
    pair: () => {
      if ((oidcIssuer === undefined) !== (oidcClientId === undefined))
        bad('OIDC_ISSUER and OIDC_CLIENT_ID are of no use without each other: set both or none')
    },
    mail: () => {
      if (smtp !== undefined && named === undefined)
        bad('SMTP_URL needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that links in mails begin with')
    },
    company: () => {
      const [first] = companiesOf({ ...settings, companies })
      if (first !== undefined && named === undefined)
        bad(
          `${first.setting} needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that the provider sends people back to`,
        )
    },
  })
  return {
    ...settings,
    companies,
    origin:
      named === undefined || (smtp ?? oidcIssuer ?? companies[0]) === undefined
        ? settings.origin
        : new URL(named).origin,
  }
}
