/**
 * Sums of money in SQL, each defined once: what leases used, what open calls hold, what an account has, what was
 * charged.
 */
import { estimateAccountOf, VENDORS } from '../../ledger/estimates.ts'
import type { SqlDialect } from '../engine/engine.ts'

/** What leases `l` used and their account and counters do not count yet. */
export const usedOnLeases = (where: string): string =>
  `coalesce((select cast(sum(l.used) as bigint) from lease l where l.state <> 'closed' and ${where}), 0)`

/** How much of what one lease used is an estimate. */
export const estimatedOf = (lease: string): string =>
  `case when ${drawsEstimates(`${lease}.wallet_id`)} then ${lease}.used else 0 end`

/** Whether lease `l` counts in the month, week or day of a key's counter `b`; in its lifetime all do. */
export const samePeriod =
  '(b.month is null or l.month = b.month) and (b.week is null or l.week = b.week) and (b.day is null or l.day = b.day)'

/** Whether lease `l` counts under a tag's budget. */
export const ofTagBudget = (budget: string): string =>
  `l.id in (select x.lease_id from lease_tag x where x.tag_budget = ${budget})`

/** What open calls hold of leases `l`. */
export const heldOnLeases = (where: string): string =>
  `coalesce((select cast(sum(f.hold) as bigint) from lease l join inflight f on f.lease_id = l.id
    where l.state <> 'closed' and ${where}), 0)`

/** What open calls hold of the one lease `l`. */
export const heldOfLease =
  'coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)'

/** The balance of account `a` less what leases used. */
export const settledOfAccount = `a.balance - ${usedOnLeases('l.wallet_id = a.id')}`

/** The same for the account in `wallet`, a column of another table than `account` and `lease`. */
export const settledBalance = (wallet: string): string =>
  `(select ${settledOfAccount} from account a where a.id = ${wallet})`

/** Whether the organisation of an account is here: not in another cell, nor on its way there. */
export const isHere = (account: string): string =>
  `not exists (select 1 from account h where h.id = ${account} and h.cell is not null)`

/** The same of an organisation. */
export const isOrgHere = (org: string): string =>
  `not exists (select 1 from account h where h.org_id = ${org} and h.cell is not null)`

/** Whether account `id` is one that estimates draw on; estimates have names of the same kind. */
export const drawsEstimates = (id: string): string =>
  `substr(${id}, 1, ${VENDORS.length + 1}) = '${estimateAccountOf('')}'`

/**
 * Whether posting `t` is an estimate of what a vendor bills for an own key: it is counted under caps, and nobody pays it here.
 * Reports leave those out by the name, which each index of postings has.
 */
export const isEstimate = `t.credit = '${VENDORS}'`
export const isPaid = `not ${drawsEstimates('t.ref')}`
/** What the payer of a charge or refund `t` finally pays. */
export const lessRefunds = `case when t.kind = 'usage' then t.amount else -t.amount end`

/** The sub-wallet under which a charge or refund `t` counts; empty if none. */
export const subOf = "coalesce(t.sub_id, '')"

const payer = `case t.kind when 'usage' then t.debit else t.credit end`

/** The payment mode of a charge or refund `t`, by the account that pays: a payment's, a credit line, else a wallet. */
export const paymentModeOf = `case when substr(${payer}, 1, 5) = 'x402:' then 'x402'
  when substr(${payer}, 1, 7) = 'credit:' then 'mpp' else 'wallet' end`

/**
 * The state of a lease that is found by its id or its key. PostgreSQL keeps plans that it made while there were few
 * leases, and with the bare column such a plan looks for the one lease among all open ones.
 */
export const stateOf = (lease: string): string => `coalesce(${lease}.state, '')`

/** Joins the detail `d` of the call that a posting `t` charges or refunds. */
export const withDetail = ({ leftOne }: SqlDialect): string =>
  leftOne('usage_detail', 'd', 'call_id', 'coalesce(t.of_call, t.ref)')
