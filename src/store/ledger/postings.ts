/** What was posted: balances of accounts, and everything under one reference. */
import type { Nano } from '../../core/money.ts'
import { type AccountId, type CallId, type Transfer, transferKinds } from '../../ledger/types.ts'
import { maybe, nano, oneOf, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once } from '../engine/engine.ts'
import { nanoOf, onlyRow, textOf } from '../engine/row.ts'

const balanceText =
  'select coalesce(cast(sum(amount) as bigint), 0) as balance from posting where account_id = $1'

export const balanceOf = async (engine: Engine, account: AccountId): Promise<Nano> =>
  nanoOf(onlyRow(await once(engine, 'control', balanceText, account)), 'balance')

const transfers = rowsOf({
  kind: oneOf('kind', transferKinds),
  ref: text('ref'),
  debit: text('debit'),
  credit: text('credit'),
  amount: nano('amount'),
  note: maybe(text('note')),
})

/** With the kinds, because the ledger's index begins with them. */
const transfersText = `select * from transfer
  where kind in (${transferKinds.map((kind) => `'${kind}'`).join(', ')}) and ref = $1 order by at`

export const transfersOf = async (engine: Engine, ref: string): Promise<readonly Transfer[]> =>
  (await once(engine, 'control', transfersText, ref)).map(transfers.read)

export const chargedAmong = async (
  engine: Engine,
  calls: readonly CallId[],
): Promise<ReadonlySet<CallId>> => {
  const { oneOf, each } = engine.dialect
  const text = `select ref from transfer
    where kind in ('usage', 'writeoff') and ${oneOf('ref', `select e.value->>'c' from ${each('$1')} e`)}`
  const rows = await once(engine, 'control', text, JSON.stringify(calls.map((c) => ({ c }))))
  return new Set(rows.map((row) => textOf(row, 'ref')))
}
