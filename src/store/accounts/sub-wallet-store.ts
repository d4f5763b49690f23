/** Sub-wallets: made, read, changed, deleted. What is spent and held in one is its counter in `budget`. */

import { decimalFromNano } from '../../core/money.ts'
import { subScope } from '../../ledger/scopes.ts'
import type { Key } from '../../tenancy/key.ts'
import { clockOf } from '../engine/clock.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Run, type Value } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { heldOnLeases, usedOnLeases } from '../ledger/sums.ts'
import { type Actor, type NewEvent, theHouse } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import {
  type NewSubWallet,
  SUB_WALLETS_MOST,
  type SubViewer,
  type SubWallet,
  type SubWalletNews,
  type SubWalletStore,
} from './sub-wallet-port.ts'

/** How many one child key may make, so that a tenant does not use up its reseller's share. */
const MOST_OF_CHILD = 100

/** `$1` is the wallet, `$2` the sub-wallet that a key is bound to, `$3` the key; both are empty if there is none. */
const params = ({ id, walletId, subWallet }: SubViewer): readonly Value[] => [
  walletId,
  subWallet ?? '',
  id ?? '',
]

/** All values of a rotated key are one maker. */
const placeOf = (key: string): string => `(select coalesce(p.place, p.id) from api_key p where p.id = ${key})`

/** Whether some key in the line of one is in the place of another. */
const inLineOf = (key: string, other: string): string =>
  `exists (select 1 from key_line n join api_key o on o.id = n.owner_id
     where n.key_id = ${key} and coalesce(o.place, o.id) = ${placeOf(other)})`

const ofAccount = `(s.maker_id is null and exists (select 1 from api_key a where a.id = $3 and a.parent_id is null))`

const here = 's.deleted_at is null and s.wallet_id = $1'
const ofTeam = 'exists (select 1 from team t where t.id = s.id)'

/** Sub-wallets `s` that calls of the key may name. That of a team serves only keys that are bound to it. */
const serving = `${here} and case when $2 <> '' then s.id = $2
    else (${ofAccount} or ${inLineOf('$3', 's.maker_id')}) and not ${ofTeam} end`
/** Those that the viewer may change. */
const governed = `${here} and case when $2 <> '' then false when $3 = '' then true
    else ${ofAccount} or ${inLineOf('s.maker_id', '$3')} end`
const visible = `((${serving}) or (${governed}))`

/** The columns of a sub-wallet `s` with its counter `b`. */
export const subColumns = `s.id, s.label, s.created_at, coalesce(b.lim, 0) as budget,
  b.used + ${usedOnLeases('l.sub_id = s.id')} as spent, ${heldOnLeases('l.sub_id = s.id')} as held`

const subsWhere = (where: string): string =>
  `select ${subColumns} from sub_wallet s join budget b on b.scope = 'sub:' || s.id where ${where}`

export const subRow = {
  id: text('id'),
  label: text('label'),
  budget: nano('budget'),
  spent: nano('spent'),
  held: nano('held'),
  createdAt: integer('created_at'),
}
const subs = rowsOf(subRow)

/** Whether calls of the key may name the sub-wallet. */
export const mayUseSub = async (run: Run, key: Key, id: string): Promise<boolean> =>
  (await run(`select s.id from sub_wallet s where s.id = $4 and ${serving}`, [...params(key), id])).length > 0

/** Those changed since `$1`, as they are; what is deleted has no ceiling. */
export const changedSubs = `select s.*, b.lim from sub_wallet s join budget b on b.scope = 'sub:' || s.id
  where s.changed_at > $1 order by s.changed_at`

export const subNewsOf = (row: Row): SubWalletNews => ({
  id: textOf(row, 'id'),
  walletId: textOf(row, 'wallet_id'),
  label: textOf(row, 'label'),
  budget: row.deleted_at === null ? nanoOf(row, 'lim') : undefined,
  version: countOf(row, 'version'),
})

/** Whether the creator already has as many as it may have: a child counts its own, an account's keys count together. */
const hasAll = async (run: Run, { id, walletId, makerId = '' }: NewSubWallet): Promise<boolean> => {
  const [maker] = await run('select id from api_key where id = $1 and parent_id is not null', [makerId])
  const counted = `select cast(count(*) as bigint) as subs from sub_wallet s left join api_key k on k.id = s.maker_id
    where s.wallet_id = $1 and s.deleted_at is null and s.id <> $2`
  const rows =
    maker === undefined
      ? await run(`${counted} and k.parent_id is null`, [walletId, id])
      : await run(`${counted} and s.maker_id = $3`, [walletId, id, makerId])
  return countOf(onlyRow(rows), 'subs') >= (maker === undefined ? SUB_WALLETS_MOST : MOST_OF_CHILD)
}

/** Makes one in a transaction; undefined if there are as many as there may be. */
export const insertSub = async (
  { dialect }: Engine,
  run: Run,
  sub: NewSubWallet,
  by: Actor,
): Promise<SubWallet | undefined> => {
  const { id, walletId, makerId, label, budget } = sub
  if (await hasAll(run, sub)) return undefined
  await run(
    `insert into sub_wallet (id, wallet_id, maker_id, label, created_at, changed_at)
       values ($1, $2, $3, $4, ${dialect.now}, ${dialect.now}) on conflict (id) do nothing`,
    [id, walletId, makerId ?? null, label],
  )
  await run(
    `insert into budget (scope, sub_id, wallet_id, lim) values ($1, $2, $3, $4) on conflict (scope) do nothing`,
    [subScope(id), id, walletId, budget],
  )
  const [row] = await run(subsWhere('s.id = $1 and s.wallet_id = $2'), [id, walletId])
  if (row === undefined) throw new Error(`sub-wallet ${id} belongs to another wallet`)
  await recordOfWallet(run, dialect, {
    by,
    walletId,
    what: 'sub_wallet.created',
    subject: id,
    after: { label, budget_usd: decimalFromNano(budget) },
  })
  return subs.read(row)
}

export const subWalletStore = (engine: Engine): SubWalletStore => {
  const { now, lock } = engine.dialect
  const find = async (which: string, viewer: SubViewer, id: string): Promise<SubWallet | undefined> => {
    const [row] = await once(engine, 'control', subsWhere(`${which} and s.id = $4`), ...params(viewer), id)
    return row === undefined ? undefined : subs.read(row)
  }
  /**
   * Changes the row and its ceiling, if the viewer governs it; the new version makes processes give back what they leased.
   */
  const change = async (
    viewer: SubViewer,
    id: string,
    sets: (run: Run) => Promise<unknown>,
    event: Pick<NewEvent, 'what' | 'after'> & { readonly by: NewEvent['actor'] },
  ): Promise<{ at: number } | undefined> => {
    const found = await engine.transaction('control', async (run) => {
      const [row] = await run(`select s.id from sub_wallet s where s.id = $4 and ${governed}${lock('s')}`, [
        ...params(viewer),
        id,
      ])
      if (row === undefined) return false
      await run(`update sub_wallet set version = version + 1, changed_at = ${now} where id = $1`, [id])
      await sets(run)
      await recordOfWallet(run, engine.dialect, { ...event, walletId: viewer.walletId, subject: id })
      return true
    })
    if (!found) return undefined
    return { at: await clockOf(engine) }
  }
  const setCeiling = (run: Run, id: string, limit: bigint): Promise<unknown> =>
    run('update budget set tolerated = used + held, lim = $2 where scope = $1', [subScope(id), limit])
  return {
    createSubWallet: (sub, by) => engine.transaction('control', (run) => insertSub(engine, run, sub, by)),
    list: async (viewer) => {
      const rows = await once(
        engine,
        'control',
        `${subsWhere(visible)} order by s.created_at desc, s.id desc limit ${SUB_WALLETS_MOST}`,
        ...params(viewer),
      )
      return rows.map(subs.read)
    },
    subWallet: (viewer, id) => find(visible, viewer, id),
    serving: (key, id) => find(serving, key, id),
    changeSubWallet: async (viewer, id, { label, budget }, by) => {
      const after = {
        ...(label === undefined ? {} : { label }),
        ...(budget === undefined ? {} : { budget_usd: decimalFromNano(budget) }),
      }
      const done = await change(
        viewer,
        id,
        async (run) => {
          if (label !== undefined) await run('update sub_wallet set label = $2 where id = $1', [id, label])
          if (budget !== undefined) await setCeiling(run, id, budget)
        },
        { by, what: 'sub_wallet.changed', after },
      )
      const sub = done === undefined ? undefined : await find(governed, viewer, id)
      return done === undefined || sub === undefined ? undefined : { sub, at: done.at }
    },
    deleteSubWallet: (viewer, id, by) =>
      change(
        viewer,
        id,
        async (run) => {
          await run(`update sub_wallet set deleted_at = ${now} where id = $1`, [id])
          await setCeiling(run, id, 0n)
        },
        { by, what: 'sub_wallet.deleted' },
      ),
    putBack: ({ id, walletId, label, budget, version }) =>
      engine.transaction('control', async (run) => {
        const [row] = await run(`select s.version from sub_wallet s where s.id = $1${lock('s')}`, [id])
        if (row === undefined || countOf(row, 'version') >= version) return false
        await run(
          `update sub_wallet set label = $2, version = $3, changed_at = ${now},
             deleted_at = case when $4 = 1 then coalesce(deleted_at, ${now}) end where id = $1`,
          [id, label, version, budget === undefined ? 1 : 0],
        )
        await setCeiling(run, id, budget ?? 0n)
        await recordOfWallet(run, engine.dialect, {
          by: theHouse,
          walletId,
          what: 'sub_wallet.changed',
          subject: id,
          after: { label, budget_usd: decimalFromNano(budget ?? 0n) },
        })
        return true
      }),
  }
}
