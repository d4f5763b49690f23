/** The settings table: every environment variable, its default and what it means. docs/settings.md is generated from it. */
import { communitySettings } from './community-settings.ts'
import { limitSettings } from './limit-settings.ts'
import { amount, decimal, onOff, type Setting } from './setting.ts'

export const settings = {
  HOST: {
    name: 'HOST',
    fallback: '127.0.0.1',
    meaning: 'Address to listen on.',
    check: /^\S+$/,
    allowed: 'an address such as 127.0.0.1 or 0.0.0.0',
  },
  PORT: {
    name: 'PORT',
    fallback: '8787',
    meaning: 'Port to listen on; 0 picks a free one.',
    check: /^([0-9]{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/,
    allowed: 'a number from 0 to 65535',
  },
  DATABASE_URL: {
    name: 'DATABASE_URL',
    fallback: 'sqlite:./data/turnpike.db',
    meaning: 'Where the ledger lives.',
    check: /^(sqlite:.+|postgres(ql)?:\/\/.+)$/,
    allowed: 'sqlite:<path> or postgres://…',
    secret: true,
  },
  JOURNAL: {
    name: 'JOURNAL',
    fallback: './data/journal',
    meaning:
      'Folder for charges while PostgreSQL cannot be reached, on a disk that outlives the process; `off` lets answers wait for the database. Not used with SQLite.',
    check: /^.+$/,
    allowed: 'a path or off',
  },
  WORKERS: {
    name: 'WORKERS',
    fallback: '1',
    meaning: 'Processes that share the port; more than one needs PostgreSQL. The same as --workers.',
    check: /^[1-9]\d{0,2}$/,
    allowed: 'a number from 1 to 999',
  },
  TURNPIKE_CONFIG: {
    name: 'TURNPIKE_CONFIG',
    fallback: './turnpike.yaml',
    meaning: 'The file with vendors, models and prices; the default one may be absent.',
    check: /^.+$/,
    allowed: 'a path',
  },
  TURNPIKE_SECRET: {
    name: 'TURNPIKE_SECRET',
    fallback: '',
    meaning:
      'Secret under which keys are hashed; made once and kept in the database when absent. Changing it makes every key unknown.',
    check: /^(|.{16,})$/,
    allowed: 'at least 16 characters',
    secret: true,
  },
  CREDIT_USD: {
    name: 'CREDIT_USD',
    fallback: '0.01',
    meaning: 'What one credit is worth, for showing amounts.',
    check: amount,
    allowed: 'a decimal amount above 0',
  },
  PLAN_RPM: {
    name: 'PLAN_RPM',
    fallback: '60',
    meaning: 'Requests per minute of a key without an rpm_limit.',
    check: /^[1-9]\d{0,8}$/,
    allowed: 'a number of at least 1',
  },
  GUEST_RPM: {
    name: 'GUEST_RPM',
    fallback: '60',
    meaning:
      'Requests per minute that one network address (IPv6: /64) may make at a process without paying: quotes of x402, payments that buy nothing, trials, claims of change, each counted by itself.',
    check: /^[1-9]\d{0,8}$/,
    allowed: 'a number of at least 1',
  },
  ...limitSettings,
  FIRST_FUND_USD: {
    name: 'FIRST_FUND_USD',
    fallback: '100',
    meaning: "Test credit in the operator's wallet on the first start.",
    ...decimal,
  },
  TRUSTED_PROXIES: {
    name: 'TRUSTED_PROXIES',
    fallback: '',
    meaning:
      "Addresses or blocks, separated by commas, of proxies in front of this server; only their X-Forwarded-For tells a caller's address.",
    check: /^[0-9A-Fa-f.:/, ]*$/,
    allowed:
      'addresses or blocks such as 10.0.0.0/8, separated by commas; not 0.0.0.0/0, ::/0 or IPv4-mapped blocks',
  },
  ...communitySettings,
  STRIPE_SECRET_KEY: {
    name: 'STRIPE_SECRET_KEY',
    fallback: '',
    meaning:
      'Key of your Stripe account; with STRIPE_WEBHOOK_SECRET it lets wallets and invoices be paid by Stripe.',
    check: /^(|[a-z]+_(test|live)_\S+)$/,
    allowed: 'a key such as sk_live_… or rk_test_…',
    secret: true,
  },
  STRIPE_WEBHOOK_SECRET: {
    name: 'STRIPE_WEBHOOK_SECRET',
    fallback: '',
    meaning:
      'Signing secret of the webhook that points to /api/webhooks/stripe; several, with commas, while it changes. Empty turns Stripe off.',
    check: /^(|[^\s,]{8,}(,[^\s,]{8,})*)$/,
    allowed: 'a secret such as whsec_…, or several with commas between',
    secret: true,
  },
  STRIPE_BASE_URL: {
    name: 'STRIPE_BASE_URL',
    fallback: 'https://api.stripe.com',
    meaning: "Address of Stripe's API; another one is for tests.",
    check: /^https?:\/\/[^\s/@?#]+$/,
    allowed: 'an address without a path',
  },
  STRIPE_RETURN_URL: {
    name: 'STRIPE_RETURN_URL',
    fallback: '',
    meaning:
      'Page of yours that payers come back to, with `checkout=<id>` in its query; without it they see the state of their checkout.',
    check: /^(|https?:\/\/[^\s@#]+)$/,
    allowed: 'an address',
  },
  TOP_UP_DAILY_USD: {
    name: 'TOP_UP_DAILY_USD',
    fallback: '500',
    meaning:
      'The most that the rule of one wallet charges its saved card in a UTC day; 0 turns such rules off.',
    ...decimal,
  },
  DISCOVER: {
    name: 'DISCOVER',
    fallback: 'on',
    meaning:
      'Whether models on localhost (Ollama, llama-server, LM Studio) are looked for and offered, free of charge.',
    ...onOff,
  },
  CACHE_MARKS: {
    name: 'CACHE_MARKS',
    fallback: 'on',
    meaning: 'Whether long calls translated for Anthropic are marked for its cache: dialects.md says which.',
    ...onOff,
  },
  RESPONSES_STORE: {
    name: 'RESPONSES_STORE',
    fallback: '0',
    meaning: 'Hours that responses are kept after their last use, for keys that ask (`store`); 0 keeps none.',
    check: /^\d{1,5}$/,
    allowed: 'a number of hours',
  },
  RECEIPTS: {
    name: 'RECEIPTS',
    fallback: 'header',
    meaning:
      'Signed receipts: in every answer (`header`), only when asked for by GET /v1/receipts/{id} (`on-demand`), or not at all (`off`).',
    check: /^(header|on-demand|off)$/,
    allowed: 'header, on-demand or off',
  },
  RECEIPT_ISSUER: {
    name: 'RECEIPT_ISSUER',
    fallback: 'turnpike',
    meaning:
      'Who issues receipts, the claim `iss`: best the public address of the server. After a comma, names it had before: their receipts stay valid.',
    check: /^[\x21-\x2b\x2d-\x7e]{1,200}(,[\x21-\x2b\x2d-\x7e]{1,200})*$/,
    allowed: 'names of at most 200 characters without blanks, separated by commas',
  },
  LOG: {
    name: 'LOG',
    fallback: 'call',
    meaning: 'The least that is logged to standard error: call, info, warn, error or off.',
    check: /^(call|info|warn|error|off)$/,
    allowed: 'call, info, warn, error or off',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** A setting that cannot be used; the message is one line that names it and never shows a secret. */
export class BadSetting extends Error {}

/** Refuses a configuration. */
export const bad = (message: string): never => {
  throw new BadSetting(message)
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a setting, checked. Throws BadSetting. */
export const settingOf = (environment: Environment, name: SettingName): string => {
  const { check, fallback, allowed, secret }: Setting = settings[name]
  const value = environment[name]
  if (value === undefined || value === '') return fallback
  if (!check.test(value))
    throw new BadSetting(`${name} must be ${allowed}${secret === true ? '' : `, not '${value}'`}`)
  return value
}

export const numberOf = (environment: Environment, name: SettingName): number =>
  Number.parseInt(settingOf(environment, name), 10)
