/** Leases that stand between a call and its money: what is idle in them, what calls hold, and calling it back. */

import type { Nano } from '../core/money.ts'
import type { Meter, Shortage } from '../ledger/grant.ts'
import { subOf } from '../ledger/scopes.ts'
import type { AccountId } from '../ledger/words.ts'
import type { WalletId } from '../tenancy/key.ts'
import type { Row, Run, Words } from './engine.ts'
import { nanoOf, onlyRow } from './row.ts'

type Under = { readonly where: string; readonly params: readonly string[] }

/** Whose meter it is: the account that pays, the wallet of the key, and the lease that asks. */
type Whose = { readonly account: AccountId; readonly wallet: WalletId; readonly own: string }

/** Leases under a meter: those of the account, or those that count against its scope, whichever account they draw on. */
export const under = ({ limit, scope, owner }: Meter, { account, wallet, own }: Whose): Under => {
  if (scope === undefined) return { where: 'l.wallet_id = $1', params: [account, own] }
  const counted = 'exists (select 1 from lease_scope s where s.lease_id = l.id and s.scope = $3)'
  if (limit === 'daily_limit_usd')
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

/** What is known under locks: the counters, and what of the own lease is held beyond its intents or not in use. */
type Locked = { readonly budgets: readonly Row[]; readonly unwritten: Nano; readonly astray: Nano }

const idleOf = `l.granted - l.used - coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)`

/** What a fenced lease has left over of ended calls comes back as what is held does: when it is closed. */
export const shortageOf = async (
  run: Run,
  meter: Meter,
  { where, params }: Under,
  { budgets, unwritten, astray }: Locked,
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
  const folded = budgets.find(({ scope }) => scope === meter.scope)
  return {
    meter,
    idle: nanoOf(row, 'idle') + astray,
    held: nanoOf(row, 'held') + unwritten,
    spent: nanoOf(row, 'used') + (folded === undefined ? 0n : nanoOf(folded, 'used')),
  }
}

export const recall = (run: Run, words: Words, { where, params }: Under): Promise<unknown> =>
  run(
    `update lease set recall = 1 where id in (select l.id from lease l
       where l.state = 'open' and l.recall = 0 and l.id <> $2 and ${idleOf} > 0 and ${where}${words.lockFree('l')})`,
    params,
  )
