/** Keys: made, read, changed, deleted. Every change raises the version, which fences caches. */
import { monthOf } from '../core/time.ts'
import { lifetimeScope, monthScope } from '../ledger/scopes.ts'
import type { Key, KeyId, Limits } from '../tenancy/key.ts'
import { type Engine, once, type Row, type Run, statement, type Value } from './engine.ts'
import { fenceLeasesOf } from './fence.ts'
import { changedKey, keyOf } from './key-row.ts'
import { countOf, onlyRow } from './row.ts'
import type { NewKey, TenancyStore } from './tenancy-port.ts'

type KeyStore = Pick<TenancyStore, 'createKey' | 'keyByHash' | 'key' | 'keys' | 'changeKey' | 'deleteKey'>

const MOST_LISTED = 1000

const limitColumns = ['spend_cap', 'monthly_cap', 'stop_at', 'rpm', 'rph', 'rpd', 'tpm']
const limitValues = (limits: Limits): readonly Value[] => [
  limits.spendCap ?? null,
  limits.monthlyCap ?? null,
  limits.stopAt ?? null,
  limits.rpm ?? null,
  limits.rph ?? null,
  limits.rpd ?? null,
  limits.tpm ?? null,
]
const grantedColumns = limitColumns.map((column) => `granted_${column}`)
/** `$n` for each limit, from `first` on. */
const limitParams = (first: number): readonly string[] => limitColumns.map((_column, at) => `$${first + at}`)
const assigned = (columns: readonly string[], first: number): string =>
  columns.map((column, at) => `${column} = $${first + at}`).join(', ')

/** A key can only be bound to a sub-wallet that exists, of its own wallet. */
const checkSub = async (run: Run, { id, subWallet, walletId }: NewKey): Promise<void> => {
  if (subWallet === undefined) return
  const [row] = await run('select wallet_id from sub_wallet where id = $1 and deleted_at is null', [
    subWallet,
  ])
  if (row?.wallet_id !== walletId)
    throw new Error(`wallet ${walletId} has no sub-wallet ${subWallet} for key ${id}`)
}

/** The makers of a new key, nearest first; the maker must pay from the same wallet. */
const makersOf = async (run: Run, key: NewKey): Promise<readonly KeyId[]> => {
  if (key.parentId === undefined) return []
  const [row] = await run('select * from api_key where id = $1', [key.parentId])
  if (row === undefined) throw new Error(`there is no key ${key.parentId} to be the parent of ${key.id}`)
  const parent = keyOf(row)
  if (parent.walletId !== key.walletId)
    throw new Error(`key ${key.id} must use the wallet of its parent ${parent.id}`)
  return [parent.id, ...parent.ancestors]
}

/** Inserts a key that is not there, in the caller's transaction. */
export const insertKey = async (run: Run, now: string, key: NewKey): Promise<void> => {
  const makers = await makersOf(run, key)
  await checkSub(run, key)
  const limits = limitValues(key.limits)
  await run(
    `insert into api_key (id, hash, org_id, wallet_id, parent_id, ancestors, sub_id, label, prefix,
       trial_until, ${limitColumns}, ${grantedColumns}, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${limitParams(11)}, ${limitParams(11)}, ${now}, ${now})`,
    [
      key.id,
      key.hash,
      key.orgId,
      key.walletId,
      key.parentId ?? null,
      JSON.stringify(makers),
      key.subWallet ?? null,
      key.label,
      key.prefix,
      key.trialUntil ?? null,
      ...limits,
    ],
  )
  for (const [depth, owner] of [key.id, ...makers].entries()) {
    await run('insert into key_line (key_id, owner_id, depth) values ($1, $2, $3)', [key.id, owner, depth])
  }
}

/**
 * Brings the caps' counters to the key's new limits. A cap that falls under what is already used and held tolerates
 * that much; see the schema.
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

/** Switched off by a person or deleted, not by a cap. */
const isRevoked = ({ deleted, disabledReason }: Key): boolean =>
  deleted || disabledReason === 'self' || disabledReason === 'operator'

const write = (run: Run, now: string, key: Key): Promise<readonly Row[]> =>
  run(
    `update api_key set disabled_reason = $2, disabled_month = $3, label = $4, version = $5, deleted = $6,
       ${assigned(limitColumns, 7)}, ${assigned(grantedColumns, 7 + limitColumns.length)}, changed_at = ${now}
     where id = $1`,
    [
      key.id,
      key.disabledReason ?? null,
      key.disabledMonth ?? null,
      key.label,
      key.version,
      key.deleted ? 1 : 0,
      ...limitValues(key.limits),
      ...limitValues(key.granted),
    ],
  )

export const keyStore = (engine: Engine): KeyStore => {
  const { now, lock } = engine.words
  const find = async (column: 'id' | 'hash', value: string): Promise<Key | undefined> => {
    const [row] = await once(
      engine,
      'control',
      statement(`select * from api_key where ${column} = $1`, value),
    )
    return row === undefined ? undefined : keyOf(row)
  }
  /** Changes a locked key and tells the database's time after the commit. */
  const change = async (
    id: KeyId,
    alter: (key: Key, month: string) => Key,
  ): Promise<{ key: Key; at: number } | undefined> => {
    const key = await engine.transaction('control', async (run) => {
      const [row] = await run(`select k.*, ${now} as now from api_key k where k.id = $1${lock('k')}`, [id])
      if (row === undefined || keyOf(row).deleted) return undefined
      const month = monthOf(countOf(row, 'now'))
      const next = alter(keyOf(row), month)
      await write(run, now, next)
      if (isRevoked(next) && !isRevoked(keyOf(row))) await fenceLeasesOf(run, engine.words, id)
      await setCaps(run, next, month, lock('b'))
      return next
    })
    if (key === undefined) return undefined
    return {
      key,
      at: countOf(onlyRow(await once(engine, 'control', statement(`select ${now} as now`))), 'now'),
    }
  }
  return {
    createKey: (key) =>
      engine.transaction('control', async (run) => {
        const read = () => run('select * from api_key where id = $1', [key.id])
        if ((await read()).length === 0) await insertKey(run, now, key)
        return keyOf(onlyRow(await read()))
      }),
    key: (id) => find('id', id),
    keyByHash: (hash) => find('hash', hash),
    keys: async (of) => {
      const rows = await once(
        engine,
        'control',
        statement(
          `select * from api_key where deleted = 0 and ($1 = '' or parent_id = $1)
           order by created_at desc, id desc limit ${MOST_LISTED}`,
          of?.parentId ?? '',
        ),
      )
      return rows.map(keyOf)
    },
    changeKey: (id, wish) => change(id, (key, month) => changedKey(key, wish, month)),
    deleteKey: async (id) => {
      const done = await change(id, (key) => ({ ...key, deleted: true, version: key.version + 1 }))
      return done === undefined ? undefined : { at: done.at }
    },
  }
}
