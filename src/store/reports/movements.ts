/**
 * The movements of a wallet with its running balance: single postings, and calls by UTC day. Page by page, newest
 * first.
 */
import { DAY_MS } from '../../core/time.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { type Bind, binding, type Engine, once } from '../engine/engine.ts'
import { countsAt } from '../ledger/counts-at.ts'
import { isHere, settledBalance } from '../ledger/sums.ts'
import { BETWEEN_CELLS } from '../move/whose-rows.ts'
import type { Movement, MovementPage, MovementQuery } from './report-port.ts'
import { unsummedFrom } from './roll-up.ts'

const rows = rowsOf({
  at: integer('at'),
  place: integer('place'),
  kind: text('kind'),
  ref: text('ref'),
  note: maybe(text('note')),
  amount: nano('amount'),
  settled: nano('settled'),
})

/**
 * A day's calls come at its end: no later call moves them there, and no movement before them seems to lack their money.
 */
const days = (
  { dialect }: Engine,
  wallet: string,
): string => `select x.day + ${DAY_MS - 1} as place, 'usage' as kind,
    cast(x.day / ${DAY_MS} as text) as ref, max(x.at) as at, cast(null as text) as note, cast(-sum(x.amount) as bigint) as amount
  from (
    select r.day, r.last_at as at, r.amount from roll_up_account r where r.account_id = ${wallet}
    union all
    select ((${countsAt(dialect)}) / ${DAY_MS}) * ${DAY_MS}, ${countsAt(dialect)}, t.amount from api_key k cross join transfer t
    where t.key_id = k.id and k.wallet_id = ${wallet} and t.kind = 'usage' and t.debit = ${wallet} and t.at >= ${unsummedFrom('0')}) x
  group by x.day`

/**
 * One side of the other postings, by that side's index: no more than the page needs. Where its organisation is, those of the other
 * cells are there too, so what went between cells is no movement.
 */
const side = (of: 'debit' | 'credit', wallet: string, before: string, most: string): string =>
  `select * from (select t.at as place, t.kind, t.ref, t.at, t.note, ${of === 'debit' ? '-' : ''}t.amount as amount
   from transfer t where t.kind <> 'usage' and t.${of} = ${wallet} and ${before}
     and not (t.kind = 'adjust' and t.ref like '${BETWEEN_CELLS}%' and ${isHere(wallet)})
   order by t.at desc, t.kind desc, t.ref desc limit ${most}) ${of}s`

const beforeOf = (
  query: MovementQuery,
  bind: Bind,
): { readonly ofPosting: string; readonly ofDay: string } => {
  if (query.before === undefined) return { ofPosting: '1 = 1', ofDay: '1 = 1' }
  const { place, kind, ref } = query.before
  const values = `(${bind(place)}, ${bind(kind)}, ${bind(ref)})`
  return { ofPosting: `(t.at, t.kind, t.ref) < ${values}`, ofDay: `(y.place, y.kind, y.ref) < ${values}` }
}

export const movementsOf = async (engine: Engine, query: MovementQuery): Promise<MovementPage> => {
  const { params, bind } = binding()
  const [wallet, most] = [bind(query.walletId), bind(query.most + 1)]
  const { ofPosting, ofDay } = beforeOf(query, bind)
  const found = (
    await once(
      engine,
      'reading',
      `select z.*, ${settledBalance(wallet)} as settled from (
           select y.* from (${days(engine, wallet)}) y where ${ofDay}
           union all ${side('debit', wallet, ofPosting, most)}
           union all ${side('credit', wallet, ofPosting, most)}) z
         order by z.place desc, z.kind desc, z.ref desc limit ${most}`,
      ...params,
    )
  ).map(rows.read)
  let balance = query.before?.balance ?? found[0]?.settled ?? 0n
  const data = found.slice(0, query.most).map(({ at, place, kind, ref, note, amount }): Movement => {
    const movement = {
      at,
      kind,
      ref,
      amount,
      balance,
      ...(note === undefined ? {} : { note }),
    }
    balance -= amount
    return { ...movement, next: { place, kind, ref, balance } }
  })
  return { data, hasMore: found.length > query.most }
}
