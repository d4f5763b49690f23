/** The rest of the money part of the route table: what is no act, or is one only for a part. */

import { written } from '../../control/face.ts'
import { checkoutState, noStripe, stateOf } from '../../control/money/checkouts.ts'
import { isObject } from '../../core/json-body.ts'
import { usdNumber } from '../../core/money.ts'
import { must, refuse, unavailable } from '../../core/refusal.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { receiptKeysOf } from '../../gateway/parts/receipt.ts'
import { verifyReceipt } from '../../receipts/token.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import { readBody } from '../request/read-body.ts'
import { type BodyHandler, withBody } from '../request/with-body.ts'
import { at, byKey, type HttpCall, type Route } from '../route/route.ts'
import { paymentRequired } from '../schema/errors.ts'
import { claimAnswer, paymentAnswer, received } from '../schema/funding.ts'
import { type ClaimOfChange, claimOfChange, paymentRequest, wrongClaim } from '../schema/funding-bodies.ts'
import { payInvoice } from './billing.ts'

const claimChange: BodyHandler<ClaimOfChange> = async (gateway, call, read) => {
  takeGuestTurn(gateway, 'claim', originOfCall(gateway, call), call.trace)
  const caller = await callerOf(gateway, call)
  const body = await read()
  const payment = await paymentOf(gateway, body)
  const known = payment === undefined ? undefined : await gateway.store.payments.payment(payment)
  // The change of a payment that came with a key belongs to that key.
  if (payment === undefined || known === undefined || known.creditTo !== undefined)
    throw new HelperRefusal(
      'unknown_claim',
      'This is not the claim or the receipt of a payment without a key.',
    )
  const change = await gateway.payments.x402?.payChange(payment, caller.walletId)
  if (change === undefined) throw unavailable('The change cannot be paid out now.')
  if (change.outcome === 'paid') return json({ data: { credited_usd: usdNumber(change.amount) } })
  if (change.outcome === 'paid_before')
    throw new HelperRefusal('change_already_claimed', 'The change of that payment was claimed before.')
  throw new HelperRefusal(
    'not_served_yet',
    'A call of the payment is under way; its change is known when that has ended.',
  )
}

/** The payment that this claim, or this valid receipt, belongs to. */
const paymentOf = async (gateway: Gateway, body: ClaimOfChange): Promise<string | undefined> => {
  if ('claim' in body) return gateway.payments.x402?.paymentOfClaim(body.claim)
  const verdict = verifyReceipt(
    body.receipt,
    { keys: await receiptKeysOf(gateway), issuers: gateway.receipts?.issuers },
    gateway.clock.now(),
  )
  const payment = verdict.valid ? verdict.claims.payment : undefined
  return isObject(payment) && payment.mode === 'x402' && typeof payment.id === 'string'
    ? payment.id
    : undefined
}

const EVENT_BYTES_MAX = 512 * 1024

/**
 * The checkout's id is its secret: whoever has it may see whether it is paid, including a browser that returns from
 * Stripe.
 */
const getCheckout = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  if (gateway.payments.stripe === undefined) throw noStripe()
  const checkout = await gateway.store.funding.checkout(call.params.id ?? '')
  if (checkout === undefined) throw refuse('not_found', 'There is no such checkout.')
  return json(written(stateOf(checkout), 'number'))
}

/** Stripe repeats an event until it gets a 200, so we answer 200 to events that are not for us, too. */
const stripeWebhook = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { stripe } = gateway.payments
  if (stripe === undefined) throw noStripe()
  const raw = await readBody(gateway, call, EVENT_BYTES_MAX)
  let taken = false
  try {
    const outcome = must(await stripe.receive(raw, call.request.headers.get('stripe-signature')))
    taken = true
    return json({ received: true, outcome })
  } finally {
    gateway.watch.meters?.stripeEvent(taken)
  }
}

export const fundingRoutes: readonly Route[] = [
  {
    ...at('GET /api/wallet/checkout/:id'),
    summary: 'Whether a checkout is paid.',
    auth: 'none',
    answer: checkoutState,
    handler: getCheckout,
  },
  withBody({
    ...byKey('POST /api/wallet/claim'),
    summary:
      'Credits the change of an x402 payment that was made without a key to the wallet of the calling key, once.',
    helper: true,
    body: claimOfChange,
    otherwise: wrongClaim,
    answer: claimAnswer,
    handler: claimChange,
  }),
  {
    ...at('POST /api/webhooks/stripe'),
    summary: 'Where Stripe sends its signed events; 404 without STRIPE_WEBHOOK_SECRET.',
    auth: 'none',
    answer: received,
    headers: ['Stripe-Signature'],
    handler: stripeWebhook,
  },
  withBody({
    ...byKey('POST /api/billing/invoices/:id/pay'),
    summary:
      'Pays an invoice from the wallet, by x402 (402 with a quote, then the same with the payment), or opens a checkout of Stripe for it.',
    body: paymentRequest,
    answer: paymentAnswer,
    statuses: [200, 201],
    instead: paymentRequired,
    headers: ['X-Payment-Protocol', 'PAYMENT-SIGNATURE', 'X-PAYMENT'],
    handler: payInvoice,
  }),
]
