/** What pays for a call that brings its payment: what was taken for it before, or the payment itself. */

import { Refusal } from '../../core/refusal.ts'
import { unitsFor } from '../../payment/x402/offer.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import type { Payment } from '../../store/payments/payment-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Paid, PayingCall } from './open-paid.ts'
import { authorizePayment } from './pay-after.ts'
import { type TakenVoucher, takeVoucher } from './pay-by-voucher.ts'
import { isFor, PaymentDue, requirementsOf } from './payment-due.ts'
import { addPaidHeaders, takePayment, tellsPayment, unconfirmed } from './take-payment.ts'

/**
 * What paid for the call when it came before: `known` is the payment that it brings, if that was taken; `again` whether there
 * was an earlier attempt, which may have brought another.
 */
export const takenBefore = async (
  gateway: Gateway,
  paying: PayingCall,
  { known, again }: { readonly known: Payment | undefined; readonly again: boolean },
): Promise<Paid | undefined> => {
  const before = again ? await paidBefore(gateway, paying) : undefined
  if (before !== undefined || known === undefined) return before
  // Its payer claimed it instead of the answer.
  if (known.changeTo !== undefined) throw new PaymentDue('payment_already_used')
  const taken = await takeNow(gateway, paying)
  return taken.taken === undefined ? { ...taken, account: known.account } : taken
}

/** Takes the payment that the call brings, unless it was taken before. */
export const takeNow = async (gateway: Gateway, paying: PayingCall): Promise<Paid> => {
  const payment = presentedIn(paying)
  const taken = await takeMoney(gateway, paying, payment)
  const { x402 } = paying
  return typeof taken === 'object'
    ? { payment, account: taken.channel.account, transaction: undefined, taken }
    : { payment, account: x402.accountOf(payment.id), transaction: taken }
}

/** The payment that the call brings. Throws that it is due. */
export const presentedIn = ({ presented }: PayingCall): Presented => {
  if (presented === undefined) throw new PaymentDue('payment_required')
  return presented
}

/** Takes the payment, or its authorisation, or its voucher; returns the transaction if there is one by then. */
const takeMoney = async (
  gateway: Gateway,
  paying: PayingCall,
  presented: Presented,
): Promise<string | TakenVoucher | undefined> => {
  const { x402, key, bearer, keptUnder, trace } = paying
  const requirements = requirementsOf(paying, presented)
  const it = {
    x402,
    trace,
    presented,
    requirements,
    paidFor: trace.callId,
    fingerprint: keptUnder.fingerprint,
  }
  if (presented.scheme === 'batch-settlement') return takeVoucher(it)
  if (presented.scheme === 'upto') {
    await authorizePayment(gateway, it)
    return undefined
  }
  const taken = takePayment({ ...it, creditTo: bearer ? key.walletId : undefined })
  return taken.then(
    (transaction) => {
      addClaimHeader(paying, presented)
      return transaction
    },
    (thrown: unknown) => {
      // It may have gone through: the claim proves who sent it when it is sent again.
      if (thrown instanceof Refusal) addClaimHeader(paying, presented)
      throw thrown
    },
  )
}

/** A caller without a key reads how to claim what is left over; a payment after the call leaves nothing over. */
const addClaimHeader = (
  { x402, bearer, trace }: PayingCall,
  { scheme, id }: Pick<Presented, 'scheme' | 'id'>,
): void => {
  if (scheme === 'exact' && !bearer) trace.headers['x-change-claim'] = x402.claimFor(id)
}

/**
 * Joined and later copies of the answer get the headers of the payment too: of the one that bought it, which under an
 * Idempotency-Key may be another than the one they bring.
 */
export const repeatPaymentHeaders = async (
  gateway: Gateway,
  paying: PayingCall,
  presented: Presented,
): Promise<void> => {
  const { trace, x402 } = paying
  // A voucher that was taken for this answer has said so, and leaves nothing to claim.
  if (presented.scheme === 'batch-settlement' && tellsPayment(trace)) return
  const { payments } = gateway.store
  const paid = (await payments.paymentForCall(trace.callId)) ?? (await payments.payment(presented.id))
  addClaimHeader(paying, paid ?? presented)
  if (tellsPayment(trace) || paid?.transaction === undefined) return
  const offer = x402.offerOf(paid) ?? presented.offer
  const units = paid.scheme === 'upto' ? unitsFor(offer, paid.amount) : undefined
  const payment = { ...presented, offer, payer: paid.payer }
  addPaidHeaders({ trace, payment, at: paid.createdAt }, paid.transaction, units)
}

/** The payment under which the trace's call was made; undefined when it has none, or brings it. */
const paidBefore = async (gateway: Gateway, paying: PayingCall): Promise<Paid | undefined> => {
  const { x402, presented, trace } = paying
  const earlier = await gateway.store.payments.paymentForCall(trace.callId)
  if (earlier === undefined || earlier.id === presented?.id) return undefined
  // Its payer claimed it instead of the answer.
  if (earlier.changeTo !== undefined) return undefined
  if (earlier.scheme !== 'exact' || !isFor(earlier, paying.keptUnder)) return undefined
  if (earlier.state === 'settling') throw unconfirmed()
  const offer = x402.offerOf(earlier)
  if (earlier.state !== 'settled' || offer === undefined) return undefined
  const { id, payer, scheme, amount, account, transaction, createdAt } = earlier
  const { version = 2, challenge } = presented ?? {}
  const paidWith = { version, offer, payer, ...(challenge === undefined ? {} : { challenge }) }
  addPaidHeaders({ trace, payment: paidWith, at: createdAt }, transaction ?? '')
  return { payment: { id, payer, scheme, offer, units: unitsFor(offer, amount) }, account, transaction }
}
