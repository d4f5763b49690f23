/** The rest of the money part of the route table: what is no act, or is one only for a part. */
import { checkoutState } from '../../control/money/checkouts.ts'
import { withBody } from '../request/with-body.ts'
import type { Route } from '../route/route.ts'
import { paymentRequired } from '../schema/errors.ts'
import { claimAnswer, paymentAnswer, received } from '../schema/funding.ts'
import { claimOfChange, paymentRequest, wrongClaim } from '../schema/funding-bodies.ts'
import { payInvoice } from './billing.ts'
import { getCheckout, stripeWebhook } from './funding.ts'
import { claimChange } from './wallet-claim.ts'

export const fundingRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/wallet/checkout/:id',
    summary: 'Whether a checkout is paid.',
    auth: 'none',
    answer: checkoutState,
    handler: getCheckout,
  },
  withBody({
    method: 'POST',
    path: '/api/wallet/claim',
    summary:
      'Credits the change of an x402 payment that was made without a key to the wallet of the calling key, once.',
    auth: 'bearer',
    helper: true,
    body: claimOfChange,
    otherwise: wrongClaim,
    answer: claimAnswer,
    handler: claimChange,
  }),
  {
    method: 'POST',
    path: '/api/webhooks/stripe',
    summary: 'Where Stripe sends its signed events; 404 without STRIPE_WEBHOOK_SECRET.',
    auth: 'none',
    answer: received,
    headers: ['Stripe-Signature'],
    handler: stripeWebhook,
  },
  withBody({
    method: 'POST',
    path: '/api/billing/invoices/:id/pay',
    summary:
      'Pays an invoice from the wallet, by x402 (402 with a quote, then the same with the payment), or opens a checkout of Stripe for it.',
    auth: 'bearer',
    body: paymentRequest,
    answer: paymentAnswer,
    statuses: [200, 201],
    instead: paymentRequired,
    headers: ['X-Payment-Protocol', 'PAYMENT-SIGNATURE', 'X-PAYMENT'],
    handler: payInvoice,
  }),
]
