/** Who may change which limit of a key: a key narrows itself, its creator decides what it may have. */
import type { Json, JsonObject } from '../core/json-body.ts'
import { decimalFromNano, type Nano, nanoFromNumber } from '../core/money.ts'
import { invalid, Refusal, refuse } from '../core/refusal.ts'
import { readAliases } from './aliases.ts'
import type { Aliases, Key, Limits } from './key.ts'
import { rateNames, rateWindows } from './rates.ts'

/** The members of a limits body as read: absent leaves a limit, null removes a cap. */
export type LimitsBody = { readonly [Name in keyof Limits]?: Limits[Name] | null } & {
  /** null and absent both leave it. */
  readonly disabled?: boolean
  readonly canManage?: boolean
  /** All that the key shall have; it may set its own. */
  readonly aliases?: Aliases | null
  /** What `disabled` says is for all keys below as well. */
  readonly withChildren?: boolean
}

const amounts = {
  spend_cap_usd: 'spendCap',
  monthly_cap_usd: 'monthlyCap',
  stop_at_remaining_usd: 'stopAt',
} as const
const flags = { can_manage: 'canManage', with_children: 'withChildren' } as const
const rateMembers = rateNames.map((rate) => rateWindows[rate].member)
const known = [...Object.keys(amounts), ...rateMembers, 'disabled', 'aliases', ...Object.keys(flags)]
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
  if (body.aliases !== undefined) {
    const aliases = readAliases(body.aliases)
    if (aliases instanceof Refusal) return aliases
    read.aliases = aliases
  }
  for (const [name, member] of Object.entries(flags)) {
    const value = body[name]
    if (value === undefined) continue
    if (typeof value !== 'boolean') return invalid(name, `'${name}' must be true, false or absent.`)
    read[member] = value
  }
  if (read.withChildren === true && read.disabled === undefined)
    return invalid(
      'with_children',
      "'with_children' goes with 'disabled': it disables, or enables again, all keys below.",
    )
  return read
}

const isRate = (value: Json): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= RATE_MOST

/** Why a key may not make this change to itself; undefined when it may. `planRpm` binds who was granted no rate of its own. */
export const checkSelfChange = (key: Key, change: LimitsBody, planRpm: number): Refusal | undefined => {
  const { spendCap, monthlyCap, rpm, stopAt } = key.granted
  if (raises(change.spendCap, spendCap)) return bound(key, 'spend_cap_usd', spendCap)
  if (raises(change.monthlyCap, monthlyCap)) return bound(key, 'monthly_cap_usd', monthlyCap)
  for (const rate of rateNames)
    if (raises(change[rate], key.granted[rate]))
      return bound(key, rateWindows[rate].member, key.granted[rate])
  if (rpm === undefined && change.rpm != null && change.rpm > planRpm) return abovePlan(key, planRpm)
  if (
    stopAt !== undefined &&
    change.stopAt !== undefined &&
    (change.stopAt === null || change.stopAt < stopAt)
  )
    return bound(key, 'stop_at_remaining_usd', stopAt)
  if (change.canManage === true && !key.canManage)
    return refuse('forbidden', `A key cannot give itself the right to manage; ${creatorOf(key)} can.`)
  if (change.disabled === false && key.disabledReason === 'operator')
    return refuse(
      'forbidden',
      'The key was disabled by the operator or the reseller; only they can enable it.',
    )
  return undefined
}

/** A limit that is absent is left, and one that was never granted may be anything. */
const raises = (asked: Nano | number | null | undefined, granted: Nano | number | undefined): boolean =>
  asked !== undefined && granted !== undefined && (asked === null || asked > granted)

const creatorOf = ({ ancestors }: Key): string =>
  ancestors.length > 0 ? 'the key that made it' : 'the operator'

/** The refusal of a change beyond what the creator set. */
const bound = (key: Key, name: string, granted: Nano | number | undefined): Refusal => {
  const value = typeof granted === 'bigint' ? decimalFromNano(granted) : granted
  const side = name === 'stop_at_remaining_usd' ? 'at least' : 'at most'
  return refuse(
    'forbidden',
    `'${name}' was set to ${value} by the key's creator: the key may choose ${side} that; ${creatorOf(key)} can change it.`,
    { members: { param: name } },
  )
}

/** Nobody set a rate: the plan's is in force. */
const abovePlan = (key: Key, planRpm: number): Refusal =>
  refuse(
    'forbidden',
    `'rpm_limit' may be at most ${planRpm}, the rate of the plan; the operator can grant more: turnpike key limits ${key.id} --rpm <n>.`,
    { members: { param: 'rpm_limit' } },
  )
