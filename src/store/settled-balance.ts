/** What a wallet has, in SQL: its balance less what calls used and what is not folded into it yet. */

/** An expression for the wallet that `wallet` names: a column of another table than `account` and `lease`. */
export const settledBalance = (wallet: string): string =>
  `(select a.balance - coalesce((select cast(sum(l.used) as bigint) from lease l
    where l.wallet_id = a.id and l.state <> 'closed'), 0) from account a where a.id = ${wallet})`
