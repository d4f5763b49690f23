/** Keys as rows of the database, and how a change of limits alters a key. */
import { isObject, type Json, present } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Month } from '../../core/time.ts'
import { type GuardRule, readGuardrails } from '../../guardrails/rules.ts'
import type { Aliases, Key } from '../../tenancy/key.ts'
import { type LimitRow, type Limits, type LimitValue, limitList, limitsAfter } from '../../tenancy/limits.ts'
import { type KeyTags, readKeyTags, shownKeyTags } from '../../tenancy/tags.ts'
import { integer, json, maybe, nano, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import type { Row, Run, Value } from '../engine/engine.ts'
import { blockAfter, blockColumns, blockIn } from './key-block.ts'
import type { KeyChange } from './tenancy-port.ts'

/** The texts of a column that lists some. */
export const textsOf = (list: Json): readonly string[] =>
  Array.isArray(list) ? list.filter((id) => typeof id === 'string') : []

const columns = {
  usd: nano,
  count: integer,
  time: integer,
  list: (column: string) => json(column, textsOf),
} as const

const columnOf = ({ form }: LimitRow, column: string) => maybe<LimitValue>(columns[form](column) as never)

const limits = (prefix: '' | 'granted_') =>
  rowsOf(Object.fromEntries(limitList.map(([name, row]) => [name, columnOf(row, `${prefix}${row.column}`)])))
const ownLimits = limits('')
const grantedLimits = limits('granted_')

export const limitColumns = limitList.map(([, { column }]) => column)
export const grantedColumns = limitColumns.map((column) => `granted_${column}`)

/** The limits in the order of their columns. */
export const limitValues = (limits: Limits): readonly Value[] =>
  limitList.map(([name]) => {
    const value = limits[name] ?? null
    return Array.isArray(value) ? JSON.stringify(value) : (value as Value)
  })

/** `column = $n` for each column, counting from `first`. */
const assigned = (columns: readonly string[], first: number): string =>
  columns.map((column, at) => `${column} = $${first + at}`).join(', ')

const aliasesOf = (names: Json): Aliases =>
  isObject(names)
    ? Object.fromEntries(Object.entries(names).map(([name, model]) => [name, String(model)]))
    : {}

const tagsIn = (value: Json): KeyTags => {
  const read = readKeyTags(value)
  return read === null || read instanceof Refusal ? { tags: {}, fixed: [] } : read
}

/** Rules that this version cannot read must not be taken for none. */
const guardrailsIn = (value: Json): readonly GuardRule[] => {
  const read = readGuardrails(value)
  if (read === null || read instanceof Refusal) throw new Error('the guardrails of a key cannot be read')
  return read
}

const keys = rowsOf({
  id: text('id'),
  walletId: text('wallet_id'),
  orgId: text('org_id'),
  above: json('ancestors', textsOf),
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
  tags: maybe(json('tags', tagsIn)),
  guardrails: maybe(json('guardrails', guardrailsIn)),
  endedLogins: maybe(json('ended_logins', textsOf)),
  cell: maybe(text('cell')),
})
/** Only of keys in whose line one was rotated. */
const parents = rowsOf({ parents: maybe(json('parents', textsOf)) })

/** In the form of the column. */
export const aliasesText = (aliases: Aliases | undefined): string | null =>
  aliases === undefined ? null : JSON.stringify(aliases)

/** The same of its tags. */
export const tagsText = (tags: KeyTags | undefined): string | null =>
  tags === undefined ? null : JSON.stringify(shownKeyTags(tags))

/** The same of its guardrails. */
export const guardrailsText = (rules: readonly GuardRule[] | undefined): string | null =>
  rules === undefined ? null : JSON.stringify(rules)

export const keyOf = (row: Row): Key => {
  const { disabledReason, disabledBy, ...key } = keys.read(row)
  return {
    ...key,
    ...blockIn({ disabledReason, disabledBy }),
    ancestors: parents.read(row).parents ?? key.above,
    limits: ownLimits.read(row) as Limits,
    granted: grantedLimits.read(row) as Limits,
  }
}

/** Writes all of the key that can change, to its row. */
export const writeKey = (run: Run, now: string, key: Key): Promise<readonly Row[]> => {
  const [reason, together] = blockColumns(key.disabledReason, key.disabledBy)
  return run(
    `update api_key set disabled_reason = $2, disabled_month = $3, label = $4, version = $5, deleted = $6,
       can_manage = $7, disabled_by = $8, disabled_before = $9, aliases = $10, sub_id = $11, ended_logins = $12, tags = $13,
       guardrails = $14, ${assigned(limitColumns, 15)}, ${assigned(grantedColumns, 15 + limitColumns.length)}, changed_at = ${now}
     where id = $1`,
    [
      key.id,
      reason,
      key.disabledMonth ?? null,
      key.label,
      key.version,
      key.deleted ? 1 : 0,
      key.canManage ? 1 : 0,
      together,
      key.disabledBefore ?? null,
      aliasesText(key.aliases),
      key.subWallet ?? null,
      key.endedLogins === undefined ? null : JSON.stringify(key.endedLogins),
      tagsText(key.tags),
      guardrailsText(key.guardrails),
      ...limitValues(key.limits),
      ...limitValues(key.granted),
    ],
  )
}

/** More than a person approves in the days that a sign-in lasts: all of them may be ended at once. */
const ENDED_MAX = 1_000

/** An absent member keeps the value, null removes it. */
const pick = <T>(now: T | undefined, next: T | null | undefined): T | undefined =>
  next === undefined ? now : (next ?? undefined)

/** The key after a change made in `month`. */
export const changedKey = (key: Key, change: KeyChange, month: Month): Key => {
  const { disabledReason: _reason, disabledBy: _by, disabledBefore: _before, ...kept } = key
  const { disabledMonth, aliases, tags, guardrails, subWallet, ...rest } = kept
  const limits = limitsAfter(key.limits, change)
  const block = blockAfter(key, change, limits)
  return {
    ...rest,
    ...block,
    ...(change.endLogin === undefined
      ? {}
      : { endedLogins: [...(key.endedLogins ?? []), change.endLogin].slice(-ENDED_MAX) }),
    ...present({
      aliases: pick(aliases, change.aliases),
      tags: pick(tags, change.tags),
      guardrails: pick(guardrails, change.guardrails),
      subWallet: pick(subWallet, change.subWallet),
    }),
    limits,
    granted: change.byCreator ? limitsAfter(key.granted, change) : key.granted,
    label: change.label ?? key.label,
    canManage: change.canManage ?? key.canManage,
    version: key.version + 1,
    ...(block.disabledReason === 'monthly_cap' ? { disabledMonth: disabledMonth ?? month } : {}),
  }
}
