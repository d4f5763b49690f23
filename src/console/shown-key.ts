/** A key as the console shows it. */

import { monthOf } from '../core/time.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { KeyLine } from '../store/reports/report-port.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import { isoOf, maybeUsd, usdOf } from './read.ts'
import type { KeyShown } from './schema/keys.ts'

/** Whether it takes calls, and why not. */
export const statusOf = (gateway: Gateway, key: Key): KeyShown['status'] => {
  if (key.deleted) return 'deleted'
  if (isEnabled(key, monthOf(gateway.clock.now()))) return 'enabled'
  const { disabledReason } = key
  return disabledReason === 'spend_cap' || disabledReason === 'monthly_cap' ? disabledReason : 'disabled'
}

export const shownKey = (gateway: Gateway, line: KeyLine): KeyShown => {
  const { key, spent, spentThisMonth, requests, lastUsed, madeBy, reference, tenantId } = line
  return {
    id: key.id,
    label: key.label,
    prefix: key.prefix,
    reference: reference ?? null,
    parent: key.ancestors[0] ?? null,
    tenant: key.ancestors.length === 0 ? null : (tenantId ?? key.ancestors.at(-2) ?? key.id),
    sub_wallet: key.subWallet ?? null,
    status: statusOf(gateway, key),
    can_manage: key.canManage,
    spent_usd: usdOf(spent),
    spent_this_month_usd: usdOf(spentThisMonth),
    requests,
    spend_cap_usd: maybeUsd(key.limits.spendCap),
    monthly_cap_usd: maybeUsd(key.limits.monthlyCap),
    stop_at_remaining_usd: maybeUsd(key.limits.stopAt),
    rpm_limit: key.limits.rpm ?? null,
    last_used_at: lastUsed === undefined ? null : isoOf(lastUsed),
    created_at: isoOf(key.createdAt),
    made_by: madeBy ?? null,
  }
}
