/** Rows of money from outside: payments that somebody was sent to Stripe for, and automatic top-ups. */
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

/** The total of a wallet's top-ups. */
export const topUpSums = rowsOf({
  today: nano('today'),
  month: nano('month'),
  pending: nano('pending'),
  made: integer('made'),
})

/** The saved payment method of a wallet, and the state of its rule. */
export const savedMethods = rowsOf({
  customer: maybe(text('customer')),
  method: maybe(text('method')),
  paused: maybe(oneOf('paused', topUpPauses)),
  waitsUntil: integer('waits_until'),
})
