/**
 * The insert of a call's charge. The two group commits, late settlements and recovery all write it; this is what they
 * have in common. Each member is an SQL expression. What is charged to the account of estimates goes to no revenue.
 */
import { VENDORS } from '../../ledger/estimates.ts'
import { drawsEstimates } from './sums.ts'

type ChargeValues = {
  readonly call: string
  readonly amount: string
  /** How it was charged, if not by its own process in time: 'late' or 'recovered'; else null. */
  readonly settled: string
  readonly note: string
  /** The lease of the attempt; null for a recovered charge. */
  readonly attempt: string
  readonly at: string
}

/** The lease that pays. */
type ChargedLease = {
  readonly payer: string
  readonly key: string
  readonly month: string
  readonly day: string
  readonly sub: string
  readonly tagBudgets: string
}

const ofLease: ChargedLease = {
  payer: 'l.wallet_id',
  key: 'l.key_id',
  month: 'l.month',
  day: 'l.day',
  sub: 'l.sub_id',
  tagBudgets: 'l.tag_budgets',
}

const into =
  'insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, sub_id, tag_budgets, settled, note, attempt, at)'

const rowOf = (
  { call, amount, settled, note, attempt, at }: ChargeValues,
  { payer, key, month, day, sub, tagBudgets }: ChargedLease,
) =>
  `'usage', ${call}, ${payer}, case when ${drawsEstimates(payer)} then '${VENDORS}' else 'revenue' end, ${amount}, ${key}, ${month}, ${day}, ${sub}, ${tagBudgets}, ${settled}, ${note}, ${attempt}, ${at}`

/** Charges calls to their leases `l`; what follows selects these. */
export const insertCharges = (charge: ChargeValues): string => `${into} select ${rowOf(charge, ofLease)}`

/** Charges one call, which is not open, to a lease that was read before. */
export const insertCharge = (charge: ChargeValues, lease: ChargedLease): string =>
  `${into} select ${rowOf(charge, lease)} where not exists (select 1 from inflight where call_id = ${charge.call})`
