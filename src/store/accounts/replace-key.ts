/**
 * A key that takes the place of an older one, by rotation: it is put above that one and all keys below it. So its caps
 * bind what all of them spend, with what was spent before, and it governs what the older one governs. Meanwhile that one
 * goes on.
 */
import { type Key, type KeyId, newestOf } from '../../tenancy/key.ts'
import { limitsIn } from '../../tenancy/limits.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { keyOf } from './key-row.ts'
import type { KeyChange } from './tenancy-port.ts'

const below = 'select n.key_id from key_line n where n.owner_id = $1'

/**
 * Locks the newest key in place of this one, which is the one to be replaced, with all keys above and below it, so that
 * none of them borrows or makes a key meanwhile.
 */
export const lockReplaced = async (run: Run, { lock }: SqlDialect, id: KeyId): Promise<KeyId> => {
  for (let newest = id; ; ) {
    const rows = await run(
      `select k.* from api_key k where k.id in (${below})
         or k.id in (select n.owner_id from key_line n where n.key_id = $1) order by k.id${lock('k')}`,
      [newest],
    )
    const key = rows.map(keyOf).find((one) => one.id === id)
    if (key === undefined) throw new Error(`there is no key ${id} to be replaced`)
    if (newestOf(key) === newest) return newest
    newest = newestOf(key)
  }
}

/**
 * Puts a key that was just made above the locked one. Its counters begin with what that one's counted, while no lease
 * that counts against them can change.
 */
export const putAbove = async (run: Run, dialect: SqlDialect, old: KeyId, made: Key): Promise<void> => {
  const { lock, now } = dialect
  await run(
    `select l.id from lease l where l.state <> 'closed' and l.key_id in (${below}) order by l.id${lock('l')}`,
    [old],
  )
  await run(`select b.scope from budget b where b.owner_id = $1 order by b.scope${lock('b')}`, [old])
  await run(
    `insert into budget (scope, owner_id, month, week, day, keep_until, wallet_id, lim, tolerated, used, held, calls, brought, estimated)
     select 'key:' || k.id || substr(b.scope, length('key:' || b.owner_id) + 1), k.id, b.month, b.week, b.day, b.keep_until,
       b.wallet_id, case when b.month is not null then k.monthly_cap when b.week is not null then k.weekly_cap
         when b.day is not null then k.daily_cap else k.spend_cap end, b.used + b.held, b.used, b.held, b.calls, b.brought, b.estimated
     from budget b join api_key k on k.id = $2 where b.owner_id = $1`,
    [old, made.id],
  )
  await run(
    `update api_key set parents = coalesce(parents, ancestors), version = version + 1, changed_at = ${now},
       ancestors = case when id <> $1 then replace(ancestors, $2, $2 || ',' || $3)
         when ancestors = '[]' then '[' || $3 || ']' else '[' || $3 || ',' || substr(ancestors, 2) end
     where id in (${below})`,
    [old, JSON.stringify(old), JSON.stringify(made.id)],
  )
  await run(
    `insert into key_line (key_id, owner_id, depth)
     select n.key_id, cast($2 as text), n.depth + 1 from key_line n where n.owner_id = $1`,
    [old, made.id],
  )
}

/**
 * Gives a key that was just made the place of the newest one, and the state of the one that it replaces, both locked: a
 * rotation enables nothing, so it is enabled by who could enable that one, alone or together with others. What takes the
 * place of a key that was deleted meanwhile is deleted.
 */
export const takePlace = async (
  run: Run,
  { old, newest, made }: { old: KeyId; newest: KeyId; made: KeyId },
): Promise<void> => {
  const state = 'disabled_reason, disabled_month, disabled_by, disabled_before, deleted'
  await run(
    `update api_key set (${state}, place) = (select ${state}, (select coalesce(n.place, n.id) from api_key n where n.id = $2)
       from api_key o where o.id = $1) where id = $3`,
    [old, newest, made],
  )
}

/**
 * The keys in whose place a key stands, locked: those whose place it took, and when no newer one is left, those that
 * took its place. Keys of one place have the same maker, and keys below them have another.
 */
export const lockPlace = async (
  run: Run,
  { lock }: SqlDialect,
  { id, ancestors }: Key,
): Promise<readonly Key[]> => {
  const newer = `select n.owner_id from key_line n where n.key_id = $1 and n.depth > 0`
  const ofPlace = (which: string) => `coalesce(${which}.parent_id, '') = $2`
  const rows = await run(
    `select k.* from api_key k where ${ofPlace('k')} and (k.id in (${below} and n.depth > 0) or (k.id in (${newer})
       and not exists (select 1 from api_key o where o.id in (${newer}) and ${ofPlace('o')} and o.deleted = 0)))
     order by k.id${lock('k')}`,
    [id, ancestors[0] ?? ''],
  )
  return rows.map(keyOf)
}

/** The limits of a change, which also apply to the keys in whose place it stands: they bind what is below them too. */
export const limitsOfPlace = ({ byCreator, ...change }: KeyChange): KeyChange | undefined => {
  const limits = limitsIn(change)
  return Object.keys(limits).length === 0 ? undefined : { ...limits, byCreator }
}
