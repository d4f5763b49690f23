/**
 * The limits of a key, one row each. Bodies, answers, columns of the ledger, options of commands, fields of the console,
 * and who may change what are made from these rows, so that a new limit is a row here and a migration.
 */
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'

/** What a limit is: an amount of USD, a count of something per window, an instant, or a list of what is allowed. */
type LimitForm = 'usd' | 'count' | 'time' | 'list'

export type LimitRow = {
  /** Its member in bodies and answers. */
  readonly member: string
  /** Its column in the table of keys; `granted_` before it holds what the creator set. */
  readonly column: string
  readonly form: LimitForm
  /** Which side of a bound is allowed to those who may only narrow it. */
  readonly narrower: 'most' | 'least'
  /** The command line's option. */
  readonly option: string
  /** The console's name for it, and what it means. */
  readonly label: string
  readonly help: string
  /** What it counts, in refusals. */
  readonly counts?: 'requests' | 'tokens'
  /** What a list has. */
  readonly of?: 'models' | 'addresses' | 'conditions'
  /** What null stands for, if not that nothing binds. */
  readonly otherwise?: string
  readonly cap?: Cap
}

/** What makes an amount a cap on what calls of a key, and of those below it, are charged in a period. */
type Cap = {
  /** Also the column of counters and leases that names the period; a counter of the whole life names none. */
  readonly period: 'life' | 'month' | 'week' | 'day'
  readonly called: string
  /** A key whose cap is reached is disabled for this reason; without one its calls are refused until the next period. */
  readonly disables?: 'spend_cap' | 'monthly_cap'
  /** What was charged under it: its name in the store, its member in answers, and what it means. */
  readonly spent: string
  readonly shown: string
  readonly since: string
}

export const limitRows = {
  spendCap: {
    member: 'spend_cap_usd',
    column: 'spend_cap',
    form: 'usd',
    narrower: 'most',
    option: '--spend-cap',
    label: 'Lifetime cap in USD',
    help: 'In total; then calls of the key are refused',
    cap: {
      period: 'life',
      called: 'the lifetime cap',
      disables: 'spend_cap',
      spent: 'spent',
      shown: 'spent_usd',
      since: 'With the keys below it, as its caps count',
    },
  },
  monthlyCap: {
    member: 'monthly_cap_usd',
    column: 'monthly_cap',
    form: 'usd',
    narrower: 'most',
    option: '--monthly-cap',
    label: 'Monthly cap in USD',
    help: 'Per calendar month (UTC)',
    cap: {
      period: 'month',
      called: 'the monthly cap',
      disables: 'monthly_cap',
      spent: 'spentThisMonth',
      shown: 'spent_this_month_usd',
      since: 'In the calendar month (UTC)',
    },
  },
  weeklyCap: {
    member: 'weekly_cap_usd',
    column: 'weekly_cap',
    form: 'usd',
    narrower: 'most',
    option: '--weekly-cap',
    label: 'Weekly cap in USD',
    help: 'Per week from Monday (UTC); then calls are refused until the next',
    cap: {
      period: 'week',
      called: 'the weekly cap',
      spent: 'spentThisWeek',
      shown: 'spent_this_week_usd',
      since: 'Since Monday, UTC',
    },
  },
  dailyCap: {
    member: 'daily_cap_usd',
    column: 'daily_cap',
    form: 'usd',
    narrower: 'most',
    option: '--daily-cap',
    label: 'Daily cap in USD',
    help: 'Per day (UTC); then calls are refused until the next',
    cap: {
      period: 'day',
      called: 'the daily cap',
      spent: 'spentToday',
      shown: 'spent_today_usd',
      since: 'In the UTC day',
    },
  },
  stopAt: {
    member: 'stop_at_remaining_usd',
    column: 'stop_at',
    form: 'usd',
    narrower: 'least',
    option: '--stop-at',
    label: 'Stop at, in USD',
    help: 'Leaves this much in the wallet',
  },
  rpm: {
    member: 'rpm_limit',
    column: 'rpm',
    form: 'count',
    narrower: 'most',
    option: '--rpm',
    label: 'Requests per minute',
    help: 'Requests per minute; the plan’s rate where none is set',
    counts: 'requests',
    otherwise: "the plan's default",
  },
  rph: {
    member: 'rph_limit',
    column: 'rph',
    form: 'count',
    narrower: 'most',
    option: '--rph',
    label: 'Requests per hour',
    help: 'Requests per hour',
    counts: 'requests',
  },
  rpd: {
    member: 'rpd_limit',
    column: 'rpd',
    form: 'count',
    narrower: 'most',
    option: '--rpd',
    label: 'Requests per day',
    help: 'Requests per day (UTC)',
    counts: 'requests',
  },
  tpm: {
    member: 'tpm_limit',
    column: 'tpm',
    form: 'count',
    narrower: 'most',
    option: '--tpm',
    label: 'Tokens per minute',
    help: 'Tokens per minute, of input and output',
    counts: 'tokens',
  },
  expiresAt: {
    member: 'expires_at',
    column: 'expires_at',
    form: 'time',
    narrower: 'most',
    option: '--expires-at',
    label: 'Expires',
    help: 'Until when it is valid, with all keys below it',
    otherwise: 'never',
  },
  allowedModels: {
    member: 'allowed_models',
    column: 'allowed_models',
    form: 'list',
    narrower: 'most',
    option: '--allowed-models',
    label: 'Models',
    help: 'The only models it may use; * stands for any letters, ? for one',
    of: 'models',
    otherwise: 'all',
  },
  allowedAddresses: {
    member: 'allowed_addresses',
    column: 'allowed_addresses',
    form: 'list',
    narrower: 'most',
    option: '--allowed-addresses',
    label: 'Addresses',
    help: 'The only addresses it may be used from, or blocks of them such as 10.0.0.0/8',
    of: 'addresses',
    otherwise: 'any',
  },
  requires: {
    member: 'requires',
    column: 'requires',
    form: 'list',
    narrower: 'most',
    option: '--requires',
    label: 'Conditions',
    help: 'What its calls ask of where they go: zdr, no_training, region=eu',
    of: 'conditions',
    otherwise: 'none',
  },
} as const satisfies Readonly<Record<string, LimitRow>>

export type LimitName = keyof typeof limitRows

export type ValueOf = {
  readonly usd: Nano
  readonly count: number
  readonly time: Instant
  readonly list: readonly string[]
}

/** The limits of a key; an absent one does not bind. Amounts in nano-USD. */
export type Limits = {
  readonly [Name in LimitName]?: ValueOf[(typeof limitRows)[Name]['form']]
}

export type LimitValue = ValueOf[LimitForm]

/** Absent keeps a limit, null removes it. */
export type LimitsChange = { readonly [Name in LimitName]?: Limits[Name] | null }

/** The rows with their names, in their order. */
export const limitList: readonly (readonly [LimitName, LimitRow])[] = Object.entries(limitRows) as never

export type CapName = {
  [Name in LimitName]: (typeof limitRows)[Name] extends { readonly cap: Cap } ? Name : never
}[LimitName]

/** The member of a cap, which also names it where it binds. */
export type CapMember = (typeof limitRows)[CapName]['member']

/** What was charged under each cap. */
export type Spent = { readonly [Name in CapName as (typeof limitRows)[Name]['cap']['spent']]: Nano }

/** The rows of caps with their names, from the longest period to the shortest. */
export const capList: readonly {
  readonly name: CapName
  readonly member: CapMember
  readonly column: string
  readonly cap: Cap & { readonly spent: keyof Spent }
}[] = limitList.flatMap(([name, row]) => (row.cap === undefined ? [] : [{ name, ...row }])) as never

/** The cap that a member names. */
export const capNamed = (member: string) => capList.find((row) => row.member === member)

/** The limits that `of` gives, row by row; those that it leaves undefined are absent. */
export const limitsFrom = (
  of: (name: LimitName, row: LimitRow) => LimitValue | null | undefined,
): LimitsChange =>
  Object.fromEntries(
    limitList.flatMap(([name, row]) => {
      const value = of(name, row)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** Only the limits of a larger record. */
export const limitsIn = (from: LimitsChange): LimitsChange => limitsFrom((name) => from[name])

/** The limits of a key that had these, after a change: null removes one. */
export const limitsAfter = (limits: Limits, change: LimitsChange): Limits =>
  limitsFrom((name) => {
    const next = change[name]
    return next === undefined ? limits[name] : (next ?? undefined)
  }) as Limits
