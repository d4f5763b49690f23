/** The settings table: every environment variable, its default and what it means. docs/settings.md is generated from it. */

export type Setting = {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
  readonly check: RegExp
  readonly allowed: string
}

const whole = /^\d{1,9}$/
const amount = /^\d{1,10}(\.\d{1,9})?$/

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
  BODY_BYTES_MAX: {
    name: 'BODY_BYTES_MAX',
    fallback: '20971520',
    meaning: 'Largest request body.',
    check: /^[1-9]\d{3,8}$/,
    allowed: 'a number of at least 1000',
  },
  OPEN_CALLS_MAX: {
    name: 'OPEN_CALLS_MAX',
    fallback: '5000',
    meaning: 'Calls a process has open at once; more are refused with 503.',
    check: /^[1-9]\d{0,6}$/,
    allowed: 'a number of at least 1',
  },
  FIRST_BYTE_SECONDS: {
    name: 'FIRST_BYTE_SECONDS',
    fallback: '120',
    meaning: "How long to wait for a vendor's first byte.",
    check: /^[1-9]\d{0,4}$/,
    allowed: 'a number of seconds',
  },
  IDLE_SECONDS: {
    name: 'IDLE_SECONDS',
    fallback: '120',
    meaning: 'How long to wait between two pieces of an answer.',
    check: /^[1-9]\d{0,4}$/,
    allowed: 'a number of seconds',
  },
  TOTAL_SECONDS: {
    name: 'TOTAL_SECONDS',
    fallback: '900',
    meaning: 'The longest a call may take; orphans of a crash are closed after it.',
    check: /^[1-9]\d{0,4}$/,
    allowed: 'a number of seconds',
  },
  DRAIN_SECONDS: {
    name: 'DRAIN_SECONDS',
    fallback: '120',
    meaning: 'How long open calls may run on after SIGTERM.',
    check: whole,
    allowed: 'a number of seconds',
  },
  FIRST_FUND_USD: {
    name: 'FIRST_FUND_USD',
    fallback: '100',
    meaning: "Test credit in the operator's wallet on the first start.",
    check: amount,
    allowed: 'a decimal amount',
  },
  DISCOVER: {
    name: 'DISCOVER',
    fallback: 'on',
    meaning:
      'Whether models on localhost (Ollama, llama-server, LM Studio) are looked for and offered, free of charge.',
    check: /^(on|off)$/,
    allowed: 'on or off',
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

export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a setting, checked. Throws BadSetting. */
export const settingOf = (environment: Environment, name: SettingName): string => {
  const { check, fallback, allowed } = settings[name]
  const value = environment[name]
  if (value === undefined || value === '') return fallback
  if (!check.test(value))
    throw new BadSetting(
      `${name} must be ${allowed}${name === 'TURNPIKE_SECRET' || name === 'DATABASE_URL' ? '' : `, not '${value}'`}`,
    )
  return value
}

export const numberOf = (environment: Environment, name: SettingName): number =>
  Number.parseInt(settingOf(environment, name), 10)
