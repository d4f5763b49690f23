/** Wallets: made and read. */
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import { onlyRow } from '../engine/row.ts'
import { heldOnLeases, settledOfAccount } from '../ledger/sums.ts'
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
  const { now } = engine.dialect
  const wallet = async (id: string): Promise<Wallet | undefined> => {
    const [row] = await once(engine, 'control', statement(`${wallets} and a.id = $1`, id))
    return row === undefined ? undefined : walletRows.read(row)
  }
  return {
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
      return walletRows.read(onlyRow(rows))
    },
    wallet,
    list: async () =>
      (
        await once(engine, 'control', statement(`${wallets} and a.org_id <> $1 order by a.id`, PAYMENTS_ORG))
      ).map(walletRows.read),
  }
}
