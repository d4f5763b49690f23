/** Payments by x402 as rows: read, locked, and the account that holds what one brought. */
import type { Nano } from '../core/money.ts'
import type { Engine, Row, Run } from './engine.ts'
import { fold, lockMeters } from './fold.ts'
import type { Payment } from './payment-port.ts'
import { countOf, maybeText, nanoOf, textOf } from './row.ts'

const states = ['authorized', 'settling', 'settled', 'failed', 'lost'] as const
const schemes = ['exact', 'upto'] as const

/** Reads a payment. */
export const paymentOf = (row: Row): Payment => {
  const state = states.find((one) => one === row.state)
  const scheme = schemes.find((one) => one === row.scheme)
  if (state === undefined || scheme === undefined)
    throw new Error(`payment ${row.id} is in an unknown state, or of an unknown scheme`)
  const [invoiceId, creditTo, changeTo, sent] = [
    maybeText(row, 'invoice_id'),
    maybeText(row, 'credit_to'),
    maybeText(row, 'change_to'),
    maybeText(row, 'sent'),
  ]
  const [transaction, reason] = [maybeText(row, 'tx'), maybeText(row, 'reason')]
  return {
    id: textOf(row, 'id'),
    callId: textOf(row, 'call_id'),
    fingerprint: textOf(row, 'fingerprint'),
    state,
    scheme,
    account: textOf(row, 'account_id'),
    amount: nanoOf(row, 'amount'),
    payer: textOf(row, 'payer'),
    createdAt: countOf(row, 'created_at'),
    ...(invoiceId === undefined ? {} : { invoiceId }),
    ...(creditTo === undefined ? {} : { creditTo }),
    ...(changeTo === undefined ? {} : { changeTo }),
    ...(sent === undefined ? {} : { sent }),
    ...(transaction === undefined ? {} : { transaction }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** Whoever changes a payment locks it first. */
export const lockPayment = async (engine: Engine, run: Run, id: string): Promise<Payment | undefined> => {
  const [row] = await run(`select p.* from x402_payment p where p.id = $1${engine.words.lock('p')}`, [id])
  return row === undefined ? undefined : paymentOf(row)
}

/** Folds and closes a lease that is locked and has no call open. */
export const closeLease = async (engine: Engine, run: Run, lease: Row): Promise<void> => {
  const [id, state] = [textOf(lease, 'id'), textOf(lease, 'state')]
  const unused = nanoOf(lease, 'granted') - nanoOf(lease, 'used')
  for (const { text, params } of [...lockMeters(engine.words, [id]), ...fold(id, -unused, state)])
    await run(text, params)
  await run(`update lease set state = 'closed', recall = 0 where id = $1`, [id])
}

/** Locks the leases on a payment's account that are not closed. */
export const leasesOn = (engine: Engine, run: Run, account: string, where: string): Promise<readonly Row[]> =>
  run(
    `select l.* from lease l where l.wallet_id = $1 and l.state <> 'closed' and ${where} order by l.id${engine.words.lock('l')}`,
    [account],
  )

/** Closes the leases on a payment's account once its call is over; false while it is not. */
export const closeLeases = async (engine: Engine, run: Run, account: string): Promise<boolean> => {
  const leases = await leasesOn(engine, run, account, '1 = 1')
  const open = await run(
    'select f.call_id from inflight f join lease l on l.id = f.lease_id where l.wallet_id = $1',
    [account],
  )
  if (open.length > 0) return false
  for (const lease of leases) await closeLease(engine, run, lease)
  return true
}

/** What the call of a payment was charged; undefined while it was not. */
export const chargedFor = async (run: Run, callId: string): Promise<Nano | undefined> => {
  const [row] = await run(`select amount from transfer where kind = 'usage' and ref = $1`, [callId])
  return row === undefined ? undefined : nanoOf(row, 'amount')
}
