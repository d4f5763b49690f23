/**
 * Changes of a key that also concern all keys below it. The key is already locked. Making a key locks all keys above
 * it, so no new key can be missed.
 */
import type { Key, KeyId } from '../../tenancy/key.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { keyOf } from './key-row.ts'

/** `$1` is the key. */
const below = 'deleted = 0 and id in (select n.key_id from key_line n where n.owner_id = $1 and n.depth > 0)'

const alter = async (
  run: Run,
  dialect: SqlDialect,
  it: { id: KeyId; sets: string; where: string },
): Promise<readonly Key[]> => {
  const rows = await run(
    `update api_key set ${it.sets}, version = version + 1, changed_at = ${dialect.now} where ${it.where} returning *`,
    [it.id],
  )
  return rows.map(keyOf)
}

export const deleteBelow = (run: Run, dialect: SqlDialect, id: KeyId): Promise<readonly Key[]> =>
  alter(run, dialect, { id, sets: 'deleted = 1', where: below })

/**
 * Disables all keys below that no key above them has disabled yet. Each remembers which key it was disabled with, and
 * whether it had disabled itself. A block by a cap need not be remembered, because the cap blocks again.
 */
export const disableBelow = (run: Run, dialect: SqlDialect, id: KeyId): Promise<readonly Key[]> =>
  alter(run, dialect, {
    id,
    sets: `disabled_by = $1, disabled_reason = 'operator', disabled_month = null,
      disabled_before = case disabled_reason when 'self' then 'self' end`,
    where: `${below} and (disabled_reason is null or disabled_reason <> 'operator')`,
  })

/** Enables the keys that were disabled together with this one, and no others. */
export const enableBelow = (run: Run, dialect: SqlDialect, id: KeyId): Promise<readonly Key[]> =>
  alter(run, dialect, {
    id,
    sets: 'disabled_reason = disabled_before, disabled_by = null, disabled_before = null',
    where: 'deleted = 0 and disabled_by = $1',
  })
