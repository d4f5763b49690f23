/** Keys as the control plane shows them: their limits, which of them bind, and their state. */
import { type ExactNumber, type Nano, usdNumber } from '../core/money.ts'
import { monthOf } from '../core/time.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isEnabled, type Key, type KeyId } from '../tenancy/key.ts'

const usd = (amount: Nano | undefined): ExactNumber | null =>
  amount === undefined ? null : usdNumber(amount)

const shown = (gateway: Gateway, key: Key, leastRpm: number | undefined) => {
  const { limits, ancestors, above, subWallet, disabledBy = '', deleted, createdAt } = key
  const { planRpm } = gateway.options
  const enabled = isEnabled(key, monthOf(gateway.clock.now()))
  return {
    id: key.id,
    label: key.label,
    prefix: key.prefix,
    parent: ancestors[0] ?? null,
    sub_wallet: subWallet ?? null,
    can_manage: key.canManage,
    spend_cap_usd: usd(limits.spendCap),
    monthly_cap_usd: usd(limits.monthlyCap),
    rpm_limit: limits.rpm ?? null,
    // The plan's rate replaces a missing rate of the key's own; keys above bind only where they have a rate.
    effective_rpm_limit:
      limits.rpm === undefined ? Math.min(planRpm, leastRpm ?? planRpm) : (leastRpm ?? limits.rpm),
    rph_limit: limits.rph ?? null,
    rpd_limit: limits.rpd ?? null,
    tpm_limit: limits.tpm ?? null,
    stop_at_remaining_usd: usd(limits.stopAt),
    aliases: key.aliases ?? null,
    disabled: !enabled,
    disabled_reason: enabled ? null : (key.disabledReason ?? null),
    disabled_by: above.includes(disabledBy) ? disabledBy : null,
    deleted,
    created_at: new Date(createdAt).toISOString(),
  }
}

/** The keys with the rates that bind them, possibly those of keys above them. */
export const shownKeys = async (gateway: Gateway, keys: readonly Key[]) => {
  const rates: ReadonlyMap<KeyId, number> =
    keys.length === 0 ? new Map() : await gateway.store.keys.leastRpm(keys.map(({ id }) => id))
  return keys.map((key) => shown(gateway, key, rates.get(key.id)))
}

export const shownKey = async (gateway: Gateway, key: Key) =>
  shown(gateway, key, (await gateway.store.keys.leastRpm([key.id])).get(key.id))
