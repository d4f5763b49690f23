/** Keys that organisations have at vendors themselves. Each change also changes the rules of the organisation's wallets. */
import type { JsonObject } from '../../core/json-body.ts'
import type { OwnKeys } from '../../tenancy/own-keys.ts'
import { knownRulesOf } from '../accounts/wallet-rules-row.ts'
import { lockRules, writeRules } from '../accounts/wallet-rules-store.ts'
import { clockOf } from '../engine/clock.ts'
import { integer, rowsOf, text, truth } from '../engine/columns.ts'
import { type Engine, once, type Run, type SqlDialect, statement } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import type { Actor } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import type { NewOwnKey, OwnKey, OwnKeyStore } from './own-key-port.ts'

/** How many an organisation may have at one vendor. */
const MOST = 16

const ownKeys = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  vendor: text('vendor'),
  lastFour: text('last_four'),
  place: integer('place'),
  enabled: truth('enabled'),
  addedBy: text('added_by'),
  createdAt: integer('created_at'),
})

const sealedKeys = rowsOf({ id: text('id'), vendor: text('vendor'), sealed: text('sealed') })
const dataKeys = rowsOf({ orgId: text('org_id'), master: text('master'), wrapped: text('wrapped') })

const IN_ORDER = 'select k.* from own_key k where k.org_id = $1 order by k.vendor, k.place, k.id'

const keysIn = async (run: Run, orgId: string): Promise<readonly OwnKey[]> =>
  (await run(IN_ORDER, [orgId])).map(ownKeys.read)

/** What processes know of them. */
const toldOf = (keys: readonly OwnKey[], falls: ReadonlySet<string>): OwnKeys => {
  const told: Record<string, { keys: string[]; fallBack?: true }> = {}
  for (const { id, vendor, enabled } of keys) {
    told[vendor] ??= falls.has(vendor) ? { keys: [], fallBack: true } : { keys: [] }
    if (enabled) told[vendor].keys.push(id)
  }
  return told
}

const fallsIn = (rules: { readonly ownKeys?: OwnKeys }): ReadonlySet<string> =>
  new Set(Object.entries(rules.ownKeys ?? {}).flatMap(([vendor, at]) => (at.fallBack ? [vendor] : [])))

const lockDataKey = (run: Run, { lock }: SqlDialect, orgId: string) =>
  run(`select d.org_id from own_data_key d where d.org_id = $1${lock('d')}`, [orgId])

/** Locks the rules of the organisation's wallets, in order: changes of its keys come one after the other. */
const lockWallets = async (run: Run, dialect: SqlDialect, orgId: string) => {
  // Whoever makes a wallet of the organisation waits for this as well.
  await lockDataKey(run, dialect, orgId)
  const wallets = await run(
    `select a.id from account a where a.org_id = $1 and a.bounded = 1
       and not exists (select 1 from credit_line c where c.account_id = a.id) order by a.created_at, a.id`,
    [orgId],
  )
  const rows = []
  for (const wallet of wallets) rows.push(await lockRules(run, dialect, textOf(wallet, 'id')))
  return rows
}

const writeAll = async (
  run: Run,
  dialect: SqlDialect,
  rows: Awaited<ReturnType<typeof lockWallets>>,
  told: OwnKeys,
): Promise<void> => {
  const none = Object.keys(told).length === 0
  for (const row of rows) {
    const { walletId, rules, version } = knownRulesOf(row)
    const { ownKeys: before, ...others } = rules
    if (Bun.deepEquals(before ?? {}, told)) continue
    const now = none ? others : { ...others, ownKeys: told }
    await writeRules(run, dialect, row, { walletId, rules: now, version: version + 1 })
  }
}

/** A wallet that the organisation gets has its keys as well. */
export const tellOwnKeys = async (run: Run, dialect: SqlDialect, orgId: string): Promise<void> => {
  if ((await lockDataKey(run, dialect, orgId)).length === 0) return
  const rows = await lockWallets(run, dialect, orgId)
  const keys = await keysIn(run, orgId)
  const falls = rows.flatMap((row) => [...fallsIn(knownRulesOf(row).rules)])
  await writeAll(run, dialect, rows, toldOf(keys, new Set(falls)))
}

type Told = {
  readonly what: string
  readonly subject: string
  readonly before?: JsonObject
  readonly after?: JsonObject
}

/** Does the work under the lock, tells every process by the rules, and records it. Undefined if it changed nothing. */
const changing = async <Done>(
  engine: Engine,
  orgId: string,
  by: Actor,
  work: (run: Run, keys: readonly OwnKey[], falls: Set<string>) => Promise<Told | { readonly refused: Done }>,
) => {
  const refused = await engine.transaction('control', async (run) => {
    const { dialect } = engine
    const rows = await lockWallets(run, dialect, orgId)
    const falls = new Set(rows.flatMap((row) => [...fallsIn(knownRulesOf(row).rules)]))
    const told = await work(run, await keysIn(run, orgId), falls)
    if ('refused' in told) return told
    await writeAll(run, dialect, rows, toldOf(await keysIn(run, orgId), falls))
    await recordIn(run, dialect, { actor: by, orgId, ...told })
    return undefined
  })
  return refused === undefined ? { at: await clockOf(engine) } : refused.refused
}

const gone = { refused: undefined }

const shownAs = ({ vendor, lastFour }: Pick<OwnKey, 'vendor' | 'lastFour'>): JsonObject => ({
  vendor,
  key: `…${lastFour}`,
})

const add = (engine: Engine, key: NewOwnKey, by: Actor) =>
  changing<'too_many' | undefined>(engine, key.orgId, by, async (run, keys) => {
    const { id, orgId, vendor, sealed, lastFour, instead } = key
    const others = keys.filter((one) => one.vendor === vendor)
    const was = others.find((one) => one.id === instead)
    if (instead !== undefined && was === undefined) return gone
    if (was !== undefined) await run('delete from own_key where id = $1', [was.id])
    else if (others.length >= MOST) return { refused: 'too_many' as const }
    const place = was?.place ?? (others.at(-1)?.place ?? 0) + 1
    await run(
      `insert into own_key (id, org_id, vendor, sealed, last_four, place, enabled, added_by, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, ${engine.dialect.now})`,
      [id, orgId, vendor, sealed, lastFour, place, was?.enabled === false ? 0 : 1, by.name],
    )
    return {
      what: was === undefined ? 'own_key.added' : 'own_key.rotated',
      subject: id,
      ...(was === undefined ? {} : { before: { id: was.id, ...shownAs(was) } }),
      after: shownAs(key),
    }
  })

const change = (
  engine: Engine,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { enabled, place, fallBack }: Parameters<OwnKeyStore['change']>[1],
  by: Actor,
) =>
  changing(engine, orgId, by, async (run, keys, falls) => {
    const was = keys.find((one) => one.id === id)
    if (was === undefined) return gone
    const fell = falls.has(was.vendor)
    if (fallBack === true) falls.add(was.vendor)
    if (fallBack === false) falls.delete(was.vendor)
    const own = keys.filter((one) => one.vendor === was.vendor)
    const at = own.indexOf(was)
    if (enabled !== undefined)
      await run('update own_key set enabled = $2 where id = $1', [id, enabled ? 1 : 0])
    if (place !== undefined) {
      const order = own.filter((one) => one !== was)
      order.splice(place - 1, 0, was)
      for (const [index, one] of order.entries())
        await run('update own_key set place = $2 where id = $1', [one.id, index + 1])
    }
    return {
      what: 'own_key.changed',
      subject: id,
      before: { ...shownAs(was), enabled: was.enabled, place: at + 1, fall_back: fell },
      after: {
        ...shownAs(was),
        enabled: enabled ?? was.enabled,
        place: Math.min(place ?? at + 1, own.length),
        fall_back: fallBack ?? fell,
      },
    }
  })

export const ownKeyStore = (engine: Engine): OwnKeyStore => ({
  list: async (orgId) => (await once(engine, 'control', IN_ORDER, orgId)).map(ownKeys.read),
  sealed: async (orgId, vendor) => {
    const its = statement('select * from own_key where org_id = $1 and vendor = $2', orgId, vendor)
    return (await once(engine, 'control', its)).map(sealedKeys.read)
  },
  add: (key, by) => add(engine, key, by),
  change: (key, wanted, by) => change(engine, key, wanted, by),
  remove: ({ orgId, id }, by) =>
    changing(engine, orgId, by, async (run, keys) => {
      const was = keys.find((one) => one.id === id)
      if (was === undefined) return gone
      await run('delete from own_key where id = $1', [id])
      return { what: 'own_key.removed', subject: id, before: shownAs(was) }
    }),
  falls: async (orgId) => {
    const its = statement(
      'select r.* from wallet_rules r join account a on a.id = r.wallet_id where a.org_id = $1',
      orgId,
    )
    const told = (await once(engine, 'control', its)).flatMap((row) => [...fallsIn(knownRulesOf(row).rules)])
    return new Set(told)
  },
  dataKey: async (orgId) => {
    const [row] = await once(engine, 'control', 'select * from own_data_key where org_id = $1', orgId)
    return row === undefined ? undefined : dataKeys.read(row)
  },
  firstDataKey: ({ orgId, master, wrapped }) =>
    engine.transaction('control', async (run) => {
      await run(
        `insert into own_data_key (org_id, master, wrapped, created_at) values ($1, $2, $3, ${engine.dialect.now})
         on conflict (org_id) do nothing`,
        [orgId, master, wrapped],
      )
      return dataKeys.read(onlyRow(await run('select * from own_data_key where org_id = $1', [orgId])))
    }),
  wrappedOtherwise: (master, most) =>
    engine.transaction('control', async (run) => {
      const counted = onlyRow(
        await run('select cast(count(*) as bigint) as count from own_data_key where master <> $1', [master]),
      )
      const rows = await run('select * from own_data_key where master <> $1 order by org_id limit $2', [
        master,
        most,
      ])
      return { count: countOf(counted, 'count'), keys: rows.map(dataKeys.read) }
    }),
  rewrap: (before, after) =>
    engine.transaction('control', async (run) => {
      await run('update own_data_key set master = $3, wrapped = $4 where org_id = $1 and wrapped = $2', [
        before.orgId,
        before.wrapped,
        after.master,
        after.wrapped,
      ])
    }),
})
