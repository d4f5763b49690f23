/** A key's own limits and usage, and those of the keys below it. */
import { greatest, usdNumber } from '../core/money.ts'
import type { Refusal } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { KeyChange, LeftToSpend } from '../store/accounts/tenancy-port.ts'
import { checkSelfChange } from '../tenancy/change-limits.ts'
import type { Key } from '../tenancy/key.ts'
import type { LimitsBody } from '../tenancy/limits-body.ts'
import { checkManages, checkWithin } from '../tenancy/rights.ts'
import { anyCallerOf } from './caller.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'
import { shownKey } from './shown-key.ts'
import { anyTargetOf, checkGoverns, notYours, targetOf } from './target-key.ts'
import type { BodyHandler } from './with-body.ts'

/** Resolves once no process admits a call on the old limits. */
export const putKeyLimits: BodyHandler<LimitsBody> = async (gateway, call, read) => {
  const caller = await anyCallerOf(gateway, call)
  const target = await targetOf(gateway, caller, call)
  const body = await read()
  const byCreator = target.id !== caller.id
  const { planRpm } = gateway.options
  const refusal = byCreator
    ? (checkGoverns(gateway, caller) ?? checkWithin(caller, body, planRpm))
    : (checkSelfChange(target, body, planRpm) ?? checkOwnChildren(gateway, target, body))
  if (refusal) throw refusal
  const unsold = checkAliases(gateway.offering.catalogue, body.aliases)
  if (unsold) throw unsold
  const changed = await gateway.book.changeKey(target.id, changeOf(body, byCreator))
  if (changed === undefined) throw notYours()
  return json({ data: await shownKey(gateway, changed) })
}

/** A key that disabled itself together with its children may also undo that. */
const checkOwnChildren = (gateway: Gateway, key: Key, { withChildren }: LimitsBody): Refusal | undefined => {
  if (withChildren !== true) return undefined
  return key.disabledReason === 'self' ? checkManages(key) : checkGoverns(gateway, key)
}

export const getKeyUsage = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const target = await anyTargetOf(gateway, caller, call)
  const spend = await gateway.store.keys.spend(target.id)
  const left = target.deleted ? undefined : await gateway.store.keys.left(target.id)
  return json({
    data: {
      spent_usd: usdNumber(spend.spent),
      spent_this_month_usd: usdNumber(spend.spentThisMonth),
      held_usd: usdNumber(spend.held),
      ...(await shownKey(gateway, target)),
      ...leftOf(target, left),
      requests: spend.requests,
    },
  })
}

const changeOf = (body: LimitsBody, byCreator: boolean): KeyChange => {
  const { disabled, ...limits } = body
  if (disabled === undefined) return { ...limits, byCreator }
  return { ...limits, byCreator, disabledReason: disabled ? (byCreator ? 'operator' : 'self') : null }
}

/** The smallest remainder of all limits; a deleted key has nothing left. */
const leftOf = (target: Key, left: LeftToSpend | undefined) => ({
  remaining_usd: usdNumber(greatest(left?.amount ?? 0n, 0n)),
  limited_by: left === undefined ? null : { limit: left.limit, of: ownerOf(target, left) },
})

/** Whose limit it is, in words that reveal no other key's name. */
const ownerOf = (target: Key, { owner }: LeftToSpend): 'key' | 'parent' | 'account' =>
  owner === undefined ? 'account' : owner === target.id ? 'key' : 'parent'
