/** Leases that stand between a call and its money: their idle room, what calls hold of them, and recalling them. */

import type { Nano } from '../../core/money.ts'
import type { Limit, Shortage } from '../../ledger/lend.ts'
import { subOf } from '../../ledger/scopes.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { WalletId } from '../../tenancy/key.ts'
import { type Run, type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import { nanoOf, onlyRow } from '../engine/row.ts'
import type { Budget } from './ledger-rows.ts'
import { heldOfLease, stateOf } from './sums.ts'

/** Leases `l` that are not closed, as a `from` with its `where`. */
type LeasesUnder = { readonly from: string; readonly params: readonly string[] }

/** Whose limit it is: the paying account, the wallet of the key, and the lease that asks. */
type Whose = { readonly payer: AccountId; readonly wallet: WalletId; readonly own: string }

const KEPT = `l.state <> 'closed'`
const COUNTED = 'exists (select 1 from lease_scope s where s.lease_id = l.id and s.scope = $3)'

/**
 * Leases under a limit: those of the account, or those that count against its scope, whichever account they draw on. Those of a list
 * are looked up one by one: PostgreSQL would walk all leases, by a plan that it made while there were few.
 */
export const under = (
  { joinEach }: SqlDialect,
  { name, scope, owner, budget }: Limit,
  { payer, wallet, own }: Whose,
): LeasesUnder => {
  if (scope === undefined) return { from: `lease l where l.wallet_id = $1 and ${KEPT}`, params: [payer, own] }
  const of = (table: string, id: string, column: string) =>
    `${table} o ${joinEach('lease', 'l', `l.${id} and ${COUNTED} and ${KEPT}`)} where o.${column} = $1`
  const those = (from: string, whose: string): LeasesUnder => ({ from, params: [whose, own, scope] })
  if (budget !== undefined) return those(of('lease_tag', 'id = o.lease_id', 'tag_budget'), budget.id)
  if (name === 'daily_limit_usd') return those(of('api_key', 'key_id = o.id', 'wallet_id'), wallet)
  return owner === undefined
    ? those(`lease l where l.sub_id = $1 and ${COUNTED} and ${KEPT}`, subOf(scope))
    : those(of('key_line', 'key_id = o.key_id', 'owner_id'), owner)
}

/** What is known under locks: the counters, and how much of the own lease is held beyond its intents or unused. */
type LockedLease = { readonly budgets: readonly Budget[]; readonly unwritten: Nano; readonly astray: Nano }

const idleOf = `l.granted - l.used - ${heldOfLease}`

/** Money that ended calls left on a fenced lease comes back when the lease is closed, just as held money does. */
export const shortageOf = async (
  run: Run,
  limit: Limit,
  { from, params }: LeasesUnder,
  { budgets, unwritten, astray }: LockedLease,
): Promise<Shortage> => {
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when x.state = 'open' and x.id <> $2 then x.idle else 0 end) as bigint), 0) as idle,
         coalesce(cast(sum(x.held) as bigint), 0) as held, coalesce(cast(sum(x.used) as bigint), 0) as used
       from (select l.id, l.state, l.used, ${idleOf} as idle,
               l.granted - l.used - case when l.state = 'open' then ${idleOf} else 0 end as held
             from ${from}) x`,
      params,
    ),
  )
  const counter = budgets.find(({ scope }) => scope === limit.scope)
  return {
    limit,
    idle: nanoOf(row, 'idle') + astray,
    held: nanoOf(row, 'held') + unwritten,
    spent: nanoOf(row, 'used') + (counter?.used ?? 0n),
  }
}

/**
 * Asks for leases back whose idle room comes to `amount`, those with the most first: processes keep many leases, and all of
 * them would come back for one call. `beside` those that were asked for already, which may be unable to give; else these
 * count first.
 */
export const recall = (
  dialect: SqlDialect,
  { from, params }: LeasesUnder,
  { amount, beside }: { readonly amount: Nano; readonly beside: boolean },
): Statement => {
  const given = `cast($${params.length + 1} as bigint)`
  return statement(
    `update lease set recall = 1 where id in (select l.id from lease l where l.recall = 0 and l.id in (
       select y.id from (select x.id, sum(x.idle) over (order by x.recall desc, x.idle desc, x.id) - x.idle as before
         from (select l.id, l.recall, ${idleOf} as idle from ${from}
           and ${stateOf('l')} = 'open' ${beside ? 'and l.recall = 0' : ''} and l.id <> $2) x
         where x.idle > 0) y
       where y.before < ${given})${dialect.lockFree('l')})`,
    ...params,
    amount,
  )
}
