/** Rows that decide about money in progress: leases, counters of limits, accounts that pay. */
import { isObject, type Json } from '../../core/json-body.ts'
import { integer, json, maybe, nano, oneOf, type RowOf, rowsOf, text } from '../engine/columns.ts'

/** The budgets' ids in `[{"b": id}, …]`. */
const idsOf = (list: Json): readonly string[] =>
  Array.isArray(list)
    ? list.flatMap((one) => (isObject(one) && typeof one.b === 'string' ? [one.b] : []))
    : []

const lease = {
  id: text('id'),
  keyId: text('key_id'),
  payer: text('wallet_id'),
  sub: maybe(text('sub_id')),
  day: text('day'),
  tags: maybe(text('tags')),
  tagBudgets: maybe(json('tag_budgets', idsOf)),
  granted: nano('granted'),
  used: nano('used'),
  calls: integer('calls'),
  state: oneOf('state', ['open', 'quarantined', 'closed']),
} as const
export const leases = rowsOf(lease)
export type LeaseRow = RowOf<typeof lease>

/** A counter of one limit. Its members say whose it is. */
const budget = {
  scope: text('scope'),
  ownerId: maybe(text('owner_id')),
  month: maybe(text('month')),
  week: maybe(text('week')),
  day: maybe(text('day')),
  subId: maybe(text('sub_id')),
  tagBudget: maybe(text('tag_budget')),
  /** Absent if nothing is limited. */
  lim: maybe(nano('lim')),
  used: nano('used'),
  held: nano('held'),
} as const
export const budgets = rowsOf(budget)
export type Budget = RowOf<typeof budget>

/** An account with everything that decides whether it may pay, as `payers` selects it. */
const payer = {
  id: text('id'),
  orgId: text('org_id'),
  balance: nano('balance'),
  held: nano('held'),
  lowest: nano('lowest'),
  /** For a credit line: its limit, its wallet, that wallet's balance, and when its first unpaid invoice is due. */
  lim: maybe(nano('lim')),
  lineOf: maybe(text('line_of')),
  walletBalance: maybe(nano('wallet_balance')),
  dueAt: maybe(integer('due_at')),
} as const
export const payerRows = rowsOf(payer)
export type PayerRow = RowOf<typeof payer>
