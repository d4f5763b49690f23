/**
 * The scheme `upto`: a payer authorises the most that a call can cost, the call runs, and its charge is settled. As for
 * any payment, what is to be settled is recorded in the ledger before it is sent, and nothing is sent twice.
 */
import type { Nano } from '../../core/money.ts'
import { nanoOfUnits, type Offer } from './offer.ts'
import { type Collected, type PaymentToCollect, resolve, type SettlementParts, sentOf } from './settlement.ts'

type Authorizing = Omit<PaymentToCollect, 'creditTo' | 'invoiceId'> & {
  /** The most that the payer may have authorised in all and not paid yet. */
  readonly most: Nano
}

export type Authorized =
  | { readonly outcome: 'authorized' }
  /** The payer has too much open, or left something unpaid. */
  | { readonly outcome: 'too_much' }
  | Extract<Collected, { outcome: 'refused' | 'used' | 'unreachable' }>

/** Checks and records what a payer authorised for one call; no money has moved yet. */
export const authorize = async (parts: SettlementParts, it: Authorizing): Promise<Authorized> => {
  const { store, facilitator } = parts
  const { presented, requirements } = it
  const known = await store.payment(presented.id)
  // An earlier attempt of the call failed. If it was charged, its answer is stored, or cannot exist.
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
  /** There is nothing to settle: the call cost nothing, or the house has already paid for it. */
  | { readonly outcome: 'free' }
  | { readonly outcome: 'settled'; readonly transaction: string; readonly amount: Nano }
  /** The money did not come and cannot come any more: the house paid. */
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
  log.error('the house pays a call, because its payment did not arrive', {
    payment: id,
    error: settled.reason,
  })
  return settled
}
