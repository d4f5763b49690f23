/** Requests to Stripe: a Checkout session for a payer, and unattended payments with a saved method. */
import type Stripe from 'stripe'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import { newIdOf } from '../core/time.ts'
import { CENT } from '../ledger/invoice.ts'
import type { DueTopUp, TopUpPause } from '../store/funding/top-up-port.ts'
import type { Actor } from '../store/people/event-port.ts'
import { CHECKOUT, declineOf } from './stripe-events.ts'
import type { StripeParts, StripeSettings } from './stripe-parts.ts'

export type StripeCheckout = {
  readonly walletId: string
  readonly invoiceId?: string
  readonly amount: Nano
  /** The text that the payer reads. */
  readonly label: string
  /** The address of this server as the caller used it. */
  readonly origin: string
  /** Saves the card for later payments, with the text to which the payer agrees. */
  readonly saves?: { readonly consent: string; readonly customer?: string }
  /** Where the payer returns to, in place of the operator's STRIPE_RETURN_URL or the state of the checkout. */
  readonly back?: string
  /** Recorded with the checkout. */
  readonly by: Actor
}

/** Opens a Checkout session. Its row is written first, so that no unknown payment can come in. */
export const openSession = async (
  stripe: Stripe,
  { settings, store, log }: StripeParts,
  ask: StripeCheckout,
): Promise<{ id: string; url: string } | Refusal> => {
  const id = newIdOf('chk')
  const { walletId, invoiceId, amount } = ask
  await store.openCheckout(
    { id, walletId, amount, ...(invoiceId === undefined ? {} : { invoiceId }) },
    ask.by,
  )
  try {
    const { url } = await stripe.checkout.sessions.create(sessionOf(settings, id, ask), {
      idempotencyKey: id,
    })
    if (url !== null) return { id, url }
    log.error('Stripe opened a session without an address', { kind: 'checkout' })
  } catch (error) {
    log.error('Stripe failed', { kind: 'checkout', error: reasonOf(error) })
  }
  return refuse('upstream_error', 'Stripe did not open a checkout; nothing was charged. Try again later.', {
    members: { provider: 'stripe' },
  })
}

const sessionOf = (
  { returnUrl }: StripeSettings,
  id: string,
  { amount, label, origin, saves, back: wantedPage }: StripeCheckout,
): Stripe.Checkout.SessionCreateParams => {
  const page = wantedPage ?? returnUrl
  const back =
    page === undefined
      ? `${origin}/api/wallet/checkout/${id}`
      : `${page}${page.includes('?') ? '&' : '?'}checkout=${id}`
  const product = { currency: 'usd', unit_amount: Number(amount / CENT), product_data: { name: label } }
  const metadata = { [CHECKOUT]: id }
  return {
    mode: 'payment',
    client_reference_id: id,
    line_items: [{ quantity: 1, price_data: product }],
    metadata,
    payment_intent_data: {
      metadata,
      ...(saves === undefined ? {} : { setup_future_usage: 'off_session' as const }),
    },
    ...(saves === undefined ? {} : savingOf(saves)),
    success_url: back,
    cancel_url: back,
  }
}

/** Cards only: a bank debit takes days to show whether it was paid. */
const savingOf = ({
  consent,
  customer,
}: NonNullable<StripeCheckout['saves']>): Partial<Stripe.Checkout.SessionCreateParams> => ({
  allowed_payment_method_types: ['card'],
  custom_text: { submit: { message: consent } },
  ...(customer === undefined ? { customer_creation: 'always' } : { customer }),
})

/**
 * Requests a payment with a saved method. Its id is the idempotency key and everything else is in its row, so a repeat
 * sends the same request, and Stripe returns the first answer. `unknown`: it may or may not have been paid.
 */
export const chargeSaved = async (
  stripe: Stripe,
  log: Log,
  { id, amount, customer, method }: DueTopUp,
): Promise<'paid' | TopUpPause | 'unknown'> => {
  try {
    const { status } = await stripe.paymentIntents.create(
      {
        amount: Number(amount / CENT),
        currency: 'usd',
        customer,
        payment_method: method,
        allowed_payment_method_types: ['card'],
        off_session: true,
        confirm: true,
        description: 'Model gateway credits, topped up by the rule of the wallet',
        metadata: { [CHECKOUT]: id },
      },
      { idempotencyKey: id },
    )
    if (status === 'succeeded' || status === 'processing') return 'paid'
    return status === 'requires_action' ? 'authentication_required' : 'card_declined'
  } catch (error) {
    const outcome = refusalOf(error)
    log.warn('a top-up was not paid', { kind: 'top_up', outcome, error: reasonOf(error) })
    return outcome
  }
}

/** Only an error about the request itself is a no. Any other error, such as being too busy, leaves the outcome open. */
export const refusalOf = (error: unknown): TopUpPause | 'unknown' => {
  const { type, code, statusCode } =
    error instanceof Error ? (error as Partial<Stripe.errors.StripeError>) : {}
  if (type === 'StripeCardError') return declineOf(code)
  if (type !== 'StripeInvalidRequestError' || (statusCode !== 400 && statusCode !== 404)) return 'unknown'
  return code === 'resource_missing' || code?.startsWith('payment_method') === true
    ? 'payment_method_gone'
    : 'refused_by_stripe'
}

/** The kind of an error and never its text, which may quote what was sent. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string' ? `${error.constructor.name} ${code}` : error.constructor.name
}
