/**
 * Charges shared payment tokens, in the place of a facilitator: a payment of the scheme `Payment` is begun, settled and
 * found again after a crash as one of x402 is. Source: Stripe, "Shared payment tokens" and "Idempotent requests".
 */
import type Stripe from 'stripe'
import type { Log } from '../core/log.ts'
import { type Clock, HOUR_MS, type Instant } from '../core/time.ts'
import { CENT } from '../ledger/invoice.ts'
import type { StripeSettings } from './stripe-parts.ts'
import { refusalOf } from './stripe-requests.ts'
import type { Facilitator, FacilitatorSettled } from './x402/facilitator.ts'
import type { Offer } from './x402/offer.ts'

/** What payers without a key can pay at Stripe, and what charges them. */
export type CardRail = { readonly offer: Offer; readonly settle: Facilitator['settle'] }

/** The part of Stripe's library that is needed here. */
type Requests = {
  readonly paymentIntents: Pick<Stripe['paymentIntents'], 'create' | 'retrieve' | 'cancel' | 'search'>
}

/** The method `stripe` makes it, and the store keeps it while the outcome is open. */
type Asked = {
  /** Of this challenge and this token, so that a repeat gets Stripe's first answer and charges nothing. */
  readonly key: string
  readonly token: string
  readonly cents: string
  /** In seconds: by then the first request was made. */
  readonly validBefore: number
}

/** Stripe's minimum in US dollars. */
const LEAST_CENTS = 50n
/** Shared payment tokens are in Stripe's preview. */
const PREVIEW = '2026-07-29.preview'
/** The metadata name under which a payment carries its key. */
const PAYMENT = 'turnpike_payment'
/** Stripe keeps first answers for 24 hours; the first request is less than two older than the challenge's end. */
const REMEMBERED_MS = 22 * HOUR_MS

const NO_ANSWER: FacilitatorSettled = { outcome: 'unknown', reason: 'no_answer' }

/** Stripe does not let the operator's key charge tokens: no fault of the payer's, whose earlier try may have been charged. */
const KEY_REFUSED: FacilitatorSettled = { outcome: 'refused', reason: 'method_unavailable' }

const refused = (reason: string): FacilitatorSettled => ({ outcome: 'refused', reason, certain: true })

export type CardTerms = {
  readonly clock: Pick<Clock, 'now'>
  /** How long a request may last. */
  readonly settleMs: number
}

/** Undefined where the operator has no profile that tokens could be granted to. */
export const openCardRail = (
  stripe: Requests,
  {
    settings: { networkId, paymentMethodTypes = ['card'] },
    log,
  }: { readonly settings: Pick<StripeSettings, 'networkId' | 'paymentMethodTypes'>; readonly log: Log },
  { clock, settleMs }: CardTerms,
): CardRail | undefined =>
  networkId === undefined
    ? undefined
    : {
        offer: {
          network: `stripe:${networkId}`,
          asset: 'usd',
          name: 'USD',
          version: '1',
          nanoPerUnit: CENT,
          payTo: networkId,
          stripe: { least: LEAST_CENTS, paymentMethodTypes },
        },
        settle: async ({ payload }) => {
          const asked = payload as Asked
          const answer = await (isForgotten(asked, clock.now())
            ? found(stripe, asked, settleMs)
            : charge(stripe, asked, settleMs))
          if (answer === KEY_REFUSED)
            log.error('Stripe refuses STRIPE_SECRET_KEY, so nobody can pay by card', { kind: 'mpp' })
          else if (answer.outcome !== 'settled')
            log.warn('a shared payment token was not charged', { kind: 'mpp', outcome: answer.reason })
          return answer
        },
      }

/** A facilitator that has what is paid at Stripe settled there. Only the charge itself shows whether a token is good. */
export const withCards = (facilitator: Facilitator, card: CardRail): Facilitator => {
  const isCard = (requirements: object): boolean =>
    Reflect.get(requirements, 'network') === card.offer.network
  return {
    supported: facilitator.supported,
    verify: async (sent) => (isCard(sent.requirements) ? { outcome: 'valid' } : facilitator.verify(sent)),
    settle: (sent) => (isCard(sent.requirements) ? card.settle(sent) : facilitator.settle(sent)),
  }
}

const isOfKey = (error: unknown): boolean =>
  error instanceof Error && [401, 403].includes(Number(Reflect.get(error, 'statusCode')))

const isForgotten = ({ validBefore }: Asked, now: Instant): boolean =>
  now > validBefore * 1000 + REMEMBERED_MS

const optionsOf = (settleMs: number) => ({ timeout: settleMs, maxNetworkRetries: 0 })

/** One try: the payer sends the same again, and so do the rounds. */
const charge = async (
  stripe: Requests,
  { key, token, cents }: Asked,
  settleMs: number,
): Promise<FacilitatorSettled> => {
  const params = {
    amount: Number(cents),
    currency: 'usd',
    confirm: true,
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' as const },
    description: 'A call to a model gateway',
    metadata: { [PAYMENT]: key },
    // Not in the library's types yet.
    shared_payment_granted_token: token,
  }
  const options = optionsOf(settleMs)
  const made = await stripe.paymentIntents
    .create(params, { ...options, apiVersion: PREVIEW, idempotencyKey: key })
    .catch((error: unknown) => (isOfKey(error) ? ('of_key' as const) : refusalOf(error)))
  if (made === 'of_key') return KEY_REFUSED
  if (typeof made === 'string') return made === 'unknown' ? NO_ANSWER : refused(made)
  return ended(stripe, made, options).catch(() => NO_ANSWER)
}

/** How a payment ended. One that its holder would have to confirm is canceled, as its payer hears no and pays again. */
const ended = async (
  stripe: Requests,
  { id, status: first }: Stripe.PaymentIntent,
  options: Stripe.RequestOptions,
): Promise<FacilitatorSettled> => {
  // A repeat tells the first answer, which may be old.
  const { status } =
    first === 'succeeded' ? { status: first } : await stripe.paymentIntents.retrieve(id, {}, options)
  if (status === 'succeeded') return { outcome: 'settled', transaction: id }
  if (status === 'processing') return { outcome: 'unknown', reason: status }
  if (status !== 'canceled') await stripe.paymentIntents.cancel(id, {}, options)
  return refused(first === 'requires_action' ? 'authentication_required' : 'card_declined')
}

/**
 * Looks for a payment whose first answer Stripe has forgotten: to ask again could charge again. One that is under way may still be
 * paid, and so may one that waits for its holder, until it is canceled.
 */
const found = async (stripe: Requests, { key }: Asked, settleMs: number): Promise<FacilitatorSettled> => {
  try {
    const { data } = await stripe.paymentIntents.search({ query: `metadata['${PAYMENT}']:'${key}'` })
    const made = data.find(({ status }) => status === 'succeeded') ?? data[0]
    return made === undefined ? refused('payment_expired') : await ended(stripe, made, optionsOf(settleMs))
  } catch {
    return NO_ANSWER
  }
}
