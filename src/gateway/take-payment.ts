/** Takes a payment by x402 and tells its payer how it went; whoever is told to pay pays again, so a 402 is a sure no. */
import type { JsonObject } from '../core/json-body.ts'
import { type Refusal, refuse, retryIn, unavailable } from '../core/refusal.ts'
import type { Presented } from '../payment/x402/presented.ts'
import { outcomeHeaders } from '../payment/x402/required.ts'
import type { Collected } from '../payment/x402/settlement.ts'
import type { X402 } from '../payment/x402.ts'
import type { WalletId } from '../tenancy/key.ts'
import { PaymentDue } from './payment-due.ts'
import type { Trace } from './trace.ts'

type Taking = {
  readonly x402: X402
  readonly trace: Trace
  readonly presented: Presented
  readonly requirements: JsonObject
  /** What is paid for: its id, and what tells it from any other. */
  readonly paidFor: string
  readonly fingerprint: string
  readonly invoiceId?: string
  /** The bearer's wallet, which gets what is left over; without one its holder gets a claim. */
  readonly creditTo: WalletId | undefined
}

/** Takes the payment, once however often it is sent, and gives the transaction on the chain. */
export const takePayment = async (it: Taking): Promise<string> => {
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
    tellPaid(it, collected.transaction)
    return collected.transaction
  }
  throw notTaken(it, collected)
}

/** What a payment that was not taken leads to. */
const notTaken = (
  { trace, presented }: Pick<Taking, 'trace' | 'presented'>,
  collected: Exclude<Collected, { outcome: 'settled' }>,
): PaymentDue | Refusal => {
  switch (collected.outcome) {
    case 'refused': {
      const { version, offer, payer } = presented
      const errorReason = collected.reason
      Object.assign(trace.headers, outcomeHeaders({ version, offer, payer, success: false, errorReason }))
      return new PaymentDue(errorReason)
    }
    case 'used':
      return new PaymentDue('payment_already_used')
    case 'unreachable':
      return unavailable('The facilitator of x402 payments cannot be asked now.')
    default:
      return unconfirmed()
  }
}

/** The 503 of a payment whose outcome is not known. */
export const unconfirmed = (): Refusal =>
  refuse(
    'payment_unconfirmed',
    'It is not known yet whether the payment went through. Send the same payment again in 5 s; do not sign a new one.',
    retryIn(5),
  )

/** Puts the headers of a settled payment on the answer. */
export const tellPaid = (
  { x402, trace, presented, creditTo }: Pick<Taking, 'x402' | 'trace' | 'presented' | 'creditTo'>,
  transaction: string,
): void => {
  const { version, offer, payer, id } = presented
  Object.assign(trace.headers, {
    ...outcomeHeaders({ version, offer, payer, success: true, transaction }),
    'cache-control': 'private, no-store',
    'access-control-expose-headers': 'PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Change-Claim',
    ...(creditTo === undefined ? { 'x-change-claim': x402.claimFor(id) } : {}),
  })
}
