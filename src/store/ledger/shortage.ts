/** Leases that stand between a call and its money: their idle room, what calls hold of them, and recalling them. */

import type { Nano } from '../../core/money.ts'
import type { Limit, Shortage } from '../../ledger/lend.ts'
import { subOf } from '../../ledger/scopes.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { nanoOf, onlyRow } from '../engine/row.ts'
import type { Budget } from './ledger-rows.ts'
import { heldOfLease, ofTagBudget } from './sums.ts'

type LeasesUnder = { readonly where: string; readonly params: readonly string[] }

/** Whose limit it is: the paying account, the wallet of the key, and the lease that asks. */
type Whose = { readonly payer: AccountId; readonly wallet: WalletId; readonly own: string }

/**
 * Leases under a limit: those of the account, or those that count against its scope, whichever account they draw on.
 */
export const under = ({ name, scope, owner, budget }: Limit, { payer, wallet, own }: Whose): LeasesUnder => {
  if (scope === undefined) return { where: 'l.wallet_id = $1', params: [payer, own] }
  const counted = 'exists (select 1 from lease_scope s where s.lease_id = l.id and s.scope = $3)'
  if (budget !== undefined)
    return { where: `${ofTagBudget('$1')} and ${counted}`, params: [budget.id, own, scope] }
  if (name === 'daily_limit_usd')
    return {
      where: `l.key_id in (select k.id from api_key k where k.wallet_id = $1) and ${counted}`,
      params: [wallet, own, scope],
    }
  return owner === undefined
    ? { where: `l.sub_id = $1 and ${counted}`, params: [subOf(scope), own, scope] }
    : {
        where: `l.key_id in (select n.key_id from key_line n where n.owner_id = $1) and ${counted}`,
        params: [owner, own, scope],
      }
}

/** What is known under locks: the counters, and how much of the own lease is held beyond its intents or unused. */
type LockedLease = { readonly budgets: readonly Budget[]; readonly unwritten: Nano; readonly astray: Nano }

const idleOf = `l.granted - l.used - ${heldOfLease}`

/** Money that ended calls left on a fenced lease comes back when the lease is closed, just as held money does. */
export const shortageOf = async (
  run: Run,
  limit: Limit,
  { where, params }: LeasesUnder,
  { budgets, unwritten, astray }: LockedLease,
): Promise<Shortage> => {
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when x.state = 'open' and x.id <> $2 then x.idle else 0 end) as bigint), 0) as idle,
         coalesce(cast(sum(x.held) as bigint), 0) as held, coalesce(cast(sum(x.used) as bigint), 0) as used
       from (select l.id, l.state, l.used, ${idleOf} as idle,
               l.granted - l.used - case when l.state = 'open' then ${idleOf} else 0 end as held
             from lease l where l.state <> 'closed' and ${where}) x`,
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
  run: Run,
  dialect: SqlDialect,
  { where, params }: LeasesUnder,
  { amount, beside }: { readonly amount: Nano; readonly beside: boolean },
): Promise<unknown> => {
  const given = `cast($${params.length + 1} as bigint)`
  return run(
    `update lease set recall = 1 where id in (select l.id from lease l where l.recall = 0 and l.id in (
       select y.id from (select x.id, sum(x.idle) over (order by x.recall desc, x.idle desc, x.id) - x.idle as before
         from (select l.id, l.recall, ${idleOf} as idle from lease l
           where l.state = 'open' ${beside ? 'and l.recall = 0' : ''} and l.id <> $2 and ${where}) x
         where x.idle > 0) y
       where y.before < ${given})${dialect.lockFree('l')})`,
    [...params, amount],
  )
}
