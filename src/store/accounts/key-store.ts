/**
 * Keys: made, read, changed, deleted. Every change raises the version, which tells caches that they are out of date.
 */
import { type Month, monthOf } from '../../core/time.ts'
import { lifetimeScope, monthScope } from '../../ledger/scopes.ts'
import { isEnabled, isRevoked, type Key, type KeyId } from '../../tenancy/key.ts'
import { clockIn, clockOf } from '../engine/clock.ts'
import {
  type Engine,
  once,
  type Row,
  type Run,
  type SqlDialect,
  type Statement,
  statement,
  type Value,
} from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { fenceLeasesOf } from '../ledger/fence.ts'
import type { Actor } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { keyChanged, keyCreated } from './key-events.ts'
import {
  aliasesText,
  assigned,
  changedKey,
  grantedColumns,
  keyOf,
  limitColumns,
  limitValues,
} from './key-row.ts'
import { spendOf } from './key-spend.ts'
import { deleteBelow, disableBelow, enableBelow } from './keys-below.ts'
import { leftOf } from './left-store.ts'
import { insertKey, lockLine, lockReferences } from './new-key.ts'
import { rehashing } from './rehash.ts'
import { limitsIn, lockPlace, lockReplaced, putAbove, takePlace } from './replace-key.ts'
import type { KeyChange, KeyChanged, KeyNote, KeyQuery, KeyStore, NewKey } from './tenancy-port.ts'
import { usageOf } from './usage-report.ts'

const MOST_LISTED = 1000

/**
 * Updates the caps' counters to the key's new limits. A cap below what is already used and held tolerates that much;
 * see the schema.
 */
const setCaps = async (run: Run, key: Key, month: string, lock: string): Promise<void> => {
  const scopes = [lifetimeScope(key.id), monthScope(key.id, month)].sort()
  await run(`select b.scope from budget b where b.scope in ($1, $2) order by b.scope${lock}`, scopes)
  const caps = [
    [lifetimeScope(key.id), key.limits.spendCap],
    [monthScope(key.id, month), key.limits.monthlyCap],
  ] as const
  for (const [scope, cap] of caps) {
    await run('update budget set tolerated = used + held, lim = $2 where scope = $1', [scope, cap ?? null])
  }
}

const write = (run: Run, now: string, key: Key): Promise<readonly Row[]> =>
  run(
    `update api_key set disabled_reason = $2, disabled_month = $3, label = $4, version = $5, deleted = $6,
       can_manage = $7, disabled_by = $8, disabled_before = $9, aliases = $10,
       ${assigned(limitColumns, 11)}, ${assigned(grantedColumns, 11 + limitColumns.length)}, changed_at = ${now}
     where id = $1`,
    [
      key.id,
      key.disabledReason ?? null,
      key.disabledMonth ?? null,
      key.label,
      key.version,
      key.deleted ? 1 : 0,
      key.canManage ? 1 : 0,
      key.disabledBy ?? null,
      key.disabledBefore ?? null,
      aliasesText(key.aliases),
      ...limitValues(key.limits),
      ...limitValues(key.granted),
    ],
  )

/** Selects the keys of a query, newest first. */
const listed = ({ below, named, deleted, after, most }: KeyQuery): Statement => {
  const params: Value[] = []
  const bind = (value: Value): string => `$${params.push(value)}`
  const where = [deleted === true ? '1 = 1' : 'k.deleted = 0']
  if (below !== undefined)
    where.push(`k.id in (select n.key_id from key_line n where n.owner_id = ${bind(below)} and n.depth > 0)`)
  if (named !== undefined) {
    const text = `cast(${bind(named)} as text)`
    const begins = (whole: string, start: string) => `substr(${whole}, 1, length(${start})) = ${start}`
    where.push(`(${begins('k.id', text)} or ${begins('k.prefix', text)} or ${begins(text, 'k.prefix')})`)
  }
  if (after !== undefined)
    where.push(
      `(k.created_at, k.id) < (select a.created_at, a.id from api_key a where a.id = ${bind(after)})`,
    )
  return statement(
    `select k.* from api_key k where ${where.join(' and ')}
     order by k.created_at desc, k.id desc limit ${bind(most ?? MOST_LISTED)}`,
    ...params,
  )
}

/** Gives the keys in whose place it stands the same new limits. */
const followLimits = async (
  run: Run,
  dialect: SqlDialect,
  { key, wish, month }: { key: Key; wish: KeyChange; month: Month },
): Promise<readonly Key[]> => {
  const limits = limitsIn(wish)
  if (limits === undefined) return []
  const { now, lock } = dialect
  const changed = (await lockPlace(run, dialect, key)).map((one) => changedKey(one, limits, month))
  for (const one of changed) {
    await write(run, now, one)
    await setCaps(run, one, month, lock('b'))
  }
  return changed
}

/** Changes the keys below, if the change concerns them too. */
const alongWith = async (
  run: Run,
  dialect: SqlDialect,
  { id, disabledBy = id }: Key,
  { withChildren, disabledReason, together }: KeyChange,
): Promise<readonly Key[]> => {
  if (withChildren !== true || disabledReason === undefined) return []
  // Who is enabled alone may have been disabled together with others: so were those below.
  return disabledReason === null
    ? enableBelow(run, dialect, id, together === undefined ? [id, disabledBy] : [together])
    : disableBelow(run, dialect, id, together ?? id)
}

type Alter = (run: Run, before: Key, month: Month) => Promise<{ key: Key; below: readonly Key[] }>

/** Changes a locked key, and returns the database's time after the commit. */
const changeOn = async (
  engine: Engine,
  id: KeyId,
  alter: Alter,
  by: Actor | undefined,
): Promise<KeyChanged | undefined> => {
  const { now, lock } = engine.dialect
  const done = await engine.transaction('control', async (run) => {
    const [row] = await run(`select k.*, ${now} as now from api_key k where k.id = $1${lock('k')}`, [id])
    if (row === undefined || keyOf(row).deleted) return undefined
    const month = monthOf(countOf(row, 'now'))
    const changed = await alter(run, keyOf(row), month)
    await write(run, now, changed.key)
    const wasRevoked = isRevoked(keyOf(row))
    const revoked = [...(wasRevoked ? [] : [changed.key]), ...changed.below].filter(isRevoked)
    if (revoked.length > 0)
      await fenceLeasesOf(
        run,
        engine.dialect,
        revoked.map((key) => key.id),
      )
    await setCaps(run, changed.key, month, lock('b'))
    if (by !== undefined) await recordIn(run, engine.dialect, keyChanged(keyOf(row), changed, by))
    return changed
  })
  if (done === undefined) return undefined
  const at = await clockOf(engine)
  return { ...done, at }
}

/** A key is put above all keys below the one that it replaces: a reseller may have 100,000 tenants. */
const REPLACE_MS = 60_000
/** A list has a thousand tenants at most. */
const MANY_MS = 60_000

/** A key that already exists stays as it is. */
const insertOnce = async (
  run: Run,
  dialect: SqlDialect,
  key: NewKey,
  by?: Actor,
  { madeBy, reference, tenantId }: KeyNote = {},
): Promise<Key> => {
  const read = () => run('select * from api_key where id = $1', [key.id])
  const [found] = await read()
  if (found !== undefined) return keyOf(found)
  const { id, replaces: old } = key
  const newest = old === undefined ? undefined : await lockReplaced(run, dialect, old)
  await insertKey(run, dialect, key)
  if (old !== undefined && newest !== undefined) await takePlace(run, { old, newest, made: id })
  const made = keyOf(onlyRow(await read()))
  if (newest !== undefined) await putAbove(run, dialect, newest, made)
  if (madeBy !== undefined || reference !== undefined)
    await run('insert into key_note (key_id, made_by, reference, tenant_id) values ($1, $2, $3, $4)', [
      key.id,
      madeBy ?? null,
      reference ?? null,
      tenantId ?? null,
    ])
  if (by !== undefined) await recordIn(run, dialect, keyCreated(made, by))
  return made
}

/** The creator's row is locked, so that its rights cannot change before the child exists. */
const createChildOn = (
  engine: Engine,
  child: Parameters<KeyStore['createChild']>[0],
): Promise<Key | undefined> =>
  engine.transaction('control', async (run) => {
    const { dialect } = engine
    const maker = await lockLine(run, dialect, child.parentId)
    const now = await clockIn(run, dialect)
    if (maker === undefined || !maker.canManage || !isEnabled(maker, monthOf(now))) return undefined
    return insertOnce(run, dialect, child)
  })

export const keyStore = (engine: Engine): KeyStore => {
  const { dialect } = engine
  const find = async (column: 'id' | 'hash', value: string): Promise<Key | undefined> => {
    const [row] = await once(
      engine,
      'control',
      statement(`select * from api_key where ${column} = $1`, value),
    )
    return row === undefined ? undefined : keyOf(row)
  }
  return {
    createKey: (key, by, note) =>
      engine.transaction(
        'control',
        (run) => insertOnce(run, dialect, key, by, note),
        key.replaces === undefined ? undefined : REPLACE_MS,
      ),
    createKeys: (keys, by) =>
      engine.transaction(
        'control',
        async (run) => {
          const taken = await lockReferences(run, dialect, keys)
          if (taken !== undefined) return taken
          const made: Key[] = []
          for (const { key, note } of keys) made.push(await insertOnce(run, dialect, key, by, note))
          return made
        },
        MANY_MS,
      ),
    createChild: (child) => createChildOn(engine, child),
    key: (id) => find('id', id),
    keyByHash: (hash) => find('hash', hash),
    ...rehashing(engine),
    list: async (query = {}) => (await once(engine, 'control', listed(query))).map(keyOf),
    countBelow: async (id) => {
      const text = `select cast(count(*) as bigint) as keys from key_line n join api_key k on k.id = n.key_id
        where n.owner_id = $1 and n.depth > 0 and k.deleted = 0`
      return countOf(onlyRow(await once(engine, 'control', statement(text, id))), 'keys')
    },
    leastRpm: async (ids) => {
      const rows = await once(
        engine,
        'control',
        statement(
          `select n.key_id, min(k.rpm) as rpm from key_line n join api_key k on k.id = n.owner_id
           where n.key_id in (select e.value->>'k' from ${dialect.each('$1')} e) and k.rpm is not null group by n.key_id`,
          JSON.stringify(ids.map((k) => ({ k }))),
        ),
      )
      return new Map(rows.map((row) => [textOf(row, 'key_id'), countOf(row, 'rpm')]))
    },
    changeKey: (id, wish, by) =>
      changeOn(
        engine,
        id,
        async (run, before, month) => {
          const key = changedKey(before, wish, month)
          const along = await alongWith(run, dialect, before, wish)
          const followed = await followLimits(run, dialect, { key, wish, month })
          return { key, below: [...along, ...followed] }
        },
        by,
      ),
    deleteKey: (id, withChildren = false, by = undefined) =>
      changeOn(
        engine,
        id,
        async (run, before) => ({
          key: { ...before, deleted: true, version: before.version + 1 },
          below: withChildren ? await deleteBelow(run, dialect, id) : [],
        }),
        by,
      ),
    spend: (id) => spendOf(engine, id),
    left: (id) => leftOf(engine, id),
    usage: (query) => usageOf(engine, query),
  }
}
