/** The money part of the route table: checkouts, change of payments, Stripe's events, post-paid billing. */
import { getBilling, getStatement, payInvoice } from './billing.ts'
import { deletePaymentMethod, getCheckout, postCheckout, stripeWebhook } from './funding.ts'
import type { Route } from './route.ts'
import { paymentRequired } from './schema/errors.ts'
import {
  billing,
  checkout,
  checkoutState,
  claimAnswer,
  methodDeleted,
  paymentAnswer,
  received,
  statement,
} from './schema/funding.ts'
import { checkoutRequest, claimOfChange, paymentRequest, wrongClaim } from './schema/funding-bodies.ts'
import { claimChange } from './wallet-claim.ts'
import { withBody } from './with-body.ts'

export const fundingRoutes: readonly Route[] = [
  withBody({
    method: 'POST',
    path: '/api/wallet/checkout',
    summary:
      "Opens a checkout of Stripe that funds the key's wallet, and saves the card for its auto_top_up rule if requested; 404 if the operator has not set up Stripe.",
    auth: 'bearer',
    body: checkoutRequest,
    answer: checkout,
    statuses: [201],
    handler: postCheckout,
  }),
  {
    method: 'GET',
    path: '/api/wallet/checkout/:id',
    summary: 'Whether a checkout is paid.',
    auth: 'none',
    answer: checkoutState,
    handler: getCheckout,
  },
  {
    method: 'DELETE',
    path: '/api/wallet/payment-method',
    summary: 'Forgets the card that a checkout saved; it is not charged any more.',
    auth: 'bearer',
    answer: methodDeleted,
    handler: deletePaymentMethod,
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
  {
    method: 'GET',
    path: '/api/billing',
    summary: 'Post-paid billing (mpp): the credit line beside the wallet, the amount owed, and the invoices.',
    auth: 'bearer',
    answer: billing,
    handler: getBilling,
  },
  {
    method: 'GET',
    path: '/api/billing/statements/:month',
    summary: 'The statement of one UTC month, such as 2026-11.',
    auth: 'bearer',
    answer: statement,
    handler: getStatement,
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
