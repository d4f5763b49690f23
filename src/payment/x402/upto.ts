/**
 * The scheme `upto`: a payer authorises the most a call can cost, the call runs, and what it was charged is settled. What
 * is to be settled is noted in the ledger before it is sent, as for any payment, and nothing is sent twice.
 */
import type { Nano } from '../../core/money.ts'
import { nanoOfUnits, type Offer } from './offer.ts'
import { type Collected, type PaymentToCollect, resolve, type SettlementParts, sentOf } from './settlement.ts'

type Authorizing = Omit<PaymentToCollect, 'creditTo' | 'invoiceId'> & {
  /** What the payer may have authorised and not paid yet in all. */
  readonly most: Nano
}

export type Authorized =
  | { readonly outcome: 'authorized' }
  /** The payer has too much open, or left something unpaid. */
  | { readonly outcome: 'too_much' }
  | Extract<Collected, { outcome: 'refused' | 'used' | 'unreachable' }>

/** Checks and notes what a payer authorised for one call; nothing has moved then. */
export const authorize = async (parts: SettlementParts, it: Authorizing): Promise<Authorized> => {
  const { store, facilitator } = parts
  const { presented, requirements } = it
  const known = await store.payment(presented.id)
  // An earlier attempt of the call came to nothing; one that was charged has its answer stored, or can have none.
  if (known !== undefined && known.state !== 'failed')
    return { outcome: known.callId === it.callId && known.state === 'authorized' ? 'authorized' : 'used' }
  const verified = await facilitator.verify({ payload: presented.payload, requirements })
  if (verified.outcome === 'unknown') return { outcome: 'unreachable' }
  if (verified.outcome === 'invalid') return { outcome: 'refused', reason: verified.reason }
  const payment = await store.authorizePayment({
    id: presented.id,
    callId: it.callId,
    fingerprint: it.fingerprint,
    account: it.account,
    amount: nanoOfUnits(presented.offer, presented.units),
    payer: presented.payer,
    sent: JSON.stringify(sentOf(presented, requirements)),
    firstTryMs: parts.firstTryMs,
    expiresAt: presented.validBefore * 1000,
    most: it.most,
  })
  if (payment === 'too_much') return { outcome: 'too_much' }
  return { outcome: payment.callId === it.callId ? 'authorized' : 'used' }
}

export type Finished =
  /** Nothing is to be settled: the call cost nothing, or the house has paid it already. */
  | { readonly outcome: 'free' }
  | { readonly outcome: 'settled'; readonly transaction: string; readonly amount: Nano }
  /** The money did not come and cannot: the house paid. */
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown' }

/** Settles an authorised payment for what its call was charged, if that was not done before. */
export const finish = async (parts: SettlementParts, id: string, offer: Offer): Promise<Finished> => {
  const { store, log, firstTryMs } = parts
  const { payment, begun } = await store.chargePayment({ id, unit: offer.nanoPerUnit, firstTryMs })
  const { state, amount, reason = 'payment_refused' } = payment
  if (state === 'failed') return { outcome: 'free' }
  // Its charge is still on its way to the ledger.
  if (state === 'authorized') return { outcome: 'unknown' }
  if (state === 'lost') return { outcome: 'refused', reason }
  const settled = await resolve(parts, payment, offer, begun ? 'first' : 'again')
  if (settled.outcome === 'settled') return { ...settled, amount }
  if (settled.outcome !== 'refused') return { outcome: 'unknown' }
  log.error('the house pays a call, since the payment for it did not come', {
    payment: id,
    error: settled.reason,
  })
  return settled
}
