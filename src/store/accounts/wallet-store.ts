/** Wallets: made and read. */
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import { onlyRow, textOf } from '../engine/row.ts'
import { heldOnLeases, settledOfAccount } from '../ledger/sums.ts'
import { tellOwnKeys } from '../own-keys/own-key-store.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { Wallet, WalletStore } from './tenancy-port.ts'

const wallets = `select a.id, a.org_id, a.name,
    ${settledOfAccount} as balance, ${heldOnLeases('l.wallet_id = a.id')} as held
  from account a where a.bounded = 1 and not exists (select 1 from credit_line c where c.account_id = a.id)`

const walletRows = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  name: text('name'),
  balance: nano('balance'),
  held: nano('held'),
})

export const walletStore = (engine: Engine): WalletStore => {
  const { now, lock } = engine.dialect
  const wallet = async (id: string): Promise<Wallet | undefined> =>
    (await once(engine, 'control', `${wallets} and a.id = $1`, id)).map(walletRows.read)[0]
  return {
    createWallet: ({ id, orgId, name }, by) =>
      engine.transaction('control', async (run) => {
        const made = await run(
          `insert into account (id, bounded, org_id, name, created_at) values ($1, 1, $2, $3, ${now})
           on conflict (id) do nothing returning id`,
          [id, orgId, name],
        )
        const event = { what: 'wallet.created', subject: id, after: { label: name } }
        if (made.length > 0) {
          await tellOwnKeys(run, engine.dialect, orgId)
          await recordOfWallet(run, engine.dialect, { by, walletId: id, ...event })
        }
        return walletRows.read(onlyRow(await run(`${wallets} and a.id = $1`, [id])))
      }),
    renameWallet: (id, name, by) =>
      engine.transaction('control', async (run) => {
        const [before] = await run(`select a.name from account a where a.id = $1${lock('a')}`, [id])
        if (before === undefined || textOf(before, 'name') === name) return
        await run('update account set name = $2 where id = $1', [id, name])
        // Receipts of tenants name the reseller, whose name processes know with the rules.
        await run(`update wallet_rules set version = version + 1, changed_at = ${now} where wallet_id = $1`, [
          id,
        ])
        const names = { before: { label: textOf(before, 'name') }, after: { label: name } }
        await recordOfWallet(run, engine.dialect, {
          by,
          walletId: id,
          what: 'wallet.renamed',
          subject: id,
          ...names,
        })
      }),
    wallet,
    list: async () => {
      const found = statement(`${wallets} and a.org_id <> $1 order by a.id`, PAYMENTS_ORG)
      return (await once(engine, 'control', found)).map(walletRows.read)
    },
    cellOf: async (id) => {
      const text = `select a.cell from account a where (a.org_id = $1 or a.id = $1) and a.cell is not null limit 1`
      const [row] = await once(engine, 'control', text, id)
      return row && textOf(row, 'cell')
    },
  }
}
