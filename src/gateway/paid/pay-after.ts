/**
 * Calls that are paid for after they ran (x402, scheme `upto`): authorised before, settled once they are charged. Only
 * then does the end of the answer go out. If a charged payment fails, the house loses it: at most what a payer may have
 * authorised at once.
 */
import { type Refusal, refuse } from '../../core/refusal.ts'
import { unitsFor } from '../../payment/x402/offer.ts'
import type { Scheme } from '../../payment/x402/presented.ts'
import type { X402 } from '../../payment/x402.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { chargeVoucher } from './pay-by-voucher.ts'
import { PaymentDue } from './payment-due.ts'
import {
  addPaidHeaders,
  addUnpaidHeaders,
  notTaken,
  type PaymentNotice,
  type PaymentToTake,
  unconfirmed,
} from './take-payment.ts'

/** Time for the next process to find out what the last call of a crashed server was charged, and to settle it. */
const SETTLE_MS = 600_000
/** How long an authorisation must still be good when a call begins. */
const SETTLE_LEAST_MS = 60_000

/** How long an authorisation must be good: until the longest call has ended and is settled. */
export const uptoSecondsOf = ({ options }: Gateway, x402: X402): number =>
  x402.options.timeoutSeconds + Math.ceil((options.timeouts.totalMs + SETTLE_MS) / 1000)

/** Records what a payer authorised for a call; no money has moved yet. */
export const authorizePayment = async (
  gateway: Gateway,
  it: Omit<PaymentToTake, 'creditTo' | 'invoiceId'>,
): Promise<void> => {
  const { x402, presented, requirements, paidFor, fingerprint } = it
  const neededUntil = gateway.clock.now() + gateway.options.timeouts.totalMs + SETTLE_LEAST_MS
  if (presented.validBefore * 1000 < neededUntil) throw new PaymentDue('payment_expired')
  const authorized = await x402.authorize({ presented, requirements, callId: paidFor, fingerprint })
  if (authorized.outcome === 'too_much') throw new PaymentDue('too_much_authorized')
  if (authorized.outcome !== 'authorized') throw notTaken(it, authorized)
}

type AuthorizedPayment = Omit<PaymentNotice, 'at'> & {
  readonly x402: X402
  readonly payment: PaymentNotice['payment'] & { readonly id: string; readonly scheme: Scheme }
}

/** Settles an authorised payment for what its call was charged; returns the reason if the money did not come. */
export const settleAuthorized = async (it: AuthorizedPayment): Promise<Refusal | undefined> => {
  const { offer, id, scheme } = it.payment
  if (scheme === 'batch-settlement') return void (await chargeVoucher(it))
  const finished = await it.x402.finish(id, offer).catch(() => ({ outcome: 'unknown' as const }))
  switch (finished.outcome) {
    case 'settled':
      return void addPaidHeaders(
        { ...it, at: it.x402.now() },
        finished.transaction,
        unitsFor(offer, finished.amount),
      )
    case 'refused':
      addUnpaidHeaders(it, finished.reason)
      return refuse(
        'payment_failed',
        'The call was answered, but the payment that was authorised for it failed; the answer is withheld.',
        { members: { reason: finished.reason } },
      )
    case 'free':
      return undefined
    default:
      return unconfirmed()
  }
}

/** An answer is stored with its charge, but given again only if its authorised payment came. */
export const checkPaidFor = async (gateway: Gateway, x402: X402, trace: Trace): Promise<void> => {
  const payment = await gateway.store.payments.paymentForCall(trace.callId)
  if (payment === undefined || payment.scheme === 'exact') return
  const offer = x402.offerOf(payment)
  const { id, payer, scheme } = payment
  const unpaid =
    offer === undefined
      ? unconfirmed()
      : await settleAuthorized({ x402, trace, payment: { version: 2, offer, payer, id, scheme } })
  if (unpaid !== undefined) throw unpaid
}
