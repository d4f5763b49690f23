/** The members of bodies that set the rules of a wallet, as schemas. */
import { z } from 'zod'
import { publicHttpsUrl } from '../core/address.ts'
import { amount, readBy } from '../core/body.ts'
import { isObject, type Json } from '../core/json-body.ts'
import { NANO_PER_USD, type Nano, nanoFromDecimal, nanoFromNumber } from '../core/money.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import { type GuardRule, guardrailsShown, readGuardrails } from '../guardrails/rules.ts'
import { CONDITION_FORM, type Condition, isCondition, together } from './conditions.ts'
import { type TenantsSee, tenantsSee } from './terms.ts'
import type { AutoTopUp, RulesChange } from './wallet-rules.ts'

const CENT = NANO_PER_USD / 100n
/** What Stripe takes per payment. */
const TOP_UP_LEAST = 50n * CENT
const TOP_UP_MOST = 1_000_000n * CENT
export const PATTERNS_MAX = 100
export const PATTERN = /^[A-Za-z0-9*?][A-Za-z0-9*?._:/-]{0,199}$/

type Reader<T> = (name: string, value: Json) => T | Refusal

/** A rule; null removes it. */
const ruleBy = <T>(name: string, read: Reader<T>, shown: object) =>
  readBy((value) => (value === null ? null : read(name, value)), shown).optional()

const patterns: Reader<readonly string[]> = (name, value) => {
  const wrong = invalid(
    name,
    `'${name}' must be a list of at most ${PATTERNS_MAX} model ids, in which * stands for any letters and ? for one, or null.`,
  )
  if (!Array.isArray(value) || value.length > PATTERNS_MAX) return wrong
  const texts = value.filter((one): one is string => typeof one === 'string' && PATTERN.test(one))
  return texts.length === value.length ? texts : wrong
}

const conditions: Reader<readonly Condition[]> = (name, value) => {
  const texts = Array.isArray(value) ? value.filter((one): one is Condition => isCondition(String(one))) : []
  return Array.isArray(value) && value.length > 0 && texts.length === value.length
    ? together(texts)
    : invalid(name, `'${name}' must be a list of conditions, or null; there are ${CONDITION_FORM}.`)
}

/** The rule that charges a card. Members that are left out are those of `was`, if there is one. */
export const readTopUp = (name: string, value: Json, was?: AutoTopUp): AutoTopUp | Refusal => {
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
  const read = (sent: Json | undefined, before: Nano | undefined) =>
    sent === undefined ? before : typeof sent === 'string' ? nanoFromDecimal(sent) : nanoFromNumber(sent)
  const below = read(value.below_usd, was?.below)
  const each = read(value.amount_usd, was?.amount)
  if (below === undefined) return wrong('.below_usd')
  if (each === undefined || each < TOP_UP_LEAST || each > TOP_UP_MOST || each % CENT !== 0n)
    return invalid(
      `${name}.amount_usd`,
      `'${name}.amount_usd' must be a number of USD from 0.5 to 10000, in whole cents.`,
    )
  const { monthly_max_usd: most } = value
  const monthlyMax = most === null ? undefined : read(most, was?.monthlyMax)
  if (monthlyMax === undefined && (most === undefined || most === null)) return { below, amount: each }
  // If one payment exceeds the monthly maximum, the rule could never charge.
  return monthlyMax === undefined || monthlyMax < each
    ? wrong('.monthly_max_usd')
    : { below, amount: each, monthlyMax }
}

const topUp: Reader<AutoTopUp> = (name, value) => readTopUp(name, value)

const ceiling = amount('must be a number of USD from 0 to 1000000000, or null').nullable().optional()
const patternList = { type: ['array', 'null'], items: { type: 'string' } }

const topUpShown = {
  type: ['object', 'null'],
  properties: {
    below_usd: { type: 'number' },
    amount_usd: { type: 'number' },
    monthly_max_usd: { type: ['number', 'null'] },
  },
  description:
    'Charges the saved card with amount_usd (0.5 to 10000, whole cents) when the wallet falls below below_usd; needs a card that a checkout saved',
}

/** The members of a change; null removes a rule. */
export const ruleMembers = {
  per_call_max_usd: ceiling,
  daily_limit_usd: ceiling.describe('For a UTC day'),
  allowed_models: ruleBy('allowed_models', patterns, {
    ...patternList,
    description: 'Model ids; * stands for any letters, ? for one',
  }),
  blocked_models: ruleBy('blocked_models', patterns, patternList),
  requires: ruleBy('requires', conditions, {
    ...patternList,
    description: `Conditions on where calls go: ${CONDITION_FORM}`,
  }),
  alert_below_usd: ceiling,
  alert_webhook_url: ruleBy('alert_webhook_url', publicHttpsUrl, {
    type: ['string', 'null'],
    description: 'https, on a public server',
  }),
  auto_top_up: ruleBy('auto_top_up', topUp, topUpShown),
  tenants_see: z
    .enum(tenantsSee, `must be ${tenantsSee.join(', ')} or null`)
    .nullable()
    .optional()
    .describe(
      'What answers and reports tell keys below others of money: what the account is charged (cost, as null does), the price by its margin, or nothing',
    ),
  guardrails: readBy(readGuardrails, guardrailsShown).optional(),
}

type Read = {
  readonly per_call_max_usd?: Nano | null | undefined
  readonly daily_limit_usd?: Nano | null | undefined
  readonly allowed_models?: readonly string[] | null | undefined
  readonly blocked_models?: readonly string[] | null | undefined
  readonly requires?: readonly Condition[] | null | undefined
  readonly alert_below_usd?: Nano | null | undefined
  readonly alert_webhook_url?: string | null | undefined
  readonly auto_top_up?: AutoTopUp | null | undefined
  readonly tenants_see?: TenantsSee | null | undefined
  readonly guardrails?: readonly GuardRule[] | null | undefined
}

/** The change that a body asks for. */
export const rulesChangeOf = (read: Read): RulesChange => {
  const change = {
    perCallMax: read.per_call_max_usd,
    dailyLimit: read.daily_limit_usd,
    allowedModels: read.allowed_models,
    blockedModels: read.blocked_models,
    requires: read.requires,
    alertBelow: read.alert_below_usd,
    alertWebhookUrl: read.alert_webhook_url,
    autoTopUp: read.auto_top_up,
    tenantsSee: read.tenants_see,
    guardrails: read.guardrails,
  }
  return Object.fromEntries(Object.entries(change).filter(([, rule]) => rule !== undefined))
}

/** What is said of other members. */
export const toRules = `is not a rule; those are ${Object.keys(ruleMembers).join(', ')}`

/** The rule that charges a card, or what of it changes; null removes it. */
export const autoTopUp = readBy((value) => value, topUpShown)
