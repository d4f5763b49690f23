/**
 * Takes an x402 payment and reports the outcome to its payer. A payer that gets a 402 pays again, so a 402 must be a
 * certain no.
 */
import type { JsonObject } from '../../core/json-body.ts'
import { type Refusal, refuse, retryIn, unavailable } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import { receiptHeader } from '../../payment/mpp/problem.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import { outcomeHeaders } from '../../payment/x402/required.ts'
import type { X402 } from '../../payment/x402.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { Trace } from '../parts/trace.ts'
import { PaymentDue } from './payment-due.ts'

export type PaymentToTake = {
  readonly x402: X402
  readonly trace: Trace
  readonly presented: Presented
  readonly requirements: JsonObject
  /** What is paid for: its id, and a fingerprint that no other request has. */
  readonly paidFor: string
  readonly fingerprint: string
  readonly invoiceId?: string
  /** The wallet of the key that came with it, which gets what is left over; without a key the payer gets a claim. */
  readonly creditTo: WalletId | undefined
}

/** Takes the payment, once however often it is sent, and returns its transaction on the chain. */
export const takePayment = async (it: PaymentToTake): Promise<string> => {
  const { x402, presented, requirements, paidFor, fingerprint, invoiceId, creditTo } = it
  const collected = await x402.collect({
    presented,
    requirements,
    callId: paidFor,
    fingerprint,
    invoiceId,
    creditTo,
  })
  if (collected.outcome === 'settled') {
    addPaidHeaders({ trace: it.trace, payment: presented, at: x402.now() }, collected.transaction)
    return collected.transaction
  }
  throw notTaken(it, collected)
}

type NotTaken =
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'used' | 'unreachable' | 'unknown' }

/** What follows from a payment that was not taken. */
export const notTaken = (
  { trace, presented }: Pick<PaymentToTake, 'trace' | 'presented'>,
  collected: NotTaken,
): PaymentDue | Refusal => {
  switch (collected.outcome) {
    case 'refused':
      addUnpaidHeaders({ trace, payment: presented }, collected.reason)
      return new PaymentDue(collected.reason)
    case 'used':
      return new PaymentDue('payment_already_used')
    case 'unreachable':
      return unavailable('The facilitator of x402 payments cannot be reached now.')
    default:
      return unconfirmed()
  }
}

/** The 503 for a payment whose outcome is unknown. */
export const unconfirmed = (): Refusal =>
  refuse(
    'payment_unconfirmed',
    'It is not known yet whether the payment went through. Send the same payment again in 5 s; do not sign a new one.',
    retryIn(5),
  )

export type PaymentNotice = {
  readonly trace: Trace
  readonly payment: Pick<Presented, 'version' | 'offer' | 'payer' | 'challenge'>
  /** When the payment was taken. */
  readonly at: Instant
}

/** Whether an answer under this trace says that a payment was taken. */
export const tellsPayment = ({ headers }: Trace): boolean =>
  headers['payment-response'] !== undefined || headers['payment-receipt'] !== undefined

/** Puts the headers of a settled payment on the answer; `units` if they differ from what was signed. */
export const addPaidHeaders = (
  { trace, payment, at }: PaymentNotice,
  transaction: string,
  units?: string,
  extra?: object,
): void => {
  const { version, offer, payer, challenge } = payment
  const outcome = { version, offer, payer, success: true, transaction } as const
  Object.assign(trace.headers, {
    ...(challenge === undefined
      ? outcomeHeaders({
          ...outcome,
          ...(units === undefined ? {} : { units }),
          ...(extra === undefined ? {} : { extra }),
        })
      : {
          'payment-receipt': receiptHeader({
            method: challenge.method,
            reference: transaction,
            challengeId: challenge.id,
            at,
          }),
        }),
    'cache-control': 'private, no-store',
    'access-control-expose-headers': 'Payment-Receipt, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Change-Claim',
  })
}

/** Puts the headers of a payment that failed on the answer. */
export const addUnpaidHeaders = (
  { trace, payment }: Omit<PaymentNotice, 'at'>,
  errorReason: string,
): void => {
  const { version, offer, payer, challenge } = payment
  // Problem details say it to payers by the scheme `Payment`.
  if (challenge !== undefined) return
  Object.assign(trace.headers, outcomeHeaders({ version, offer, payer, success: false, errorReason }))
}
