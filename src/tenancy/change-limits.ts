/** Who may change which limit of a key: the key narrows itself, its creator decides how wide the limits may be. */
import { decimalFromNano, type Nano } from '../core/money.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Key } from './key.ts'
import type { LimitsBody } from './limits-body.ts'
import { rateNames, rateWindows } from './rates.ts'

/**
 * Why a key may not make this change to itself; undefined when it may. `planRpm` binds a key that was granted no rate
 * of its own.
 */
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

/** An absent limit stays unchanged, and one that was never granted may be set to anything. */
const raises = (requested: Nano | number | null | undefined, granted: Nano | number | undefined): boolean =>
  requested !== undefined && granted !== undefined && (requested === null || requested > granted)

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

/** Nobody set a rate, so the plan's applies. */
const abovePlan = (key: Key, planRpm: number): Refusal =>
  refuse(
    'forbidden',
    `'rpm_limit' may be at most ${planRpm}, the rate of the plan; the operator can grant more: turnpike key limits ${key.id} --rpm <n>.`,
    { members: { param: 'rpm_limit' } },
  )
