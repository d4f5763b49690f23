/** Keys as rows of the database, and how a change of limits alters one. */
import type { Month } from '../core/time.ts'
import type { Aliases, DisabledReason, Key, Limits } from '../tenancy/key.ts'
import type { Row, Value } from './engine.ts'
import { countOf, maybeCount, maybeNano, maybeText, textOf, truthOf } from './row.ts'
import type { KeyChange } from './tenancy-port.ts'

/** Leaves out members that are undefined, as optional properties must be. */
const compact = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never

const limitsOf = (row: Row, prefix: '' | 'granted_'): Limits =>
  compact({
    spendCap: maybeNano(row, `${prefix}spend_cap`),
    monthlyCap: maybeNano(row, `${prefix}monthly_cap`),
    stopAt: maybeNano(row, `${prefix}stop_at`),
    rpm: maybeCount(row, `${prefix}rpm`),
    rph: maybeCount(row, `${prefix}rph`),
    rpd: maybeCount(row, `${prefix}rpd`),
    tpm: maybeCount(row, `${prefix}tpm`),
  })

export const limitColumns = ['spend_cap', 'monthly_cap', 'stop_at', 'rpm', 'rph', 'rpd', 'tpm']
export const grantedColumns = limitColumns.map((column) => `granted_${column}`)

/** The limits in the order of their columns. */
export const limitValues = (limits: Limits): readonly Value[] => [
  limits.spendCap ?? null,
  limits.monthlyCap ?? null,
  limits.stopAt ?? null,
  limits.rpm ?? null,
  limits.rph ?? null,
  limits.rpd ?? null,
  limits.tpm ?? null,
]

/** `column = $n` for each column, from `first` on. */
export const assigned = (columns: readonly string[], first: number): string =>
  columns.map((column, at) => `${column} = $${first + at}`).join(', ')

const reasons: readonly DisabledReason[] = ['self', 'operator', 'spend_cap', 'monthly_cap']

const ancestorsOf = (row: Row): readonly string[] => {
  const list: unknown = JSON.parse(textOf(row, 'ancestors'))
  return Array.isArray(list) ? list.filter((id) => typeof id === 'string') : []
}

const aliasesOf = (row: Row): Aliases | undefined => {
  const text = maybeText(row, 'aliases')
  return text === undefined ? undefined : JSON.parse(text)
}

/** As the column keeps them. */
export const aliasesText = (aliases: Aliases | undefined): string | null =>
  aliases === undefined ? null : JSON.stringify(aliases)

export const keyOf = (row: Row): Key => ({
  id: textOf(row, 'id'),
  walletId: textOf(row, 'wallet_id'),
  orgId: textOf(row, 'org_id'),
  ancestors: ancestorsOf(row),
  label: textOf(row, 'label'),
  prefix: textOf(row, 'prefix'),
  limits: limitsOf(row, ''),
  granted: limitsOf(row, 'granted_'),
  canManage: truthOf(row, 'can_manage'),
  deleted: truthOf(row, 'deleted'),
  createdAt: countOf(row, 'created_at'),
  version: countOf(row, 'version'),
  ...compact({
    subWallet: maybeText(row, 'sub_id'),
    disabledReason: reasons.find((reason) => reason === row.disabled_reason),
    disabledMonth: maybeText(row, 'disabled_month'),
    disabledBy: maybeText(row, 'disabled_by'),
    disabledBefore: row.disabled_before === 'self' ? ('self' as const) : undefined,
    trialUntil: maybeCount(row, 'trial_until'),
    aliases: aliasesOf(row),
  }),
})

/** An absent member keeps what there is, null removes it. */
const pick = <T>(now: T | undefined, next: T | null | undefined): T | undefined =>
  next === undefined ? now : (next ?? undefined)

const changed = (limits: Limits, change: KeyChange): Limits =>
  compact({
    spendCap: pick(limits.spendCap, change.spendCap),
    monthlyCap: pick(limits.monthlyCap, change.monthlyCap),
    stopAt: pick(limits.stopAt, change.stopAt),
    rpm: pick(limits.rpm, change.rpm),
    rph: pick(limits.rph, change.rph),
    rpd: pick(limits.rpd, change.rpd),
    tpm: pick(limits.tpm, change.tpm),
  })

const raised = (before: bigint | undefined, after: bigint | undefined): boolean =>
  before !== undefined && (after === undefined || after > before)

type Block = Pick<Key, 'disabledReason' | 'disabledBy' | 'disabledBefore'>

/** A block by the operator is lifted by the creator only; a cap's block is lifted by a higher cap. */
const blockAfter = (key: Key, change: KeyChange, limits: Limits): Block => {
  const { disabledReason, disabledBy, disabledBefore } = key
  if (disabledReason === 'operator' && !change.byCreator) {
    // What it wishes for itself holds once the key above it comes back.
    const wish = change.disabledReason === undefined ? disabledBefore : (change.disabledReason ?? undefined)
    return compact({ disabledReason, disabledBy, disabledBefore: disabledBy && wish ? 'self' : undefined })
  }
  if (change.disabledReason === null) return {}
  if (change.disabledReason !== undefined) return { disabledReason: change.disabledReason }
  if (disabledReason === 'spend_cap' && raised(key.limits.spendCap, limits.spendCap)) return {}
  if (disabledReason === 'monthly_cap' && raised(key.limits.monthlyCap, limits.monthlyCap)) return {}
  return compact({ disabledReason, disabledBy, disabledBefore })
}

/** The key as it stands after a change made in `month`. */
export const changedKey = (key: Key, change: KeyChange, month: Month): Key => {
  const { disabledReason: _reason, disabledBy: _by, disabledBefore: _before, ...kept } = key
  const { disabledMonth, aliases, ...rest } = kept
  const limits = changed(key.limits, change)
  const block = blockAfter(key, change, limits)
  return {
    ...rest,
    ...block,
    ...compact({ aliases: pick(aliases, change.aliases) }),
    limits,
    granted: change.byCreator ? changed(key.granted, change) : key.granted,
    label: change.label ?? key.label,
    canManage: change.canManage ?? key.canManage,
    version: key.version + 1,
    ...(block.disabledReason === 'monthly_cap' ? { disabledMonth: disabledMonth ?? month } : {}),
  }
}
