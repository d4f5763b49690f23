/** Who may change which limit of a key: the key narrows itself, its creator decides how wide the limits may be. */
import { type Refusal, refuse } from '../core/refusal.ts'
import { isBlocked, type Key } from './key.ts'
import { isWider, limitText as textOf } from './limit-values.ts'
import { type LimitValue, limitList, type LimitRow as Row } from './limits.ts'
import type { LimitsBody } from './limits-body.ts'

/**
 * Why a key may not make this change to itself; undefined when it may. `planRpm` binds a key that was granted no rate
 * of its own.
 */
export const checkSelfChange = (key: Key, change: LimitsBody, planRpm: number): Refusal | undefined => {
  for (const [name, row] of limitList) {
    const [asked, granted] = [change[name], key.granted[name]]
    // A limit that was never granted may be set to anything.
    if (asked === undefined || granted === undefined) continue
    if (asked === null || isWider(row, asked, granted)) return bound(key, row, granted)
  }
  if (key.granted.rpm === undefined && change.rpm != null && change.rpm > planRpm)
    return abovePlan(key, planRpm)
  if (change.subWallet !== undefined)
    return refuse(
      'forbidden',
      `A key cannot bind itself to a sub-wallet, or release itself; ${creatorOf(key)} can.`,
      { members: { param: 'sub_wallet' } },
    )
  for (const param of ['tags', 'guardrails'] as const)
    if (change[param] !== undefined)
      return refuse('forbidden', `A key cannot change its own ${param}; ${creatorOf(key)} can.`, {
        members: { param },
      })
  if (change.canManage === true && !key.canManage)
    return refuse('forbidden', `A key cannot give itself the right to manage; ${creatorOf(key)} can.`)
  if (change.disabled === false && isBlocked(key))
    return refuse('forbidden', `The key was disabled by the ${key.disabledReason}; only they can enable it.`)
  return undefined
}

const creatorOf = ({ ancestors }: Key): string =>
  ancestors.length > 0 ? 'the key that made it' : 'the operator'

const bound = (key: Key, row: Row, granted: LimitValue): Refusal =>
  refuse(
    'forbidden',
    `'${row.member}' was set to ${textOf(row, granted, key.terms)} by the key's creator: the key may choose at ${row.narrower} that; ${creatorOf(key)} can change it.`,
    { members: { param: row.member } },
  )

/** Nobody set a rate, so the plan's applies. */
const abovePlan = (key: Key, planRpm: number): Refusal =>
  refuse(
    'forbidden',
    `'rpm_limit' may be at most ${planRpm}, the rate of the plan; the operator can grant more: turnpike key limits ${key.id} --rpm <n>.`,
    { members: { param: 'rpm_limit' } },
  )
