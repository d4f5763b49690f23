/** Who may manage what: the flag `can_manage`, and what a key may give to the keys that it makes. */
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Key } from './key.ts'
import { isWider, limitText } from './limit-values.ts'
import { limitList } from './limits.ts'
import type { LimitsBody } from './limits-body.ts'

/**
 * Why the key may not manage: make, change and delete keys below itself, make sub-wallets and, if it speaks for the
 * whole account, set the wallet's rules and save cards. Undefined when it may.
 */
export const checkManages = (key: Key): Refusal | undefined => {
  if (key.canManage && key.trialUntil === undefined) return undefined
  return refuse(
    'forbidden',
    `The key may not manage keys, sub-wallets or the wallet (can_manage). ${wayOf(key)}`,
  )
}

/** Who can allow it, and how. */
const wayOf = ({ id, ancestors, trialUntil }: Key): string => {
  if (trialUntil !== undefined) return 'Anonymous trials never may; sign up for a key of your own.'
  return ancestors.length > 0
    ? `The key that made it can allow that: PUT /v1/key/wholesale/${id}/limits with {"can_manage": true}.`
    : `The operator can allow that: turnpike key limits ${id} --can-manage on.`
}

/**
 * Why a key may not give these limits to a key below it: they would exceed its own. A limit that is left out or null
 * gives nothing, because the creator's limits also bind the keys below it. `planRpm` is the rate of a key that has none
 * of its own.
 */
export const checkWithin = (maker: Key, requested: LimitsBody, planRpm: number): Refusal | undefined => {
  for (const [name, row] of limitList) {
    const asked = requested[name]
    const own = maker.limits[name] ?? (name === 'rpm' ? planRpm : undefined)
    if (asked == null || own === undefined || !isWider(row, asked, own)) continue
    return refuse(
      'forbidden',
      `'${row.member}' may be at ${row.narrower} ${limitText(row, own, maker.terms)}, the limit of the key that gives it.`,
      { members: { param: row.member } },
    )
  }
  return undefined
}
