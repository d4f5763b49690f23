/** What a Stripe event means for the ledger. Money must be whole cents of USD; anything else is not ours. */
import type Stripe from 'stripe'
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import { CENT } from '../ledger/invoice.ts'
import type { TopUpPause } from '../store/funding/top-up-port.ts'

/** A payment method of a Stripe customer, saved for unattended payments at this instant. */
type SavedMethod = { readonly customer: string; readonly method: string; readonly at: Instant }

export type Meaning =
  | {
      readonly does: 'credit'
      readonly checkoutId: string
      readonly payment: string
      readonly amount: Nano
      readonly saved?: SavedMethod
    }
  /** Nothing was paid. This ends only unattended payments; a payer may try again. */
  | { readonly does: 'fail'; readonly checkoutId: string; readonly why: TopUpPause }
  /**
   * `outstanding`: what is refunded or disputed now, less what came back to us through failed refunds and won disputes.
   */
  | { readonly does: 'take'; readonly id: string; readonly payment: string; readonly outstanding: Nano }
  | { readonly does: 'nothing'; readonly why: string }

/** The metadata name under which a session and its payment carry our checkout's id. */
export const CHECKOUT = 'turnpike_checkout'

const nothing = (why: string): Meaning => ({ does: 'nothing', why })

/** A name of Stripe's or ours; undefined if it is not one, which can happen in a signed event of another form. */
const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w-]{1,255}$/.test(value) ? value : undefined

const idOf = (reference: string | { readonly id: string } | null | undefined): string | undefined =>
  nameOf(typeof reference === 'object' ? reference?.id : reference)

const checkoutOf = ({ metadata }: { readonly metadata: Stripe.Metadata | null }): string | undefined =>
  nameOf(metadata?.[CHECKOUT])

const amountOf = (cents: number | null | undefined, currency: string | null | undefined): Nano | undefined =>
  currency === 'usd' && typeof cents === 'number' && Number.isSafeInteger(cents) && cents > 0
    ? BigInt(cents) * CENT
    : undefined

/** Reads an event whose signature was valid. Kinds that do not move money mean nothing here. */
export const meaningOf = (event: Stripe.Event): Meaning => {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return ofSession(event.data.object)
    case 'payment_intent.succeeded':
      return ofPayment(event.data.object)
    case 'payment_intent.payment_failed':
      return ofFailure(event.data.object)
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return ofRefund(event.data.object)
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return ofDispute(event.data.object, event.type === 'charge.dispute.funds_reinstated')
    default:
      return nothing('the kind moves no money')
  }
}

const ofSession = (session: Stripe.Checkout.Session): Meaning => {
  const checkoutId = checkoutOf(session)
  if (checkoutId === undefined) return nothing('the session is not ours')
  // A bank debit completes before it is paid; its money comes with another event.
  if (session.payment_status !== 'paid') return nothing('the session is not paid yet')
  const payment = idOf(session.payment_intent)
  const amount = amountOf(session.amount_total, session.currency)
  if (payment === undefined || amount === undefined) return nothing('the session has no payment in USD')
  return { does: 'credit', checkoutId, payment, amount }
}

/**
 * The payment that its session also reports (it is credited once), or a payment without a session, which is only
 * reported here.
 */
const ofPayment = (intent: Stripe.PaymentIntent): Meaning => {
  const checkoutId = checkoutOf(intent)
  if (checkoutId === undefined) return nothing('the payment is not ours')
  const [payment, amount] = [idOf(intent), amountOf(intent.amount_received, intent.currency)]
  if (payment === undefined || amount === undefined) return nothing('the payment is not in USD')
  const [customer, method] = [idOf(intent.customer), idOf(intent.payment_method)]
  const saved =
    intent.setup_future_usage === 'off_session' &&
    customer !== undefined &&
    method !== undefined &&
    Number.isSafeInteger(intent.created)
      ? { saved: { customer, method, at: intent.created * 1000 } }
      : {}
  return { does: 'credit', checkoutId, payment, amount, ...saved }
}

const ofFailure = (intent: Stripe.PaymentIntent): Meaning => {
  const checkoutId = checkoutOf(intent)
  return checkoutId === undefined
    ? nothing('the payment is not ours')
    : { does: 'fail', checkoutId, why: declineOf(intent.last_payment_error?.code) }
}

/** What a code of Stripe's card errors means for the card's owner. */
export const declineOf = (code: string | undefined): TopUpPause =>
  code === 'authentication_required' || code === 'expired_card' ? code : 'card_declined'

const ofRefund = (refund: Stripe.Refund): Meaning => {
  const [id, payment] = [idOf(refund), idOf(refund.payment_intent)]
  const amount = amountOf(refund.amount, refund.currency)
  if (id === undefined || payment === undefined || amount === undefined)
    return nothing('the refund is of no payment in USD')
  const ended = refund.status === 'failed' || refund.status === 'canceled'
  return { does: 'take', id, payment, outstanding: ended ? 0n : amount }
}

const ofDispute = (dispute: Stripe.Dispute, reinstated: boolean): Meaning => {
  const [id, payment, status] = [idOf(dispute), idOf(dispute.payment_intent), nameOf(dispute.status)]
  const amount = amountOf(dispute.amount, dispute.currency)
  if (id === undefined || payment === undefined || status === undefined || amount === undefined)
    return nothing('the dispute is of no payment in USD')
  // An inquiry withdraws no money.
  if (status.startsWith('warning_')) return nothing('an inquiry moves no money')
  const given = givenBack(dispute)
  const ended = status === 'won' || given > amount || (reinstated && status !== 'lost' && given === 0n)
  return { does: 'take', id, payment, outstanding: ended ? 0n : amount - given }
}

/** What the balance got back. A dispute of a partly refunded payment can be lost and still return the refunded part. */
const givenBack = (dispute: Stripe.Dispute): Nano =>
  (Array.isArray(dispute.balance_transactions) ? dispute.balance_transactions : []).reduce(
    (sum, one) => sum + (amountOf(one?.amount, one?.currency) ?? 0n),
    0n,
  )
