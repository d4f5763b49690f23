/** New keys: checked against their creators and their sub-wallet, and inserted with their event in one transaction. */
import { monthOf } from '../../core/time.ts'
import { isEnabled, type Key, type KeyId } from '../../tenancy/key.ts'
import { clockIn } from '../engine/clock.ts'
import { type Engine, type Run, type SqlDialect, Violation } from '../engine/engine.ts'
import { onlyRow, textOf } from '../engine/row.ts'
import { mustBeHere } from '../faults.ts'
import type { Actor } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { bring } from './brought.ts'
import { keyCreated } from './key-events.ts'
import {
  aliasesText,
  grantedColumns,
  guardrailsText,
  keyOf,
  limitColumns,
  limitValues,
  tagsText,
} from './key-row.ts'
import { lockReplaced, putAbove, takePlace } from './replace-key.ts'
import type { KeyMade, KeyNote, KeyStore, NewKey, ReferenceTaken } from './tenancy-port.ts'

/**
 * Locks a key and all keys above it, so that none of them is disabled or deleted with its children meanwhile; returns
 * the key itself.
 */
const lockLine = async (run: Run, dialect: SqlDialect, id: KeyId): Promise<Key | undefined> => {
  const rows = await run(
    `select k.* from api_key k join key_line n on n.owner_id = k.id where n.key_id = $1 order by k.id${dialect.lock('k')}`,
    [id],
  )
  return rows.map(keyOf).find((key) => key.id === id)
}

/**
 * A key can only be bound to an existing sub-wallet of its own wallet; one that takes the place of another also to that
 * one's, which may be deleted by now and then lends nothing.
 */
const checkSub = async (run: Run, { id, walletId, replaces }: NewKey, sub: string): Promise<void> => {
  const [row] = await run(
    `select s.wallet_id from sub_wallet s where s.id = $1
       and (s.deleted_at is null or s.id = (select k.sub_id from api_key k where k.id = $2))`,
    [sub, replaces ?? ''],
  )
  if (row?.wallet_id !== walletId)
    throw new Error(`wallet ${walletId} has no sub-wallet ${sub} for key ${id}`)
}

/**
 * The creator of a new key, which must pay from the same wallet. One that was deleted makes no more keys, but those that
 * it made are replaced as before.
 */
const makerOf = async (run: Run, dialect: SqlDialect, key: NewKey): Promise<Key | undefined> => {
  if (key.parentId === undefined) return undefined
  const parent = await lockLine(run, dialect, key.parentId)
  if (parent === undefined || (parent.deleted && key.replaces === undefined))
    throw new Error(`there is no key ${key.parentId} to be the parent of ${key.id}`)
  if (parent.walletId !== key.walletId)
    throw new Error(`key ${key.id} must use the wallet of its parent ${parent.id}`)
  if (parent.subWallet !== undefined && (key.subWallet ?? parent.subWallet) !== parent.subWallet)
    throw new Error(`key ${key.id} must use the sub-wallet of its parent ${parent.id}`)
  return parent
}

/**
 * Whether it is the first key that speaks for its whole wallet. Of two made at the same time, only one is the first.
 */
const isFirst = async (run: Run, dialect: SqlDialect, { walletId }: NewKey): Promise<boolean> => {
  await run(`select a.id from account a where a.id = $1${dialect.lock('a')}`, [walletId])
  const others = await run(
    'select id from api_key where wallet_id = $1 and deleted = 0 and parent_id is null and sub_id is null limit 1',
    [walletId],
  )
  return others.length === 0
}

type Noted = { readonly key: NewKey; readonly note: { readonly reference?: string } }

/**
 * Locks the wallets of new keys, so that nobody else makes keys with the same references meanwhile. Returns the first one
 * that is taken.
 */
export const lockReferences = async (
  run: Run,
  dialect: SqlDialect,
  keys: readonly Noted[],
): Promise<ReferenceTaken | undefined> => {
  for (const walletId of new Set(keys.map(({ key }) => key.walletId)))
    await run(`select a.id from account a where a.id = $1${dialect.lock('a')}`, [walletId])
  for (const { key, note } of keys) {
    if (note.reference === undefined) continue
    const [found] = await run(
      `select k.label from key_note o join api_key k on k.id = o.key_id
       where o.reference = $1 and k.org_id = $2 and k.deleted = 0 and k.id <> $3 limit 1`,
      [note.reference, key.orgId, key.id],
    )
    if (found !== undefined) return { reference: note.reference, label: textOf(found, 'label') }
  }
  return undefined
}

/** Inserts a key that does not exist yet. A key below one that is bound to a sub-wallet is bound to it as well. */
export const insertKey = async (run: Run, dialect: SqlDialect, key: NewKey): Promise<void> => {
  const [wallet = {}] = await run('select cell from account where id = $1', [key.walletId])
  mustBeHere(wallet, key.walletId)
  const maker = await makerOf(run, dialect, key)
  const makers = maker === undefined ? [] : [maker.id, ...maker.above]
  const parents = maker === undefined ? [] : [maker.id, ...maker.ancestors]
  const sub = key.subWallet ?? maker?.subWallet
  if (sub !== undefined) await checkSub(run, key, sub)
  const ofAccount = maker === undefined && sub === undefined && key.trialUntil === undefined
  const canManage = key.canManage ?? (ofAccount && (await isFirst(run, dialect, key)))
  const limits = limitColumns.map((_column, at) => `$${13 + at}`)
  await run(
    `insert into api_key (id, hash, hashed_by, org_id, wallet_id, parent_id, ancestors, sub_id, label, prefix,
       trial_until, can_manage, ${limitColumns}, ${grantedColumns}, aliases, parents, tags, guardrails, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${limits}, ${limits},
       $${13 + limits.length}, $${14 + limits.length}, $${15 + limits.length}, $${16 + limits.length}, ${dialect.now}, ${dialect.now})`,
    [
      key.id,
      key.hash,
      key.hashedBy ?? null,
      key.orgId,
      key.walletId,
      key.parentId ?? null,
      JSON.stringify(makers),
      sub ?? null,
      key.label,
      key.prefix,
      key.trialUntil ?? null,
      canManage ? 1 : 0,
      ...limitValues(key.limits),
      aliasesText(key.aliases),
      parents.length === makers.length ? null : JSON.stringify(parents),
      tagsText(key.tags),
      guardrailsText(key.guardrails),
    ],
  )
  for (const [depth, owner] of [key.id, ...makers].entries()) {
    await run('insert into key_line (key_id, owner_id, depth) values ($1, $2, $3)', [key.id, owner, depth])
  }
}

/** Two that make a key of one id at the same moment: the second finds it in a transaction that begins later. */
export const findingOther = async <T>(make: () => Promise<T>): Promise<T> => {
  try {
    return await make()
  } catch (fault) {
    if (fault instanceof Violation && fault.constraint.includes('api_key')) return make()
    throw fault
  }
}

/** A key that already exists stays as it is. */
export const insertOnce = async (
  run: Run,
  dialect: SqlDialect,
  key: NewKey,
  by: Actor,
  { madeBy, reference, tenantId }: KeyNote = {},
): Promise<KeyMade> => {
  const read = () => run('select * from api_key where id = $1', [key.id])
  const [found] = await read()
  if (found !== undefined) return { ...keyOf(found), found: true }
  const { id, replaces: old } = key
  const newest = old === undefined ? undefined : await lockReplaced(run, dialect, old)
  await insertKey(run, dialect, key)
  if (old !== undefined && newest !== undefined) await takePlace(run, { old, newest, made: id })
  const made = keyOf(onlyRow(await read()))
  if (key.brought !== undefined) await bring(run, dialect, made, key.brought)
  if (newest !== undefined) await putAbove(run, dialect, newest, made)
  if (madeBy !== undefined || reference !== undefined)
    await run('insert into key_note (key_id, made_by, reference, tenant_id) values ($1, $2, $3, $4)', [
      key.id,
      madeBy ?? null,
      reference ?? null,
      tenantId ?? null,
    ])
  await recordIn(run, dialect, keyCreated(made, by, key.brought))
  return made
}

/** The creator's row is locked, so that its rights cannot change before the child exists. */
export const createChildOn = (
  engine: Engine,
  child: Parameters<KeyStore['createChild']>[0],
  by: Actor,
): Promise<KeyMade | undefined> =>
  engine.transaction('control', async (run) => {
    const { dialect } = engine
    const maker = await lockLine(run, dialect, child.parentId)
    const now = await clockIn(run, dialect)
    if (maker === undefined || !maker.canManage || !isEnabled(maker, monthOf(now))) return undefined
    return insertOnce(run, dialect, child, by)
  })
