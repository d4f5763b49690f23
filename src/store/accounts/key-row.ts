/** Keys as rows of the database, and how a change of limits alters a key. */
import { isObject, type Json } from '../../core/json-body.ts'
import type { Month } from '../../core/time.ts'
import type { Aliases, Key, Limits } from '../../tenancy/key.ts'
import { integer, json, maybe, nano, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import type { Row, Value } from '../engine/engine.ts'
import type { KeyChange } from './tenancy-port.ts'

/** Leaves out members that are undefined, as optional properties must be. */
const compact = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never

const limits = (prefix: '' | 'granted_') =>
  rowsOf({
    spendCap: maybe(nano(`${prefix}spend_cap`)),
    monthlyCap: maybe(nano(`${prefix}monthly_cap`)),
    stopAt: maybe(nano(`${prefix}stop_at`)),
    rpm: maybe(integer(`${prefix}rpm`)),
    rph: maybe(integer(`${prefix}rph`)),
    rpd: maybe(integer(`${prefix}rpd`)),
    tpm: maybe(integer(`${prefix}tpm`)),
  })
const ownLimits = limits('')
const grantedLimits = limits('granted_')

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

/** `column = $n` for each column, counting from `first`. */
export const assigned = (columns: readonly string[], first: number): string =>
  columns.map((column, at) => `${column} = $${first + at}`).join(', ')

/** The keys of a column that lists some. */
export const ancestorsOf = (list: Json): readonly string[] =>
  Array.isArray(list) ? list.filter((id) => typeof id === 'string') : []

const aliasesOf = (names: Json): Aliases =>
  isObject(names)
    ? Object.fromEntries(Object.entries(names).map(([name, model]) => [name, String(model)]))
    : {}

const keys = rowsOf({
  id: text('id'),
  walletId: text('wallet_id'),
  orgId: text('org_id'),
  above: json('ancestors', ancestorsOf),
  label: text('label'),
  prefix: text('prefix'),
  canManage: truth('can_manage'),
  deleted: truth('deleted'),
  createdAt: integer('created_at'),
  version: integer('version'),
  place: maybe(text('place')),
  subWallet: maybe(text('sub_id')),
  disabledReason: maybe(oneOf('disabled_reason', ['self', 'operator', 'spend_cap', 'monthly_cap'])),
  disabledMonth: maybe(text('disabled_month')),
  disabledBy: maybe(text('disabled_by')),
  disabledBefore: maybe(oneOf('disabled_before', ['self'])),
  trialUntil: maybe(integer('trial_until')),
  aliases: maybe(json('aliases', aliasesOf)),
})
/** Only of keys in whose line one was rotated. */
const parents = rowsOf({ parents: maybe(json('parents', ancestorsOf)) })

/** In the form of the column. */
export const aliasesText = (aliases: Aliases | undefined): string | null =>
  aliases === undefined ? null : JSON.stringify(aliases)

export const keyOf = (row: Row): Key => {
  const key = keys.read(row)
  return {
    ...key,
    ancestors: parents.read(row).parents ?? key.above,
    limits: ownLimits.read(row),
    granted: grantedLimits.read(row),
  }
}

/** An absent member keeps the value, null removes it. */
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

type KeyBlock = Pick<Key, 'disabledReason' | 'disabledBy' | 'disabledBefore'>

/** What was off stays as it was, whether others are disabled or enabled together. */
const blockTogether = (key: Key, off: boolean, together: string): KeyBlock => {
  const { disabledReason, disabledBy, disabledBefore } = key
  if (off && disabledReason !== 'operator')
    return compact({
      disabledReason: 'operator' as const,
      disabledBy: together,
      disabledBefore: disabledReason === 'self' ? disabledReason : undefined,
    })
  if (!off && disabledBy === together) return compact({ disabledReason: disabledBefore })
  return compact({ disabledReason, disabledBy, disabledBefore })
}

/** Only the creator lifts a block by the operator. A higher cap lifts a block by that cap. */
const blockAfter = (key: Key, change: KeyChange, limits: Limits): KeyBlock => {
  const { disabledReason, disabledBy, disabledBefore } = key
  if (disabledReason === 'operator' && !change.byCreator) {
    // The key's own block applies again once the key above it is enabled.
    const wish = change.disabledReason === undefined ? disabledBefore : (change.disabledReason ?? undefined)
    return compact({ disabledReason, disabledBy, disabledBefore: disabledBy && wish ? 'self' : undefined })
  }
  if (change.together !== undefined)
    return blockTogether(key, change.disabledReason !== null, change.together)
  if (change.disabledReason === null) return {}
  if (change.disabledReason !== undefined) return { disabledReason: change.disabledReason }
  if (disabledReason === 'spend_cap' && raised(key.limits.spendCap, limits.spendCap)) return {}
  if (disabledReason === 'monthly_cap' && raised(key.limits.monthlyCap, limits.monthlyCap)) return {}
  return compact({ disabledReason, disabledBy, disabledBefore })
}

/** The key after a change made in `month`. */
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
