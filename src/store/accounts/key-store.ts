/**
 * Keys: made, read, changed, deleted. Every change raises the version, which tells caches that they are out of date.
 */
import { type Instant, monthOf } from '../../core/time.ts'
import type { Key, KeyId } from '../../tenancy/key.ts'
import { batched } from '../engine/batched.ts'
import { clockOf } from '../engine/clock.ts'
import {
  binding,
  type Engine,
  once,
  type Row,
  type Run,
  type SqlDialect,
  type Statement,
  statement,
} from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { ChangedSince, mustBeHere } from '../faults.ts'
import { fenceLeasesOf } from '../ledger/fence.ts'
import { type Actor, theHouse } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { blockColumns, reasonBelow } from './key-block.ts'
import { keyChanged } from './key-events.ts'
import { changedKey, keyOf, writeKey } from './key-row.ts'
import { bindBelow, bindingOf, deleteBelow, disableBelow, enableBelow, outdatedBy } from './keys-below.ts'
import { leftOf, spendOf } from './left-store.ts'
import { createChildOn, findingOther, insertOnce, lockReferences } from './new-key.ts'
import { rehashing } from './rehash.ts'
import { limitsOfPlace, lockPlace } from './replace-key.ts'
import { setCaps } from './set-caps.ts'
import type { KeyChange, KeyChanged, KeyQuery, KeyStore } from './tenancy-port.ts'
import { knownRulesOf } from './wallet-rules-row.ts'

const MOST_LISTED = 1000

/** Selects the keys of a query, newest first. */
const listed = ({ below, named, deleted, after, most }: KeyQuery): Statement => {
  const { params, bind } = binding()
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
  { key, wish, at }: { key: Key; wish: KeyChange; at: Instant },
): Promise<readonly Key[]> => {
  const limits = limitsOfPlace(wish)
  if (limits === undefined) return []
  const changed = (await lockPlace(run, dialect, key)).map((one) => changedKey(one, limits, monthOf(at)))
  for (const one of changed) {
    await writeKey(run, dialect.now, one)
    await setCaps(run, dialect, one, at)
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
    : disableBelow(run, dialect, id, blockColumns(reasonBelow(disabledReason), together ?? id))
}

type Altered = { readonly key: Key; readonly below: readonly Key[] }
/** Undefined leaves the key as it is. */
type Alter = (run: Run, before: Key, at: Instant) => Promise<Altered | undefined>

/** Changes a locked key, and returns the database's time after the commit. */
const changeOn = async (
  engine: Engine,
  id: KeyId,
  alter: Alter,
  by: Actor,
): Promise<KeyChanged | undefined> => {
  const { now, lock } = engine.dialect
  const done = await engine.transaction('control', async (run) => {
    const [row] = await run(`select k.*, ${now} as now from api_key k where k.id = $1${lock('k')}`, [id])
    if (row === undefined || keyOf(row).deleted) return undefined
    mustBeHere(row, id)
    const at = countOf(row, 'now')
    const changed = await alter(run, keyOf(row), at)
    if (changed === undefined) return undefined
    await writeKey(run, now, changed.key)
    const over = outdatedBy(keyOf(row), changed)
    if (over.length > 0)
      await fenceLeasesOf(
        run,
        engine.dialect,
        over.map((key) => key.id),
      )
    await setCaps(run, engine.dialect, changed.key, at)
    await recordIn(run, engine.dialect, keyChanged(keyOf(row), changed, by))
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

/** Keys with all above them, each itself first, and the rules of their wallets. */
const callersText = ({ each, oneOf }: SqlDialect): string =>
  `select h.hash as of_hash, k.*, r.rules, r.version as rules_version from api_key h join key_line n on n.key_id = h.id
     join api_key k on k.id = n.owner_id left join wallet_rules r on r.wallet_id = k.wallet_id
   where ${oneOf('h.hash', `select e.value->>'h' from ${each('$1')} e`)} order by n.depth`

type Caller = Awaited<ReturnType<KeyStore['callerByHash']>>

const callerOf = ([own, ...above]: readonly Row[]): Caller => {
  if (own === undefined) return undefined
  const key = keyOf(own)
  const rules =
    own.rules === null
      ? { walletId: key.walletId, rules: {}, version: 0 }
      : knownRulesOf({ ...own, version: own.rules_version })
  return { key, above: above.map(keyOf), rules }
}

/** Many keys that call for the first time at once are looked up together. */
const findingCallers = (engine: Engine): KeyStore['callerByHash'] => {
  const text = callersText(engine.dialect)
  const find = batched<readonly string[], { readonly caller: Caller }>(engine, {
    lane: 'control',
    locks: false,
    statements: (asks) => [statement(text, JSON.stringify(asks.flat().map((h) => ({ h }))))],
    read: ([rows = []], asks) => {
      const byHash = Map.groupBy(rows, (row) => textOf(row, 'of_hash'))
      return asks.map((hashes) => ({ caller: callerOf(hashes.flatMap((hash) => byHash.get(hash) ?? [])) }))
    },
    group: () => '',
    name: (hashes) => hashes.join(),
  })
  return async (...hashes) => (await find(hashes)).caller
}

const keysOn = async (engine: Engine, ids: readonly KeyId[]): Promise<readonly Key[]> => {
  const named = engine.dialect.oneOf('k.id', `select e.value->>'k' from ${engine.dialect.each('$1')} e`)
  const asked = JSON.stringify(ids.map((k) => ({ k })))
  return (await once(engine, 'control', `select k.* from api_key k where ${named}`, asked)).map(keyOf)
}

export const keyStore = (engine: Engine): KeyStore => {
  const { dialect } = engine
  const find = async (column: 'id' | 'hash', ...values: readonly string[]): Promise<Key | undefined> => {
    const places = values.map((_value, at) => `$${at + 1}`).join()
    const [row] = await once(
      engine,
      'control',
      `select * from api_key where ${column} in (${places})`,
      ...values,
    )
    return row === undefined ? undefined : keyOf(row)
  }
  return {
    createKey: (key, by, note) =>
      findingOther(() =>
        engine.transaction(
          'control',
          (run) => insertOnce(run, dialect, key, by, note),
          key.replaces === undefined ? undefined : REPLACE_MS,
        ),
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
    createChild: (child, by) => findingOther(() => createChildOn(engine, child, by)),
    key: (id) => find('id', id),
    keysOf: (ids) => keysOn(engine, ids),
    keyByHash: (...hashes) => find('hash', ...hashes),
    callerByHash: findingCallers(engine),
    ...rehashing(engine),
    list: async (query = {}) => (await once(engine, 'control', listed(query))).map(keyOf),
    countBelow: async (id) => {
      const text = `select cast(count(*) as bigint) as keys from key_line n join api_key k on k.id = n.key_id
        where n.owner_id = $1 and n.depth > 0 and k.deleted = 0`
      return countOf(onlyRow(await once(engine, 'control', text, id)), 'keys')
    },
    leastRpm: async (ids) => {
      const rows = await once(
        engine,
        'control',
        `select n.key_id, min(k.rpm) as rpm from key_line n join api_key k on k.id = n.owner_id
           where n.key_id in (select e.value->>'k' from ${dialect.each('$1')} e) and k.rpm is not null group by n.key_id`,
        JSON.stringify(ids.map((k) => ({ k }))),
      )
      return new Map(rows.map((row) => [textOf(row, 'key_id'), countOf(row, 'rpm')]))
    },
    changeKey: (id, wish, by) =>
      changeOn(
        engine,
        id,
        async (run, before, at) => {
          if (wish.ifVersion !== undefined && wish.ifVersion !== before.version) throw new ChangedSince()
          const subWallet = await bindingOf(run, before, wish.subWallet)
          const key = changedKey(
            before,
            { ...wish, ...(subWallet === undefined ? {} : { subWallet }) },
            monthOf(at),
          )
          const along = await alongWith(run, dialect, before, wish)
          const bound = await bindBelow(run, dialect, before, key.subWallet)
          const followed = await followLimits(run, dialect, { key, wish, at })
          return { key, below: [...along, ...bound, ...followed] }
        },
        by,
      ),
    deleteKey: (id, withChildren, by) =>
      changeOn(
        engine,
        id,
        async (run, before) => ({
          key: { ...before, deleted: true, version: before.version + 1 },
          below: withChildren ? await deleteBelow(run, dialect, id) : [],
        }),
        by,
      ),
    putBack: (key) =>
      changeOn(
        engine,
        key.id,
        async (_run, before) => (before.version >= key.version ? undefined : { key, below: [] }),
        theHouse,
      ),
    spend: (id) => spendOf(engine, id),
    left: (id) => leftOf(engine, id),
  }
}
