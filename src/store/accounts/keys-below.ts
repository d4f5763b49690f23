/**
 * Changes of a key that also concern all keys below it. The key is already locked. Making a key locks all keys above
 * it, so no new key can be missed.
 */
import { isRevoked, type Key, type KeyId } from '../../tenancy/key.ts'
import type { Run, SqlDialect, Value } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { blockColumns } from './key-block.ts'
import { keyOf } from './key-row.ts'
import type { KeyChanged } from './tenancy-port.ts'

/** `$1` is the key. */
const allBelow = 'id in (select n.key_id from key_line n where n.owner_id = $1 and n.depth > 0)'
const below = `deleted = 0 and ${allBelow}`

const alter = async (
  run: Run,
  dialect: SqlDialect,
  it: { params: readonly Value[]; sets: string; where: string },
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
  [reason, together]: ReturnType<typeof blockColumns>,
): Promise<readonly Key[]> =>
  alter(run, dialect, {
    params: [id, reason, together],
    sets: `disabled_reason = $2, disabled_by = $3, disabled_month = null,
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
    params: [id, ...[one, other].flatMap((name) => [name, blockColumns('reseller', name)[1]])],
    sets: 'disabled_reason = disabled_before, disabled_by = null, disabled_before = null',
    where: `${below} and disabled_by in ($2, $3, $4, $5)`,
  })

/**
 * The sub-wallet that the locked key is to have: what binds a key above it, else the wish. A key above may have been bound
 * since the wish was checked.
 */
export const bindingOf = async (
  run: Run,
  { id }: Key,
  wish: string | null | undefined,
): Promise<string | null | undefined> => {
  if (wish === undefined) return undefined
  const [above] = await run(
    `select k.sub_id from key_line n join api_key k on k.id = n.owner_id
     where n.key_id = $1 and n.depth > 0 and k.sub_id is not null order by n.depth limit 1`,
    [id],
  )
  return above === undefined ? wish : textOf(above, 'sub_id')
}

/**
 * Binds all keys below to the sub-wallet that the key is bound to now, or releases those that were bound with it: a
 * ceiling on a key is one on all that it makes. Deleted keys too, since living ones may be below them.
 */
export const bindBelow = async (
  run: Run,
  dialect: SqlDialect,
  { id, subWallet: before }: Key,
  now: string | undefined,
): Promise<readonly Key[]> => {
  if (now === before) return []
  const changed =
    now === undefined
      ? { params: [id, before ?? ''], sets: 'sub_id = null', where: `${allBelow} and sub_id = $2` }
      : { params: [id, now], sets: 'sub_id = $2', where: `${allBelow} and coalesce(sub_id, '') <> $2` }
  return (await alter(run, dialect, changed)).filter(({ deleted }) => !deleted)
}

/** The keys whose leases were made for what they may not do any more: call, or spend outside their sub-wallet. */
export const outdatedBy = (before: Key, { key, below }: Pick<KeyChanged, 'key' | 'below'>): readonly Key[] =>
  key.subWallet === before.subWallet
    ? [...(isRevoked(before) ? [] : [key]), ...below].filter(isRevoked)
    : [key, ...below]
