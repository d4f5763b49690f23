/** Stripe: sends payers to Checkout, and hears by signed events what was paid, refunded and disputed. */
import type Stripe from 'stripe'
import { isObject } from '../core/json-body.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import { invalid, Refusal, refuse, unavailable } from '../core/refusal.ts'
import type { Secret } from '../core/secret.ts'
import { CENT } from '../ledger/invoice.ts'
import type { CheckoutStore } from '../store/funding-port.ts'
import { CHECKOUT, type Meaning, meaningOf } from './stripe-events.ts'

export type StripeSettings = {
  readonly key: Secret
  /** Several while the secret is being changed. */
  readonly webhookSecrets: readonly Secret[]
  readonly baseUrl: string
  /** Where payers come back to; without it they see the state of their checkout. */
  readonly returnUrl: string | undefined
}

type CheckoutAsk = {
  readonly walletId: string
  readonly invoiceId?: string
  readonly amount: Nano
  /** What the payer reads. */
  readonly label: string
  /** The address of this server as the caller used it. */
  readonly origin: string
}

export type StripePayments = {
  /** Opens a session of Stripe's Checkout; a Refusal when Stripe fails. */
  checkout(ask: CheckoutAsk): Promise<{ readonly id: string; readonly url: string } | Refusal>
  /** Takes in an event, by its raw bytes. A Refusal makes Stripe send it again later. */
  receive(raw: Uint8Array, signature: string | null): Promise<'done' | 'replayed' | 'ignored' | Refusal>
}

type Parts = {
  readonly settings: StripeSettings
  readonly store: CheckoutStore
  readonly log: Log
  readonly newId: () => string
}

/** Events older than this are refused, so that a recorded one is of no use later. */
const TOLERANCE_SECONDS = 300
const TIMEOUT_MS = 15_000

/** Loads the library, which takes a while, only for a server that takes payments. */
export const openStripe = async (parts: Parts): Promise<StripePayments> => {
  const { default: Client } = await import('stripe')
  const { key, baseUrl } = parts.settings
  const { hostname, port, protocol } = new URL(baseUrl)
  const stripe = new Client(key.reveal(), {
    host: hostname,
    ...(port === '' ? {} : { port }),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: TIMEOUT_MS,
    // Each request has its own idempotency key, so a repeat cannot open a second session.
    maxNetworkRetries: 2,
    telemetry: false,
  })
  return {
    checkout: (ask) => openSession(stripe, parts, ask),
    receive: async (raw, signature) => {
      const event = await verified(stripe, parts.settings, raw, signature)
      if (event instanceof Refusal) return event
      if (!isEvent(event)) return 'ignored'
      const live = /^[a-z]+_live_/.test(key.reveal())
      if (event.livemode !== live) {
        parts.log.warn('an event of the other mode of Stripe was ignored', { kind: event.type })
        return 'ignored'
      }
      return apply(stripe, parts, event.type, meaningOf(event))
    },
  }
}

/** The library looks at the signature only, not at what was signed. */
const isEvent = (value: unknown): boolean =>
  isObject(value) && typeof value.type === 'string' && isObject(value.data) && isObject(value.data.object)

/** The event, if one of the secrets signed these very bytes a short while ago. */
const verified = async (
  stripe: Stripe,
  { webhookSecrets }: StripeSettings,
  raw: Uint8Array,
  signature: string | null,
): Promise<Stripe.Event | Refusal> => {
  for (const secret of webhookSecrets)
    try {
      return await stripe.webhooks.constructEventAsync(
        Buffer.from(raw),
        signature ?? '',
        secret.reveal(),
        TOLERANCE_SECONDS,
      )
    } catch {
      // Another secret may fit; what failed is not told, so that nothing is learnt from it.
    }
  return invalid('Stripe-Signature', 'The signature of the event is missing, wrong or too old.')
}

const openSession = async (
  stripe: Stripe,
  { settings, store, log, newId }: Parts,
  ask: CheckoutAsk,
): Promise<{ id: string; url: string } | Refusal> => {
  const id = `chk_${newId().replaceAll('-', '')}`
  const { walletId, invoiceId, amount, label } = ask
  await store.openCheckout({ id, walletId, amount, ...(invoiceId === undefined ? {} : { invoiceId }) })
  const back =
    settings.returnUrl === undefined
      ? `${ask.origin}/api/wallet/checkout/${id}`
      : `${settings.returnUrl}${settings.returnUrl.includes('?') ? '&' : '?'}checkout=${id}`
  try {
    const { url } = await stripe.checkout.sessions.create(
      {
        mode: 'payment',
        client_reference_id: id,
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: 'usd',
              unit_amount: Number(amount / CENT),
              product_data: { name: label },
            },
          },
        ],
        metadata: { [CHECKOUT]: id },
        payment_intent_data: { metadata: { [CHECKOUT]: id } },
        success_url: back,
        cancel_url: back,
      },
      { idempotencyKey: id },
    )
    if (url !== null) return { id, url }
    log.error('Stripe opened a session without an address', { kind: 'checkout' })
  } catch (error) {
    log.error('Stripe failed', { kind: 'checkout', error: reasonOf(error) })
  }
  return refuse('upstream_error', 'Stripe did not open a checkout; nothing was charged. Try again later.', {
    members: { provider: 'stripe' },
  })
}

/** The kind of an error and never its text, which may quote what was sent. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string' ? `${error.constructor.name} ${code}` : error.constructor.name
}

const apply = async (
  stripe: Stripe,
  { store, log }: Parts,
  kind: string,
  meaning: Meaning,
): Promise<'done' | 'replayed' | 'ignored' | Refusal> => {
  if (meaning.does === 'nothing') return 'ignored'
  if (meaning.does === 'credit') {
    const outcome = await store.creditPayment(meaning)
    log.info('a payment came in', { kind, ended: outcome, charged: meaning.amount })
    if (outcome === 'posted') return 'done'
    return outcome === 'replayed' ? 'replayed' : 'ignored'
  }
  const outcome = await store.takeBack(meaning)
  log.warn('a payment was taken back or given again', { kind, ended: outcome, charged: meaning.outstanding })
  if (outcome === 'posted') return 'done'
  if (outcome === 'replayed') return 'replayed'
  return isOurs(stripe, store, meaning.payment)
}

/** Taken back before it was credited: events come in any order. Ours is asked for again; another product's is not. */
const isOurs = async (
  stripe: Stripe,
  store: CheckoutStore,
  payment: string,
): Promise<'ignored' | Refusal> => {
  let checkoutId: string | undefined
  try {
    checkoutId = (await stripe.paymentIntents.retrieve(payment)).metadata[CHECKOUT]
  } catch {
    return unavailable('Stripe could not be asked whose payment this is.')
  }
  if (checkoutId === undefined || (await store.checkout(checkoutId)) === undefined) return 'ignored'
  return unavailable('The payment of which money is taken back is not credited yet.')
}
