/** A key's own limits and usage, and those of the keys below it. */
import { usdNumber } from '../core/money.ts'
import { must, type Refusal } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { KeyChange, KeySpend } from '../store/tenancy-port.ts'
import { checkSelfChange, type LimitsBody, readLimitsBody } from '../tenancy/change-limits.ts'
import type { Key } from '../tenancy/key.ts'
import { checkManages, checkWithin } from '../tenancy/rights.ts'
import { anyCallerOf } from './caller.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'
import { shownKey } from './shown-key.ts'
import { anyTargetOf, checkGoverns, notYours, targetOf } from './target-key.ts'

/** Resolves when no process can admit a call on the older limits any more. */
export const putKeyLimits = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const target = await targetOf(gateway, caller, call)
  const body = must(readLimitsBody(await readSmallBody(call.request)))
  const byCreator = target.id !== caller.id
  const { planRpm } = gateway.options
  const refusal = byCreator
    ? (checkGoverns(gateway, caller) ?? checkWithin(caller, body, planRpm))
    : (checkSelfChange(target, body, planRpm) ?? checkOwnChildren(gateway, target, body))
  if (refusal) throw refusal
  const changed = await gateway.book.changeKey(target.id, changeOf(body, byCreator))
  if (changed === undefined) throw notYours()
  return json({ data: await shownKey(gateway, changed) })
}

/** What a key that switched itself off together with its children did, it may also undo. */
const checkOwnChildren = (gateway: Gateway, key: Key, { withChildren }: LimitsBody): Refusal | undefined => {
  if (withChildren !== true) return undefined
  return key.disabledReason === 'self' ? checkManages(key) : checkGoverns(gateway, key)
}

export const getKeyUsage = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const target = await anyTargetOf(gateway, caller, call)
  const spend = await gateway.store.spend(target.id)
  const wallet = await gateway.store.wallet(target.walletId)
  return json({
    data: {
      spent_usd: usdNumber(spend.spent),
      spent_this_month_usd: usdNumber(spend.spentThisMonth),
      held_usd: usdNumber(spend.held),
      ...(await shownKey(gateway, target)),
      remaining_usd: remaining(target, spend, wallet === undefined ? 0n : wallet.balance - wallet.held),
      requests: spend.requests,
    },
  })
}

const changeOf = (body: LimitsBody, byCreator: boolean): KeyChange => {
  const { disabled, ...limits } = body
  if (disabled === undefined) return { ...limits, byCreator }
  return { ...limits, byCreator, disabledReason: disabled ? (byCreator ? 'operator' : 'self') : null }
}

/** What the key may still spend: the least of its caps and its wallet. */
const remaining = (key: Key, spend: KeySpend, wallet: bigint): number => {
  const rooms = [wallet - (key.limits.stopAt ?? 0n)]
  if (key.limits.spendCap !== undefined) rooms.push(key.limits.spendCap - spend.spent - spend.held)
  if (key.limits.monthlyCap !== undefined)
    rooms.push(key.limits.monthlyCap - spend.spentThisMonth - spend.held)
  const room = rooms.reduce((smallest, one) => (one < smallest ? one : smallest))
  return usdNumber(room > 0n ? room : 0n)
}
