/** Who may change which limit of a key: a key narrows itself, its creator decides what it may have. */
import type { Json, JsonObject } from '../core/json-body.ts'
import { type Nano, nanoFromNumber } from '../core/money.ts'
import { invalid, type Refusal, refuse } from '../core/refusal.ts'
import type { Key, Limits } from './key.ts'
import { rateNames, rateWindows } from './rates.ts'

/** The members of a limits body as read: absent leaves a limit, null removes a cap. */
export type LimitsBody = { readonly [Name in keyof Limits]?: Limits[Name] | null } & {
  /** null and absent both leave it. */
  readonly disabled?: boolean
}

const amounts = {
  spend_cap_usd: 'spendCap',
  monthly_cap_usd: 'monthlyCap',
  stop_at_remaining_usd: 'stopAt',
} as const
const known = [...Object.keys(amounts), ...rateNames.map((rate) => rateWindows[rate].member), 'disabled']
const RATE_MOST = 1_000_000_000

/** Reads the body of PUT …/limits; unknown members are refused, so that a typing error does not leave a key unlimited. */
export const readLimitsBody = (body: JsonObject): LimitsBody | Refusal => {
  const stranger = Object.keys(body).find((name) => !known.includes(name))
  if (stranger !== undefined)
    return invalid(stranger, `'${stranger}' is not a limit; those are ${known.join(', ')}.`)
  const read: { -readonly [Name in keyof LimitsBody]: LimitsBody[Name] } = {}
  for (const [name, member] of Object.entries(amounts)) {
    const value = body[name]
    if (value === undefined) continue
    const amount = value === null ? null : nanoFromNumber(value)
    if (amount === undefined)
      return invalid(name, `'${name}' must be a number of USD from 0 to 1000000000, or null for none.`)
    read[member] = amount
  }
  for (const rate of rateNames) {
    const { member, counts } = rateWindows[rate]
    const value = body[member]
    if (value === undefined) continue
    if (value !== null && !isRate(value))
      return invalid(
        member,
        `'${member}' must be a whole number of ${counts} of at least 1, or null for ${rate === 'rpm' ? "the plan's default" : 'none'}.`,
      )
    read[rate] = value
  }
  const disabled = body.disabled
  if (disabled !== undefined && disabled !== null) {
    if (typeof disabled !== 'boolean') return invalid('disabled', "'disabled' must be true, false or absent.")
    read.disabled = disabled
  }
  return read
}

const isRate = (value: Json): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= RATE_MOST

/** Why a key may not make this change to itself; undefined when it may. `planRpm` binds who was granted no rate of its own. */
export const checkSelfChange = (key: Key, change: LimitsBody, planRpm: number): Refusal | undefined => {
  const raises =
    above('spend_cap_usd', change.spendCap, key.granted.spendCap) ??
    above('monthly_cap_usd', change.monthlyCap, key.granted.monthlyCap) ??
    above('rpm_limit', rpmAfter(key, change, planRpm), key.granted.rpm ?? planRpm) ??
    above('rph_limit', change.rph, key.granted.rph) ??
    above('rpd_limit', change.rpd, key.granted.rpd) ??
    above('tpm_limit', change.tpm, key.granted.tpm) ??
    below('stop_at_remaining_usd', change.stopAt, key.granted.stopAt)
  if (raises) return raises
  if (change.disabled === false && key.disabledReason === 'operator')
    return refuse(
      'forbidden',
      'The key was disabled by the operator or the reseller; only they can enable it.',
    )
  return undefined
}

/** No rate is the plan's own, for a key that was granted none. */
const rpmAfter = (key: Key, { rpm }: LimitsBody, planRpm: number): number | null | undefined =>
  rpm === null && key.granted.rpm === undefined ? planRpm : rpm

const above = (
  name: string,
  asked: Nano | number | null | undefined,
  granted: Nano | number | undefined,
): Refusal | undefined =>
  asked === undefined || granted === undefined || (asked !== null && asked <= granted)
    ? undefined
    : refuse(
        'forbidden',
        `'${name}' was set by the key's creator; the key may lower it but not raise or remove it.`,
      )

const below = (
  name: string,
  asked: Nano | null | undefined,
  granted: Nano | undefined,
): Refusal | undefined =>
  asked === undefined || granted === undefined || (asked !== null && asked >= granted)
    ? undefined
    : refuse(
        'forbidden',
        `'${name}' was set by the key's creator; the key may raise it but not lower or remove it.`,
      )
