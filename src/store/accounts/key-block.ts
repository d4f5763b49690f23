/** Who disabled a key: how that is stored, and how a change of the key alters it. */
import { present } from '../../core/json-body.ts'
import { type DisabledReason, isBlocked, type Key } from '../../tenancy/key.ts'
import type { Limits } from '../../tenancy/limits.ts'
import type { KeyChange } from './tenancy-port.ts'

type KeyBlock = Pick<Key, 'disabledReason' | 'disabledBy' | 'disabledBefore'>
type Said = { [Member in 'disabledReason' | 'disabledBy']: Key[Member] | undefined }

/**
 * A block by the reseller has the reason `operator` in its column, which the previous version reads, and says who in the
 * other: this word, and after it what the key was disabled together with.
 */
const RESELLER = 'reseller' as const
const byReseller = new RegExp(`^${RESELLER}(?: (.+))?$`)

/** The values of `disabled_reason` and `disabled_by`. */
export const blockColumns = (
  reason: DisabledReason | undefined,
  together: string | undefined,
): readonly [string | null, string | null] =>
  reason === RESELLER
    ? ['operator', together === undefined ? RESELLER : `${RESELLER} ${together}`]
    : [reason ?? null, together ?? null]

/** What the two columns say. */
export const blockIn = ({ disabledReason, disabledBy }: Said): KeyBlock => {
  const said = byReseller.exec(disabledBy ?? '')
  return present(
    said === null ? { disabledReason, disabledBy } : { disabledReason: RESELLER, disabledBy: said[1] },
  )
}

/** Whose act it is, for a key below, that this key was disabled with all below it. */
export const reasonBelow = (reason: DisabledReason): 'operator' | 'reseller' =>
  reason === 'operator' ? reason : RESELLER

const raised = (before: bigint | undefined, after: bigint | undefined): boolean =>
  before !== undefined && (after === undefined || after > before)

/** What was off stays as it was, whether others are disabled or enabled together. */
const blockTogether = (key: Key, reason: DisabledReason | null | undefined, together: string): KeyBlock => {
  const { disabledReason, disabledBy, disabledBefore } = key
  if (reason != null && !isBlocked(key))
    return present({
      disabledReason: reason,
      disabledBy: together,
      disabledBefore: disabledReason === 'self' ? disabledReason : undefined,
    })
  if (reason === null && disabledBy === together) return present({ disabledReason: disabledBefore })
  return present({ disabledReason, disabledBy, disabledBefore })
}

/** Only others lift a block by others. A higher cap lifts a block by that cap. */
export const blockAfter = (key: Key, change: KeyChange, limits: Limits): KeyBlock => {
  const { disabledReason, disabledBy, disabledBefore } = key
  if (isBlocked(key) && !change.byCreator) {
    // The key's own block applies again once the key above it is enabled.
    const wish = change.disabledReason === undefined ? disabledBefore : (change.disabledReason ?? undefined)
    return present({
      disabledReason,
      disabledBy,
      disabledBefore: disabledBy && wish ? ('self' as const) : undefined,
    })
  }
  if (change.together !== undefined) return blockTogether(key, change.disabledReason, change.together)
  if (change.disabledReason === null) return {}
  if (change.disabledReason !== undefined) return { disabledReason: change.disabledReason }
  if (disabledReason === 'spend_cap' && raised(key.limits.spendCap, limits.spendCap)) return {}
  if (disabledReason === 'monthly_cap' && raised(key.limits.monthlyCap, limits.monthlyCap)) return {}
  return present({ disabledReason, disabledBy, disabledBefore })
}
