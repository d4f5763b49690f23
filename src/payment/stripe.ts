/** Stripe: payers at Checkout, saved cards, and signed events that report payments, refunds and disputes. */
import type Stripe from 'stripe'
import { isObject } from '../core/json-body.ts'
import type { Nano } from '../core/money.ts'
import { invalid, Refusal, unavailable } from '../core/refusal.ts'
import type { CheckoutStore } from '../store/funding/funding-port.ts'
import type { DueTopUp, TopUpPause } from '../store/funding/top-up-port.ts'
import { CHECKOUT, type Meaning, meaningOf } from './stripe-events.ts'
import type { StripeParts, StripeSettings } from './stripe-parts.ts'
import { chargeSaved, openSession, type StripeCheckout } from './stripe-requests.ts'
import { type CardRail, type CardTerms, openCardRail } from './stripe-tokens.ts'

export type StripePayments = {
  /** Opens a session of Stripe's Checkout; a Refusal when Stripe fails. */
  checkout(ask: StripeCheckout): Promise<{ readonly id: string; readonly url: string } | Refusal>
  /** Charges a saved payment method; for a repeat of the same payment Stripe returns its first answer. */
  charge(topUp: DueTopUp): Promise<'paid' | TopUpPause | 'unknown'>
  /** Makes Stripe forget a payment method. */
  detach(method: string): Promise<void>
  readonly topUpDailyMax: Nano
  /** Takes shared payment tokens, where they are on. */
  cardRail(terms: CardTerms): CardRail | undefined
  /** Processes an event, given its raw bytes. A Refusal makes Stripe send it again later. */
  receive(raw: Uint8Array, signature: string | null): Promise<'done' | 'replayed' | 'ignored' | Refusal>
}

/** Older events are refused, so that a recorded one is useless later; so are events as far ahead of the clock. */
const TOLERANCE_SECONDS = 300
const TIMEOUT_MS = 15_000

/** Loads the library, which takes a while, only on servers that take payments. */
export const openStripe = async (parts: StripeParts): Promise<StripePayments> => {
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
    charge: (topUp) => chargeSaved(stripe, parts.log, topUp),
    detach: async (method) => {
      await stripe.paymentMethods.detach(method)
    },
    topUpDailyMax: parts.settings.topUpDailyMax,
    cardRail: (terms) => openCardRail(stripe, parts, terms),
    receive: async (raw, signature) => {
      const event = await verified(stripe, parts.settings, raw, signature)
      if (event instanceof Refusal) return event
      if (!isEvent(event)) return 'ignored'
      const live = /^[a-z]+_live_/.test(key.reveal())
      if (event.livemode !== live) {
        parts.log.warn("an event of Stripe's other mode was ignored", { kind: event.type })
        return 'ignored'
      }
      return apply(stripe, parts, event.type, meaningOf(event))
    },
  }
}

/** The library checks only the signature, not what was signed. */
const isEvent = (value: unknown): boolean =>
  isObject(value) && typeof value.type === 'string' && isObject(value.data) && isObject(value.data.object)

/** The event, if one of the secrets signed exactly these bytes recently. */
const verified = async (
  stripe: Stripe,
  { webhookSecrets }: StripeSettings,
  raw: Uint8Array,
  signature: string | null,
): Promise<Stripe.Event | Refusal> => {
  // The library only checks for old events: an event dated in the future could be replayed until then.
  if (isAhead(signature)) return wrongSignature()
  for (const secret of webhookSecrets)
    try {
      return await stripe.webhooks.constructEventAsync(
        Buffer.from(raw),
        signature ?? '',
        secret.reveal(),
        TOLERANCE_SECONDS,
      )
    } catch {
      // Another secret may fit. The message does not say what failed, so that nobody learns anything from it.
    }
  return wrongSignature()
}

const wrongSignature = (): Refusal =>
  invalid('Stripe-Signature', 'The signature of the event is missing, wrong, too old or dated in the future.')

const isAhead = (signature: string | null): boolean => {
  const latest = Date.now() / 1000 + TOLERANCE_SECONDS
  return [...(signature ?? '').matchAll(/(?:^|,)\s*t=([^,]*)/g)].some(([, at]) => !(Number(at) <= latest))
}

const apply = async (
  stripe: Stripe,
  { store, log }: StripeParts,
  kind: string,
  meaning: Meaning,
): Promise<'done' | 'replayed' | 'ignored' | Refusal> => {
  if (meaning.does === 'nothing') return 'ignored'
  if (meaning.does === 'credit') {
    const outcome = await store.creditPayment(meaning)
    log.info('a payment arrived', { kind, ended: outcome, charged: meaning.amount })
    const { checkoutId, saved } = meaning
    if (saved !== undefined && outcome !== 'unknown') await store.savePaymentMethod({ checkoutId, ...saved })
    if (outcome === 'posted') return 'done'
    return outcome === 'replayed' ? 'replayed' : 'ignored'
  }
  if (meaning.does === 'fail')
    return (await store.topUpAnswered(meaning.checkoutId, meaning.why)) ? 'done' : 'ignored'
  const outcome = await store.takeBack(meaning)
  log.warn('a payment was taken back or restored', { kind, ended: outcome, charged: meaning.outstanding })
  if (outcome === 'posted') return 'done'
  if (outcome === 'replayed') return 'replayed'
  return isOurs(stripe, store, meaning.payment)
}

/**
 * Money taken back before it was credited, because events arrive in any order. For our own payment we ask Stripe to
 * send the event again; another product's is ignored.
 */
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
  return unavailable('The payment that this takes money back from is not credited yet.')
}
