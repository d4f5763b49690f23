/**
 * A call that was paid for under its Idempotency-Key and got no answer because the vendor failed. When it comes again
 * it runs on that payment, whether it brings the same payment, another or none. Otherwise clients that always ask for a
 * quote first would pay twice for one call.
 */
import { unitsFor } from '../../payment/x402/offer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Paid, PayingCall } from './open-paid.ts'
import { isFor } from './payment-due.ts'
import { addPaidHeaders, unconfirmed } from './take-payment.ts'

/** The payment under which the trace's call was made; undefined when it has none, or brings it. */
export const paidBefore = async (gateway: Gateway, paying: PayingCall): Promise<Paid | undefined> => {
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
