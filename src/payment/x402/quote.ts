/**
 * Quotes: the price of one request, bound to it. A quote is not stored. Its id contains its expiry and proves, under
 * the server's secret, which request, amount, token and receiver it was made for. So asking for quotes costs no disk
 * space.
 */
import { timingSafeEqual } from 'node:crypto'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { type Offer, unitsFor } from './offer.ts'

export type Hash = KeyedHash<string>

/** What one request must pay, before a token is chosen. */
type QuotePrice = {
  /** Distinguishes the request from any other. */
  readonly fingerprint: string
  /** The same under the server's previous secret, while the secret changes. */
  readonly fingerprintBefore?: string | undefined
  /** The most it can cost. */
  readonly bound: Nano
}

export type Quote = { readonly id: string; readonly units: string; readonly expiresAt: Instant }

/** A quote is honoured for this long after the payer's own time is over. */
const GRACE_MS = 30_000

const proof = (
  hash: Hash,
  offer: Offer,
  it: { fingerprint: string; units: string; expires: string },
): string =>
  hash(
    `x402 quote ${it.fingerprint} ${it.units} ${offer.network} ${offer.asset} ${offer.payTo} ${it.expires}`.toLowerCase(),
  ).slice(0, 32)

export const makeQuote = (
  hash: Hash,
  offer: Offer,
  price: QuotePrice,
  it: { now: Instant; timeoutSeconds: number },
): Quote => {
  const units = unitsFor(offer, price.bound)
  const expiresAt = it.now + it.timeoutSeconds * 1000 + GRACE_MS
  const expires = expiresAt.toString(36)
  return {
    id: `q_${expires}_${proof(hash, offer, { fingerprint: price.fingerprint, units, expires })}`,
    units,
    expiresAt,
  }
}

type QuoteVerdict = 'good' | 'quote_mismatch' | 'quote_expired'

/**
 * Whether `units` pay for this request. With a quote's id they must be what was quoted, whatever the price is now.
 * Version 1 has no place for an id, so there they must match today's price.
 */
export const checkQuote = (
  hash: Hash,
  offer: Offer,
  price: QuotePrice,
  paid: { units: string; quoteId: string | undefined; now: Instant },
): QuoteVerdict => {
  if (paid.quoteId === undefined)
    return paid.units === unitsFor(offer, price.bound) ? 'good' : 'quote_mismatch'
  const [, expires, given] = /^q_([0-9a-z]{1,12})_([0-9a-f]{32})$/.exec(paid.quoteId) ?? []
  if (expires === undefined || given === undefined) return 'quote_mismatch'
  const madeUnder = (secret: Hash | undefined, fingerprint: string | undefined): boolean => {
    if (secret === undefined || fingerprint === undefined) return false
    const right = proof(secret, offer, { fingerprint, units: paid.units, expires })
    return timingSafeEqual(Buffer.from(given), Buffer.from(right))
  }
  if (!madeUnder(hash, price.fingerprint) && !madeUnder(hash.before, price.fingerprintBefore))
    return 'quote_mismatch'
  return Number.parseInt(expires, 36) < paid.now ? 'quote_expired' : 'good'
}
