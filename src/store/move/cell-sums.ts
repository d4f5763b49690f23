/** What a cell has and has charged, and what is between it and others: for sums over all cells. */
import type { Nano } from '../../core/money.ts'
import { DAY_MS } from '../../core/time.ts'
import { creditAccountOf, PAYMENTS_ORG } from '../../ledger/types.ts'
import { type Engine, once } from '../engine/engine.ts'
import { countOf, nanoOf } from '../engine/row.ts'
import { lessRefunds, settledOfAccount } from '../ledger/sums.ts'
import { type Balances, moveRows } from './cell-moves.ts'
import type { CellSums } from './cell-port.ts'
import { BETWEEN_CELLS } from './whose-rows.ts'

const CREDIT = creditAccountOf('')
const isCredit = `a.id like '${CREDIT}%'`
const sum = (of: string): string => `coalesce(cast(sum(${of}) as bigint), 0)`

/** Of all accounts that cannot go below their level; those of another cell have nothing. */
const HAS = `select cast(count(distinct case when a.cell is null and a.org_id <> '${PAYMENTS_ORG}' then a.org_id end) as bigint) as organisations,
    ${sum(`case when ${isCredit} then 0 else ${settledOfAccount} end`)} as balance,
    ${sum(`case when ${isCredit} then ${settledOfAccount} else 0 end`)} as credit
  from account a where a.bounded = 1`
const HELD = `select ${sum('f.hold')} as held from inflight f`
const BETWEEN = `select ${sum('p.amount')} as between_cells from account a join posting p on p.account_id = a.id
  where a.bounded = 0 and a.id like '${BETWEEN_CELLS}%'`

const today = (
  midnight: string,
): string => `select ${sum(lessRefunds)} as today from api_key k cross join transfer t
  where t.key_id = k.id and t.at >= ${midnight} and t.cell is null and t.kind in ('usage', 'refund')`

const takenBy = (balances: Balances): Nano =>
  Object.values(balances).reduce((all, balance) => all + BigInt(balance), 0n)

/** Reads them in one statement, which sees one moment: its sums, and beside them each move that the books of two cells tell apart. */
export const cellSums = async (engine: Engine): Promise<CellSums> => {
  const midnight = `(${engine.dialect.now}) / ${DAY_MS} * ${DAY_MS}`
  const text = `select h.*, i.*, d.*, b.*, m.id, m.cell, m.state, m.balances, m.number
    from (${HAS}) h cross join (${HELD}) i cross join (${today(midnight)}) d cross join (${BETWEEN}) b
    left join cell_move m on m.state in ('left', 'arrived')`
  const rows = await once(engine, 'reading', text)
  const [sums = {}] = rows
  const moves = rows.filter(({ id }) => id !== null).map(moveRows.read)
  return {
    organisations: countOf(sums, 'organisations'),
    balance: nanoOf(sums, 'balance'),
    held: nanoOf(sums, 'held'),
    owed: -nanoOf(sums, 'credit'),
    today: nanoOf(sums, 'today'),
    between: nanoOf(sums, 'between_cells'),
    left: new Map(
      moves.filter(({ state }) => state === 'left').map(({ id, balances }) => [id, takenBy(balances)]),
    ),
    arrived: new Set(moves.filter(({ state }) => state === 'arrived').map(({ id }) => id)),
  }
}
