/** The control plane's part of the store: wallets, keys, what they spent, reports, settings. */
import { monthOf } from '../core/time.ts'
import { lifetimeScope, monthScope } from '../ledger/scopes.ts'
import { PAYMENTS_ORG } from '../ledger/words.ts'
import { type Engine, once, type Row, statement } from './engine.ts'
import { keyStore } from './key-store.ts'
import { leftOf } from './left-store.ts'
import { countOf, nanoOf, onlyRow, textOf } from './row.ts'
import type { KeySpend, TenancyStore, Wallet } from './tenancy-port.ts'
import { usageOf } from './usage-report.ts'

const wallets = `select a.id, a.org_id, a.name,
    a.balance - coalesce((select cast(sum(l.used) as bigint) from lease l where l.wallet_id = a.id and l.state <> 'closed'), 0) as balance,
    coalesce((select cast(sum(f.hold) as bigint) from lease l join inflight f on f.lease_id = l.id
      where l.wallet_id = a.id and l.state <> 'closed'), 0) as held
  from account a where a.bounded = 1 and not exists (select 1 from credit_line c where c.account_id = a.id)`

const walletOf = (row: Row): Wallet => ({
  id: textOf(row, 'id'),
  orgId: textOf(row, 'org_id'),
  name: textOf(row, 'name'),
  balance: nanoOf(row, 'balance'),
  held: nanoOf(row, 'held'),
})

/** Folded and unfolded use of two scopes of a key, what open calls hold of them, and how many calls were charged. */
const spendOf = async (engine: Engine, id: string): Promise<KeySpend> => {
  const now = countOf(
    onlyRow(await once(engine, 'control', statement(`select ${engine.words.now} as now`))),
    'now',
  )
  const sums = (scope: string) =>
    statement(
      `select coalesce(cast(sum(x.used) as bigint), 0) as used, coalesce(cast(sum(x.calls) as bigint), 0) as calls,
         coalesce(cast(sum(x.held) as bigint), 0) as held
       from (select b.used, b.calls, 0 as held from budget b where b.scope = $1
         union all select l.used, l.calls,
           coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)
         from lease l join lease_scope s on s.lease_id = l.id
         where s.scope = $1 and l.state <> 'closed' and l.key_id in (select n.key_id from key_line n where n.owner_id = $2)) x`,
      scope,
      id,
    )
  const [whole = [], month = []] = await engine.batch('control', [
    sums(lifetimeScope(id)),
    sums(monthScope(id, monthOf(now))),
  ])
  const all = onlyRow(whole)
  return {
    spent: nanoOf(all, 'used'),
    spentThisMonth: nanoOf(onlyRow(month), 'used'),
    held: nanoOf(all, 'held'),
    requests: countOf(all, 'calls'),
  }
}

export const tenancyStore = (engine: Engine): TenancyStore => {
  const { now } = engine.words
  const wallet = async (id: string): Promise<Wallet | undefined> => {
    const [row] = await once(engine, 'control', statement(`${wallets} and a.id = $1`, id))
    return row === undefined ? undefined : walletOf(row)
  }
  return {
    ...keyStore(engine),
    createWallet: async ({ id, orgId, name }) => {
      const [, rows = []] = await engine.batch('control', [
        statement(
          `insert into account (id, bounded, org_id, name, created_at) values ($1, 1, $2, $3, ${now}) on conflict (id) do nothing`,
          id,
          orgId,
          name,
        ),
        statement(`${wallets} and a.id = $1`, id),
      ])
      return walletOf(onlyRow(rows))
    },
    wallet,
    wallets: async () =>
      (
        await once(engine, 'control', statement(`${wallets} and a.org_id <> $1 order by a.id`, PAYMENTS_ORG))
      ).map(walletOf),
    spend: (id) => spendOf(engine, id),
    left: (id) => leftOf(engine, id),
    usage: (query) => usageOf(engine, query),
    setting: async (name, make) => {
      const read = () => once(engine, 'control', statement('select value from setting where name = $1', name))
      const [found] = await read()
      if (found !== undefined) return textOf(found, 'value')
      await once(
        engine,
        'control',
        statement(
          'insert into setting (name, value) values ($1, $2) on conflict (name) do nothing',
          name,
          make(),
        ),
      )
      return textOf(onlyRow(await read()), 'value')
    },
  }
}
