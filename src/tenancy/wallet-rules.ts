/** Rules that an owner sets for a wallet: what a call and a day may cost, which models, and when to be warned. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { NANO_PER_USD, type Nano, nanoFromNumber, usdNumber } from '../core/money.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import type { WalletId } from './key.ts'

/** Charges a saved card with `amount` when the wallet falls below `below`; all of a UTC month within `monthlyMax`. */
export type AutoTopUp = { readonly below: Nano; readonly amount: Nano; readonly monthlyMax?: Nano }

/** An absent rule does not bind. */
export type WalletRules = {
  readonly perCallMax?: Nano
  readonly dailyLimit?: Nano
  /** Globs of model ids; when given, only these models may be called. */
  readonly allowedModels?: readonly string[]
  readonly blockedModels?: readonly string[]
  readonly alertBelow?: Nano
  readonly alertWebhookUrl?: string
  readonly autoTopUp?: AutoTopUp
}

/** Rules as they were read, with a version that grows with every change; 0 when none were ever set. */
export type KnownRules = {
  readonly walletId: WalletId
  readonly rules: WalletRules
  readonly version: number
}

/** Tri-state: absent leaves a rule, null removes it. */
export type RulesChange = { readonly [Name in keyof WalletRules]?: WalletRules[Name] | null }

const known = [
  'per_call_max_usd',
  'daily_limit_usd',
  'allowed_models',
  'blocked_models',
  'alert_below_usd',
  'alert_webhook_url',
  'auto_top_up',
]
const CENT = NANO_PER_USD / 100n
/** What Stripe takes at a time. */
const TOP_UP_LEAST = 50n * CENT
const TOP_UP_MOST = 1_000_000n * CENT
const PATTERNS_MAX = 100
const PATTERN = /^[A-Za-z0-9*?][A-Za-z0-9*?._:/-]{0,199}$/

type Reader<T> = (name: string, value: Json) => T | Refusal

const amount: Reader<Nano> = (name, value) =>
  nanoFromNumber(value) ?? invalid(name, `'${name}' must be a number of USD from 0 to 1000000000, or null.`)

const patterns: Reader<readonly string[]> = (name, value) => {
  const wrong = invalid(
    name,
    `'${name}' must be a list of at most ${PATTERNS_MAX} model ids, in which * stands for any letters and ? for one, or null.`,
  )
  if (!Array.isArray(value) || value.length > PATTERNS_MAX) return wrong
  const texts = value.filter((one): one is string => typeof one === 'string' && PATTERN.test(one))
  return texts.length === value.length ? texts : wrong
}

const topUp: Reader<AutoTopUp> = (name, value) => {
  const wrong = (part: string) =>
    invalid(
      `${name}${part}`,
      `'${name}' must be null or {"below_usd", "amount_usd"} and, if there is a bound, "monthly_max_usd" of at least the amount.`,
    )
  if (!isObject(value)) return wrong('')
  const stranger = Object.keys(value).find(
    (member) => !['below_usd', 'amount_usd', 'monthly_max_usd'].includes(member),
  )
  if (stranger !== undefined) return wrong(`.${stranger}`)
  const below = nanoFromNumber(value.below_usd)
  const each = nanoFromNumber(value.amount_usd)
  if (below === undefined) return wrong('.below_usd')
  if (each === undefined || each < TOP_UP_LEAST || each > TOP_UP_MOST || each % CENT !== 0n)
    return invalid(
      `${name}.amount_usd`,
      `'${name}.amount_usd' must be a number of USD from 0.5 to 10000, in whole cents.`,
    )
  if (value.monthly_max_usd === undefined || value.monthly_max_usd === null) return { below, amount: each }
  const monthlyMax = nanoFromNumber(value.monthly_max_usd)
  // A month that one payment does not fit would never charge.
  return monthlyMax === undefined || monthlyMax < each
    ? wrong('.monthly_max_usd')
    : { below, amount: each, monthlyMax }
}

/** Reads the body of PUT /api/wallet/rules; `webhook` reads an address that may be called. */
export const readRulesBody = (body: JsonObject, webhook: Reader<string>): RulesChange | Refusal => {
  const stranger = Object.keys(body).find((name) => !known.includes(name))
  if (stranger !== undefined)
    return invalid(stranger, `'${stranger}' is not a rule; those are ${known.join(', ')}.`)
  const change: { -readonly [Name in keyof RulesChange]: RulesChange[Name] } = {}
  let refusal: Refusal | undefined
  const read = <T>(name: string, reader: Reader<T>): T | null | undefined => {
    const value = body[name]
    if (value === undefined || value === null) return value
    const result = reader(name, value)
    if (!(result instanceof Refusal)) return result
    refusal ??= result
    return undefined
  }
  const rules = {
    perCallMax: read('per_call_max_usd', amount),
    dailyLimit: read('daily_limit_usd', amount),
    allowedModels: read('allowed_models', patterns),
    blockedModels: read('blocked_models', patterns),
    alertBelow: read('alert_below_usd', amount),
    alertWebhookUrl: read('alert_webhook_url', webhook),
    autoTopUp: read('auto_top_up', topUp),
  }
  Object.assign(change, Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== undefined)))
  return refusal ?? change
}

/** The rules as they stand after a change. */
export const changedRules = (rules: WalletRules, change: RulesChange): WalletRules =>
  Object.fromEntries(Object.entries({ ...rules, ...change }).filter(([, rule]) => rule !== null))

const usd = (value: Nano | undefined): number | null => (value === undefined ? null : usdNumber(value))

/** The rules as they are told. */
export const shownRules = (rules: WalletRules) => ({
  per_call_max_usd: usd(rules.perCallMax),
  daily_limit_usd: usd(rules.dailyLimit),
  allowed_models: rules.allowedModels ?? null,
  blocked_models: rules.blockedModels ?? null,
  alert_below_usd: usd(rules.alertBelow),
  alert_webhook_url: rules.alertWebhookUrl ?? null,
  auto_top_up:
    rules.autoTopUp === undefined
      ? null
      : {
          below_usd: usdNumber(rules.autoTopUp.below),
          amount_usd: usdNumber(rules.autoTopUp.amount),
          monthly_max_usd: usd(rules.autoTopUp.monthlyMax),
        },
})
