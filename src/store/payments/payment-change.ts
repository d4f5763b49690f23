/** What becomes of a settled payment: its invoice is paid, and what is left over goes to a wallet, once. */

import type { Nano } from '../../core/money.ts'
import { invoiceRef } from '../../ledger/invoice.ts'
import { clockIn } from '../engine/clock.ts'
import type { Engine, Run, SqlDialect } from '../engine/engine.ts'
import { lockInvoice, markPaid } from '../funding/invoice-row.ts'
import { postIn } from '../ledger/post.ts'
import { isSilent } from '../ledger/silence.ts'
import type { ChangePaid, Payment } from './payment-port.ts'
import { chargedFor, closeLease, closeLeases, leasesOn, lockPayment } from './payment-row.ts'

/** As long as an answer is kept: after that, a payment that was not served cannot be served any more. */
export const SERVABLE_MS = 24 * 60 * 60 * 1000

/**
 * Releases what dead processes hold of an account. If one of them is alive after all, it finds its call closed. What it
 * then settles is charged if there is room; otherwise the house pays.
 */
export const freeAccount = (engine: Engine, account: string): Promise<void> =>
  engine.transaction('control', async (run) => {
    for (const lease of await leasesOn(engine, run, account, isSilent(engine.dialect.now, 'l.instance'))) {
      await run('delete from inflight where lease_id = $1', [lease.id])
      await closeLease(engine, run, lease)
    }
  })

/**
 * Pays the invoice out of the payment's account. If it is paid already, or asks for more, all of the payment goes to
 * the wallet.
 */
const payInvoice = async (run: Run, dialect: SqlDialect, payment: Payment, id: string): Promise<Nano> => {
  const invoice = await lockInvoice(run, dialect, id)
  if (invoice === undefined) throw new Error(`payment ${payment.id} is for an invoice that is not there`)
  const { total, account: credit } = invoice
  const [ref, debit] = [invoiceRef(id), payment.account]
  if (invoice.paidRef !== undefined) {
    const [mine] = await run(
      `select 1 as mine from transfer where kind = 'topup' and ref = $1 and debit = $2`,
      [ref, debit],
    )
    return mine === undefined ? 0n : total
  }
  if (total === 0n || total > payment.amount) return 0n
  await postIn(run, dialect, { kind: 'topup', ref, debit, credit, amount: total, note: `x402:${payment.id}` })
  await markPaid(run, id, ref)
  return total
}

/** A job that ended without a charge is never run again, so all of its payment is left over. */
const chargedOrEnded = async (run: Run, callId: string): Promise<Nano | 'running' | undefined> => {
  const charged = await chargedFor(run, callId)
  if (charged !== undefined) return charged
  const [job] = await run('select id, ended_at from run where id = $1', [callId])
  if (job === undefined) return undefined
  return job.ended_at === null ? 'running' : 0n
}

/** What the payment's call was charged, or its invoice amounted to; undefined while the call was not charged. */
const usedBy = (run: Run, dialect: SqlDialect, payment: Payment): Promise<Nano | 'running' | undefined> =>
  payment.invoiceId === undefined
    ? chargedOrEnded(run, payment.callId)
    : payInvoice(run, dialect, payment, payment.invoiceId)

/** Pays an invoice, if the payment is for one, and moves what is left over to a wallet. */
export const payChange = (engine: Engine, id: string, to: string): Promise<ChangePaid> =>
  engine.transaction('control', async (run): Promise<ChangePaid> => {
    const { dialect } = engine
    const payment = await lockPayment(engine, run, id)
    if (payment === undefined || payment.state === 'failed' || payment.state === 'lost')
      return { outcome: 'unknown' }
    if (payment.state !== 'settled') return { outcome: 'open' }
    const used = await usedBy(run, dialect, payment)
    if (used === 'running') return { outcome: 'open' }
    const amount = payment.amount - (used ?? 0n)
    if (payment.changeTo !== undefined) return { outcome: 'paid_before', amount, to: payment.changeTo }
    const now = await clockIn(run, dialect)
    // Who paid without a key asks for its money, and so gives up the answer; with a key nobody was asked.
    const asked = payment.creditTo === undefined
    if (used === undefined && !asked && now < payment.createdAt + SERVABLE_MS) return { outcome: 'open' }
    if (!(await closeLeases(engine, run, payment.account))) return { outcome: 'open' }
    if (amount > 0n)
      await postIn(run, dialect, {
        kind: 'adjust',
        ref: `x402:${id}`,
        debit: payment.account,
        credit: to,
        amount,
        note: 'change',
      })
    await run('update account set lowest = 0 where id = $1', [payment.account])
    await run('update x402_payment set change_to = $2 where id = $1', [id, to])
    return { outcome: 'paid', amount, to }
  })
