/** A key's own limits and usage, and those of a reseller's children. */
import { usdNumber } from '../core/money.ts'
import { must, refuse } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { KeyChange, KeySpend } from '../store/tenancy-port.ts'
import { checkSelfChange, type LimitsBody, readLimitsBody } from '../tenancy/change-limits.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import { anyCallerOf } from './caller.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

/** Resolves when no process can admit a call on the older limits any more. */
export const putKeyLimits = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const target = await targetOf(gateway, caller, call)
  const body = must(readLimitsBody(await readSmallBody(call.request)))
  const byCreator = target.id !== caller.id
  const refusal = byCreator ? undefined : checkSelfChange(target, body, gateway.options.planRpm)
  if (refusal) throw refusal
  const changed = await gateway.book.changeKey(target.id, changeOf(target, body, byCreator))
  if (changed === undefined) throw notYours()
  return json({ data: limitsOf(gateway, changed) })
}

export const getKeyUsage = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const target = await targetOf(gateway, caller, call)
  const spend = await gateway.store.spend(target.id)
  const wallet = await gateway.store.wallet(target.walletId)
  return json({
    data: {
      spent_usd: usdNumber(spend.spent),
      spent_this_month_usd: usdNumber(spend.spentThisMonth),
      held_usd: usdNumber(spend.held),
      ...limitsOf(gateway, target),
      remaining_usd: remaining(target, spend, wallet === undefined ? 0n : wallet.balance - wallet.held),
      requests: spend.requests,
    },
  })
}

/** The key itself, or a child; what is not yours looks like what does not exist. */
const targetOf = async (gateway: Gateway, caller: Key, call: HttpCall): Promise<Key> => {
  const token = call.params.token ?? 'me'
  const found =
    token === 'me'
      ? await gateway.store.key(caller.id)
      : token.startsWith('sk-')
        ? await gateway.store.keyByHash(gateway.hash(token))
        : await gateway.store.key(token)
  if (
    found === undefined ||
    found.deleted ||
    (found.id !== caller.id && !found.ancestors.includes(caller.id))
  )
    throw notYours()
  return found
}

const notYours = () =>
  refuse(
    'not_found',
    "There is no such key, or it is neither the calling key nor one of its children; use 'me' for the calling key.",
  )

const changeOf = (target: Key, body: LimitsBody, byCreator: boolean): KeyChange => {
  const { disabled, ...limits } = body
  if (disabled === undefined) return { ...limits, byCreator }
  if (!disabled) return { ...limits, byCreator, disabledReason: null }
  // The creator's block is not weakened by the key disabling itself on top of it.
  const reason = byCreator || target.disabledReason === 'operator' ? 'operator' : 'self'
  return { ...limits, byCreator, disabledReason: reason }
}

const limitsOf = (gateway: Gateway, key: Key) => {
  const enabled = isEnabled(key, monthOf(gateway.clock.now()))
  return {
    id: key.id,
    label: key.label,
    spend_cap_usd: key.limits.spendCap === undefined ? null : usdNumber(key.limits.spendCap),
    monthly_cap_usd: key.limits.monthlyCap === undefined ? null : usdNumber(key.limits.monthlyCap),
    rpm_limit: key.limits.rpm ?? null,
    rph_limit: key.limits.rph ?? null,
    rpd_limit: key.limits.rpd ?? null,
    tpm_limit: key.limits.tpm ?? null,
    stop_at_remaining_usd: key.limits.stopAt === undefined ? null : usdNumber(key.limits.stopAt),
    disabled: !enabled,
    disabled_reason: enabled ? null : (key.disabledReason ?? null),
  }
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
