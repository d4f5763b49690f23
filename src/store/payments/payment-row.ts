/** Payments by x402 as rows: read, locked, and the account that holds a payment's money. */
import type { Nano } from '../../core/money.ts'
import { integer, maybe, nano, oneOf, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Row, Run } from '../engine/engine.ts'
import { nanoOf } from '../engine/row.ts'
import { applyLease, lockLimitsOf } from '../ledger/apply-lease.ts'
import { type LeaseRow, leases } from '../ledger/ledger-rows.ts'
import type { Payment } from './payment-port.ts'

export const payments = rowsOf({
  id: text('id'),
  callId: text('call_id'),
  fingerprint: text('fingerprint'),
  state: oneOf('state', ['authorized', 'settling', 'settled', 'failed', 'lost']),
  scheme: oneOf('scheme', ['exact', 'upto']),
  account: text('account_id'),
  amount: nano('amount'),
  payer: text('payer'),
  createdAt: integer('created_at'),
  expiresAt: maybe(integer('expires_at')),
  invoiceId: maybe(text('invoice_id')),
  creditTo: maybe(text('credit_to')),
  changeTo: maybe(text('change_to')),
  sent: maybe(text('sent')),
  transaction: maybe(text('tx')),
  reason: maybe(text('reason')),
  channelId: maybe(text('channel_id')),
})

/** Reads a payment. */
export const paymentOf = (row: Row): Payment => {
  const { expiresAt: _expiresAt, ...payment } = payments.read(row)
  // A version before knows two schemes.
  return payment.channelId === undefined ? payment : { ...payment, scheme: 'batch-settlement' }
}

/** Whoever changes a payment locks it first. */
export const lockPayment = async (engine: Engine, run: Run, id: string): Promise<Payment | undefined> => {
  const [row] = await run(`select p.* from x402_payment p where p.id = $1${engine.dialect.lock('p')}`, [id])
  return row === undefined ? undefined : paymentOf(row)
}

/** Applies and closes a locked lease that has no open call. */
export const closeLease = async (
  engine: Engine,
  run: Run,
  { id, state, granted, used }: LeaseRow,
): Promise<void> => {
  const unused = granted - used
  for (const { text, params } of [...lockLimitsOf(engine.dialect, [id]), ...applyLease(id, -unused, state)])
    await run(text, params)
  await run(`update lease set state = 'closed', recall = 0 where id = $1`, [id])
}

/** Locks the leases on a payment's account that are not closed. */
export const leasesOn = async (
  engine: Engine,
  run: Run,
  account: string,
  where: string,
): Promise<readonly LeaseRow[]> => {
  const rows = await run(
    `select l.* from lease l where l.wallet_id = $1 and l.state <> 'closed' and ${where} order by l.id${engine.dialect.lock('l')}`,
    [account],
  )
  return rows.map(leases.read)
}

/** Closes the leases on a payment's account once its call is over; false while it is not. */
export const closeLeases = async (engine: Engine, run: Run, account: string): Promise<boolean> => {
  const found = await leasesOn(engine, run, account, '1 = 1')
  const open = await run(
    'select f.call_id from inflight f join lease l on l.id = f.lease_id where l.wallet_id = $1',
    [account],
  )
  if (open.length > 0) return false
  for (const lease of found) await closeLease(engine, run, lease)
  return true
}

/** What a payment's call was charged; undefined while it was not charged. */
export const chargedFor = async (run: Run, callId: string): Promise<Nano | undefined> => {
  const [row] = await run(`select amount from transfer where kind = 'usage' and ref = $1`, [callId])
  return row === undefined ? undefined : nanoOf(row, 'amount')
}
