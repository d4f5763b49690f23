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
  it: { params: readonly string[]; sets: string; where: string },
): Promise<readonly Key[]> => {
  const rows = await run(
    `update api_key set ${it.sets}, version = version + 1, changed_at = ${dialect.now} where ${it.where} returning *`,
    it.params,
  )
  return rows.map(keyOf)
}

export const deleteBelow = (run: Run, dialect: SqlDialect, id: KeyId): Promise<readonly Key[]> =>
  alter(run, dialect, { params: [id], sets: 'deleted = 1', where: below })

/**
 * Disables all keys below that are not disabled by a person above them yet. Each remembers what it was disabled with (a
 * key or a suspension), and whether it had disabled itself. A block by a cap need not be remembered, because the cap
 * blocks again.
 */
export const disableBelow = (
  run: Run,
  dialect: SqlDialect,
  id: KeyId,
  together: string,
): Promise<readonly Key[]> =>
  alter(run, dialect, {
    params: [id, together],
    sets: `disabled_by = $2, disabled_reason = 'operator', disabled_month = null,
      disabled_before = case disabled_reason when 'self' then 'self' end`,
    where: `${below} and (disabled_reason is null or disabled_reason <> 'operator')`,
  })

/** Enables the keys below that were disabled together with this one, or under these names, and no others. */
export const enableBelow = (
  run: Run,
  dialect: SqlDialect,
  id: KeyId,
  [one, other = one]: readonly [string, string?],
): Promise<readonly Key[]> =>
  alter(run, dialect, {
    params: [id, one, other],
    sets: 'disabled_reason = disabled_before, disabled_by = null, disabled_before = null',
    where: `${below} and disabled_by in ($2, $3)`,
  })
