/** The price of a paid call, and the 402 that quotes it. */
import type { Ceiling } from '../../admission/ceiling.ts'
import { greatest, type Nano } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { challengesFor, type Realm } from '../../payment/mpp/methods.ts'
import { type ChangePolicy, paymentRequired } from '../../payment/required.ts'
import { nanoOfUnits, type Offer, unitsFor } from '../../payment/x402/offer.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import { checkQuote, makeQuote } from '../../payment/x402/quote.ts'
import {
  type Resource,
  requirementsUpto,
  requirementsV1,
  requirementsV2,
  requirementsVoucher,
  type UptoTerms,
  type VoucherTerms,
} from '../../payment/x402/required.ts'
import type { X402 } from '../../payment/x402.ts'
import type { CheckedRequest } from '../enter/incoming.ts'
import { type Plan, planCall } from '../hold/reserve.ts'
import type { Answer } from '../parts/answer.ts'
import { tooDear } from '../parts/credits.ts'
import type { Gateway } from '../parts/gateway.ts'

/** Thrown to end a call with the 402 that quotes it; the reason is a code. */
export class PaymentDue extends Error {
  readonly reason: string
  /** Where the payer's channel stands, for one who lost count. */
  readonly stands: object | undefined

  constructor(reason: string, stands?: object) {
    super(reason)
    this.reason = reason
    this.stands = stands
  }
}

type Offers = readonly [Offer, ...Offer[]]

const withinUnit = (ceiling: Ceiling, unit: Nano): Ceiling =>
  ceiling && { ...ceiling, amount: ceiling.amount - (ceiling.amount % unit) }

/** The bound of a paid call and its maximum cost. The payment never exceeds the caller's ceiling. */
export const planPaid = (
  gateway: Gateway,
  request: CheckedRequest,
  offers: Offers,
  outputTokens: number,
): Plan | Refusal => {
  const unit = offers.reduce((largest, offer) => greatest(largest, offer.nanoPerUnit), 1n)
  const plan = planCall(gateway, { ...request, ceiling: withinUnit(request.ceiling, unit) }, outputTokens)
  if (plan instanceof Refusal || request.ceiling === undefined) return plan
  const price = offers.reduce(
    (highest, offer) => greatest(highest, nanoOfUnits(offer, unitsFor(offer, plan.amount))),
    0n,
  )
  return price > request.ceiling.amount ? tooDear(gateway, {}, price, request.ceiling) : plan
}

/** The cards whose price, with their minimum, is within the caller's ceiling. */
export const cardsWithin = ({ cards }: X402, bound: Nano, ceiling: Ceiling): readonly Offer[] =>
  cards.filter(
    (offer) => ceiling === undefined || nanoOfUnits(offer, unitsFor(offer, bound)) <= ceiling.amount,
  )

/** What can be paid for: a call, or an invoice. */
export type Quotable = {
  readonly x402: X402
  readonly offers: Offers
  /** The most it can cost. */
  readonly bound: Nano
  /** The output bound that is quoted in place of the model's own. */
  readonly outputTokens: number | undefined
  /** Distinguishes the request from any other. */
  readonly fingerprint: string
  /**
   * The same under the server's previous secret, while the secret changes: earlier quotes and payments are for it too.
   */
  readonly fingerprintBefore: string | undefined
  readonly resource: Resource
  readonly change: ChangePolicy
  /** Where the scheme `Payment` is taken too, what its challenges name; `readsProblems` once the request brought one. */
  readonly mpp?:
    | (Realm & {
        readonly readsProblems: boolean
        readonly accepts: string | undefined
        /** What it takes beside the offers. */
        readonly cards: readonly Offer[]
      })
    | undefined
  /** How long a payment that is settled after its call must stay good; undefined where no such payment is taken. */
  readonly uptoSeconds: number | undefined
  /** How long what is paid for may take; undefined where no vouchers are taken. */
  readonly voucherMs: number | undefined
}

/** A call ends, and what it was charged is claimed, well before a payer who leaves has its deposit back. */
const SHARE_OF_EXIT = 2

const voucherTerms = (
  { x402, voucherMs }: Quotable,
  offer: Offer,
  stands?: object,
): VoucherTerms | undefined => {
  const terms = x402.channelTerms(offer)
  if (terms === undefined || voucherMs === undefined) return undefined
  if (voucherMs * SHARE_OF_EXIT > terms.withdrawSeconds * 1000) return undefined
  return { ...terms, seconds: x402.options.timeoutSeconds, stands }
}

const uptoTerms = ({ x402, bound, uptoSeconds }: Quotable, offer: Offer): UptoTerms | undefined => {
  const facilitator = x402.uptoBy(offer, bound)
  return facilitator === undefined || uptoSeconds === undefined
    ? undefined
    : { facilitator, seconds: uptoSeconds }
}

/** The 402 with a fresh quote; nothing is stored for it. */
export const quoteAnswer = (gateway: Gateway, it: Quotable, error: string, stands?: object): Answer => {
  const { x402, bound, fingerprint, resource, outputTokens, change, mpp } = it
  const { timeoutSeconds } = x402.options
  const now = gateway.clock.now()
  const quoteIn = (offer: Offer) =>
    makeQuote(x402.hash, offer, { fingerprint, bound }, { now, timeoutSeconds })
  const quotedIn = (offer: Offer) => ({
    offer,
    quote: quoteIn(offer),
    upto: uptoTerms(it, offer),
    voucher: voucherTerms(it, offer, stands),
  })
  const [first, ...more] = it.offers
  const quoted = [quotedIn(first), ...more.map(quotedIn)] as const
  const prices = [
    ...quoted.map(({ offer, quote }) => ({ offer, ...quote })),
    ...(mpp?.cards ?? []).map((offer) => ({ offer, ...quoteIn(offer) })),
  ]
  const { status, headers, body } = paymentRequired({
    quoted,
    challenges: mpp === undefined ? [] : challengesFor(x402.hash, mpp, prices, fingerprint),
    readsProblems: mpp?.readsProblems === true,
    resource,
    timeoutSeconds,
    error,
    outputTokens,
    change,
  })
  return { status, headers, body: new TextEncoder().encode(JSON.stringify(body)) }
}

/** The address of what is paid for, as callers know this server; an MCP tool has a name instead. */
export const resourceAt = (x402: X402, url: string, description: string): Resource => {
  const { protocol, origin, pathname } = new URL(url)
  if (protocol === 'mcp:') return { url, description }
  return { url: (x402.options.publicUrl ?? origin) + pathname, description }
}

/** The fingerprints of what is paid for, made from a text that no other request has. */
export const fingerprintsOf = ({ hash }: Gateway, text: string) => ({
  fingerprint: hash(text),
  fingerprintBefore: hash.before?.(text),
})

type Fingerprints = Pick<Quotable, 'fingerprint' | 'fingerprintBefore'>

/**
 * The fingerprints under which a guest's payment is taken. The chain shows everything that a guest signs, but not the
 * quote it is for: without that a stranger who knows the request as well could have the answer, and the change. Version 1
 * names no quote. What a process of the version before took has the fingerprint of the request.
 */
export const underQuote = (
  { hash }: Gateway,
  own: Fingerprints,
  quoteId: string | undefined,
): Fingerprints =>
  quoteId === undefined
    ? own
    : {
        fingerprint: hash(`${own.fingerprint} ${quoteId}`),
        fingerprintBefore: hash.before?.(`${own.fingerprintBefore} ${quoteId}`) ?? own.fingerprint,
      }

/** Whether a payment was taken for this, under either secret. */
export const isFor = (
  payment: { readonly fingerprint: string },
  { fingerprint, fingerprintBefore }: Fingerprints,
): boolean => payment.fingerprint === fingerprint || payment.fingerprint === fingerprintBefore

/** Throws unless the payment is what we quoted for this request. */
export const checkQuoted = (gateway: Gateway, it: Quotable, presented: Presented): void => {
  const reason = quoteFault(gateway, it, presented)
  if (reason !== undefined) throw new PaymentDue(reason)
}

/** Why the payment is not what we quoted for this request; undefined if it is. */
export const quoteFault = (gateway: Gateway, it: Quotable, presented: Presented): string | undefined => {
  const { x402, bound, fingerprint, fingerprintBefore } = it
  const { units, quoteId, offer, challenge } = presented
  const now = gateway.clock.now()
  if (challenge !== undefined) {
    // It was found to be ours, for this request and this amount.
    return Date.parse(challenge.expires) < now ? 'quote_expired' : undefined
  }
  const paid = { units, quoteId, now }
  const verdict = checkQuote(x402.hash, offer, { fingerprint, fingerprintBefore, bound }, paid)
  if (verdict !== 'good') return verdict
  // The same quote is offered for both schemes only where the bound allows it.
  if (presented.scheme === 'upto' && uptoTerms(it, offer) === undefined) return 'quote_mismatch'
  if (presented.scheme === 'batch-settlement' && voucherTerms(it, offer) === undefined)
    return 'quote_mismatch'
  return undefined
}

/** What we asked for, as the facilitator hears it: in this server's own words, never the payer's. */
export const requirementsOf = (it: Quotable, presented: Presented) => {
  const { x402, resource } = it
  const { offer, units, scheme, challenge } = presented
  const { timeoutSeconds } = x402.options
  // A challenge stays between payer and server.
  const quoteId = challenge === undefined ? presented.quoteId : undefined
  const terms = scheme === 'upto' ? uptoTerms(it, offer) : undefined
  if (terms !== undefined) return requirementsUpto(offer, units, quoteId, terms)
  const voucher = scheme === 'batch-settlement' ? voucherTerms(it, offer) : undefined
  if (voucher !== undefined) return requirementsVoucher(offer, units, quoteId, voucher)
  return presented.version === 1
    ? requirementsV1(offer, units, resource, timeoutSeconds)
    : requirementsV2(offer, units, quoteId, timeoutSeconds)
}
