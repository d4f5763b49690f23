/** Sums of money in SQL, each said once: what leases used, what open calls hold, what an account has, what was charged. */
import type { Words } from '../engine/engine.ts'

/** What leases `l` used and their account and counters do not count yet. */
export const usedOnLeases = (where: string): string =>
  `coalesce((select cast(sum(l.used) as bigint) from lease l where l.state <> 'closed' and ${where}), 0)`

/** What open calls hold of leases `l`. */
export const heldOnLeases = (where: string): string =>
  `coalesce((select cast(sum(f.hold) as bigint) from lease l join inflight f on f.lease_id = l.id
    where l.state <> 'closed' and ${where}), 0)`

/** What open calls hold of the one lease `l`. */
export const heldOfLease =
  'coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)'

/** What the account `a` has: its balance less what leases used. */
export const settledOfAccount = `a.balance - ${usedOnLeases('l.wallet_id = a.id')}`

/** The same for the account that `wallet` names: a column of another table than `account` and `lease`. */
export const settledBalance = (wallet: string): string =>
  `(select ${settledOfAccount} from account a where a.id = ${wallet})`

/** What a charge or refund `t` comes to for who paid. */
export const lessRefunds = `case when t.kind = 'usage' then t.amount else -t.amount end`

/**
 * The state of a lease that is found by its id or its key. PostgreSQL keeps plans that it made while there were few leases, and
 * by the bare column such a plan finds the one lease among all that are open.
 */
export const stateOf = (lease: string): string => `coalesce(${lease}.state, '')`

/** Joins the detail `d` of the call that a posting `t` charges or gives back. */
export const withDetail = ({ leftOne }: Words): string =>
  leftOne('usage_detail', 'd', 'call_id', 'coalesce(t.of_call, t.ref)')
