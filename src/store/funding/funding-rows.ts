/** Rows of money from outside: what somebody was sent to Stripe to pay, and top-ups that are paid by themselves. */
import { integer, maybe, nano, oneOf, rowsOf, text } from '../engine/columns.ts'
import { topUpPauses } from './top-up-port.ts'
import { topUpStates } from './top-up-states.ts'

export const checkouts = rowsOf({
  id: text('id'),
  walletId: text('wallet_id'),
  invoiceId: maybe(text('invoice_id')),
  amount: nano('amount'),
  paidRef: maybe(text('paid_ref')),
})

export const topUps = rowsOf({
  id: text('id'),
  walletId: text('wallet_id'),
  customer: text('customer'),
  method: text('method'),
  amount: nano('amount'),
  day: text('day'),
  state: oneOf('state', topUpStates),
  nextAt: integer('next_at'),
  madeAt: integer('made_at'),
})

/** Wallets that are below their rule's amount. */
export const readyForTopUp = rowsOf({
  walletId: text('wallet_id'),
  customer: text('customer'),
  method: text('method'),
  now: integer('now'),
})

/** What top-ups of a wallet came to. */
export const topUpSums = rowsOf({
  today: nano('today'),
  month: nano('month'),
  pending: nano('pending'),
  made: integer('made'),
})

/** The saved payment method of a wallet, and how its rule stands. */
export const savedMethods = rowsOf({
  customer: maybe(text('customer')),
  method: maybe(text('method')),
  paused: maybe(oneOf('paused', topUpPauses)),
  waitsUntil: integer('waits_until'),
})
