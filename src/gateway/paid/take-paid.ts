/** What pays for a call that brings its payment: what was taken for it before, or the payment itself. */

import { unitsFor } from '../../payment/x402/offer.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import type { Payment } from '../../store/payments/payment-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Paid, PayingCall } from './open-paid.ts'
import { authorizePayment } from './pay-after.ts'
import { takeVoucher } from './pay-by-voucher.ts'
import { isFor, PaymentDue, requirementsOf } from './payment-due.ts'
import { addPaidHeaders, takePayment, unconfirmed } from './take-payment.ts'

/** What paid for the call when it came before; `known` is the payment that it brings, if that was taken. */
export const takenBefore = async (
  gateway: Gateway,
  paying: PayingCall,
  known: Payment | undefined,
): Promise<Paid | undefined> => {
  const before = await paidBefore(gateway, paying)
  if (before !== undefined || known === undefined) return before
  // Its payer claimed it instead of the answer.
  if (known.changeTo !== undefined) throw new PaymentDue('payment_already_used')
  return { ...(await takeNow(gateway, paying)), account: known.account }
}

/** Takes the payment that the call brings, unless it was taken before. */
export const takeNow = async (gateway: Gateway, paying: PayingCall): Promise<Paid> => {
  const payment = presentedIn(paying)
  const transaction = await takeMoney(gateway, paying, payment)
  return { payment, account: paying.x402.accountOf(payment.id), transaction }
}

/** The payment that the call brings. Throws that it is due. */
export const presentedIn = ({ presented }: PayingCall): Presented => {
  if (presented === undefined) throw new PaymentDue('payment_required')
  return presented
}

/** Takes the payment, or its authorisation; returns the transaction if there is one by then. */
const takeMoney = async (
  gateway: Gateway,
  paying: PayingCall,
  presented: Presented,
): Promise<string | undefined> => {
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
  if (presented.scheme === 'batch-settlement') {
    await takeVoucher(it)
    return undefined
  }
  if (presented.scheme === 'upto') {
    await authorizePayment(gateway, it)
    return undefined
  }
  const transaction = await takePayment({ ...it, creditTo: bearer ? key.walletId : undefined })
  addClaimHeader(paying, presented)
  return transaction
}

/** A caller without a key reads how to claim what is left over; a payment after the call leaves nothing over. */
export const addClaimHeader = (
  { x402, bearer, trace }: PayingCall,
  { scheme, id }: Pick<Presented, 'scheme' | 'id'>,
): void => {
  if (scheme === 'exact' && !bearer) trace.headers['x-change-claim'] = x402.claimFor(id)
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
  const { id, payer, scheme, amount, account, transaction } = earlier
  addPaidHeaders({ trace, payment: { version: presented?.version ?? 2, offer, payer } }, transaction ?? '')
  return { payment: { id, payer, scheme, offer, units: unitsFor(offer, amount) }, account, transaction }
}
