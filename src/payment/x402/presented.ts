/**
 * A payment as a caller presents it: read strictly, and matched with what this server takes rather than with what the
 * payment claims.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import type { Challenge } from '../mpp/challenge.ts'
import type { Offer } from './offer.ts'
import { readVoucher, type Voucher } from './voucher.ts'

/**
 * `exact` pays before the call; `upto` authorises before it, and pays what the call was charged; `batch-settlement` does so
 * out of a deposit.
 */
export type Scheme = 'exact' | 'upto' | 'batch-settlement'

export type Presented = {
  readonly version: 1 | 2
  readonly scheme: Scheme
  readonly offer: Offer
  /** `<network>:<asset>:<payer>:<nonce>` in lower case; the two schemes write nonces differently. */
  readonly id: string
  readonly payer: string
  readonly nonce: string
  /** Units of the token; with `upto` the most that may be taken. */
  readonly units: string
  /** The time, in seconds since 1970, after which the chain does not take it. */
  readonly validBefore: number
  readonly quoteId: string | undefined
  /** What it answers, if it came by the HTTP scheme `Payment`. */
  readonly challenge?: Challenge
  readonly voucher?: Voucher
  /** All of it, for the facilitator. */
  readonly payload: JsonObject
}

/** What a request may carry a payment in: x402's headers of either version, or a credential of the scheme `Payment`. */
export type PaymentHeaders = {
  readonly v2: string | undefined
  readonly v1: string | undefined
  readonly mpp?: string | undefined
}

const HEADER_MAX = 8 * 1024
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const ADDRESS = /^0x[0-9a-f]{40}$/i
const NONCE = /^0x[0-9a-f]{64}$/i
/** A number of up to 256 bits, in its only spelling. */
const NUMBER = /^(?:0|[1-9]\d{0,77})$/
export const SIGNATURE = /^0x[0-9a-f]{2,}$/i
const UNITS = /^[1-9]\d{0,15}$/
const SECONDS = /^\d{1,15}$/

export const textAt = (value: unknown, name: string, shape: RegExp): string | undefined => {
  const member = isObject(value) ? value[name] : undefined
  return typeof member === 'string' && shape.test(member) ? member : undefined
}

/**
 * Reads the payment of a request; if both versions are present, version 2 wins. Undefined for a payment that is not for
 * anything we take: another token, chain, receiver or scheme.
 */
export const readPayment = (
  headers: PaymentHeaders,
  offers: readonly Offer[],
  schemes: readonly Scheme[],
): Presented | Refusal | undefined => {
  const name = headers.v2 === undefined ? 'X-PAYMENT' : 'PAYMENT-SIGNATURE'
  const header = headers.v2 ?? headers.v1 ?? ''
  const malformed = invalid(
    name,
    `'${name}' must be the base64 of an x402 payment, of at most ${HEADER_MAX} characters.`,
  )
  if (header.length > HEADER_MAX || !BASE64.test(header)) return malformed
  const value = parseJson(Buffer.from(header, 'base64').toString('utf8'))
  if (!isObject(value) || !isObject(value.payload)) return malformed
  if (value.x402Version !== 1 && value.x402Version !== 2) return malformed
  const chosen = value.x402Version === 2 ? value.accepted : value
  if (!isObject(chosen) || typeof chosen.scheme !== 'string' || typeof chosen.network !== 'string')
    return malformed
  const { payload } = value
  const scheme = schemeOf(chosen.scheme, payload, schemes)
  if (scheme === 'batch-settlement') return presentedVoucher(value, chosen, offers) ?? malformed
  if (scheme === undefined || (scheme === 'upto' && value.x402Version === 1)) return undefined
  const signed = scheme === 'exact' ? readAuthorization(payload) : readPermit(payload)
  if (signed === undefined || textAt(payload, 'signature', SIGNATURE) === undefined) return malformed
  const { payer, to, nonce, units, validBefore } = signed
  const offer = offers.find((one) => same(to, one.payTo) && isFor(one, value.x402Version === 1, chosen))
  if (offer === undefined || (signed.asset !== undefined && !same(signed.asset, offer.asset)))
    return undefined
  return {
    version: value.x402Version,
    scheme,
    offer,
    ...signedBy(offer, { payer, nonce, validBefore }),
    units,
    quoteId: value.x402Version === 2 ? textAt(chosen.extra, 'quoteId', /^.{1,80}$/) : undefined,
    payload: value,
  }
}

/** What names a payment, and its payer. However it came, one authorization is one payment. */
export const signedBy = (
  { network, asset }: Offer,
  { payer, nonce, validBefore }: Pick<Signed, 'payer' | 'nonce' | 'validBefore'>,
) => ({
  id: `${network}:${asset}:${payer}:${nonce}`.toLowerCase(),
  payer: payer.toLowerCase(),
  nonce: nonce.toLowerCase(),
  validBefore: Number.parseInt(validBefore, 10),
})

/** A voucher names a channel, where it begins, and where it ends: between them is what its call may cost. */
const presentedVoucher = (
  value: JsonObject,
  chosen: JsonObject,
  offers: readonly Offer[],
): Presented | undefined => {
  const voucher = isObject(value.payload) ? readVoucher(value.payload) : undefined
  const units = textAt(chosen, 'amount', UNITS)
  const offer = offers.find((one) => isFor(one, false, chosen))
  if (value.x402Version !== 2 || voucher === undefined || units === undefined || offer === undefined)
    return undefined
  const { channelId, most, config } = voucher
  const begins = BigInt(most) - BigInt(units)
  return {
    version: 2,
    scheme: 'batch-settlement',
    offer,
    // Not under the token's address: a version before takes what is there for one of its own payments.
    id: `${offer.network}:${channelId}:${begins}:${most}`,
    payer: config.payer,
    nonce: most,
    units,
    validBefore: 0,
    quoteId: textAt(chosen.extra, 'quoteId', /^.{1,80}$/),
    voucher,
    payload: value,
  }
}

/** The scheme, if it is one of those given and the payment is signed as it requires. */
const schemeOf = (name: string, payload: JsonObject, schemes: readonly Scheme[]): Scheme | undefined => {
  const scheme = schemes.find((one) => one === name)
  const permit = !isObject(payload.authorization) && isObject(payload.permit2Authorization)
  return scheme === 'exact' && permit ? undefined : scheme
}

/** What was signed; Permit2 also signs the token. */
type Signed = {
  readonly payer: string
  readonly to: string
  readonly units: string
  readonly nonce: string
  readonly validBefore: string
  readonly asset: string | undefined
}

export const readAuthorization = ({ authorization: it }: JsonObject): Signed | undefined => {
  const [payer, to] = [textAt(it, 'from', ADDRESS), textAt(it, 'to', ADDRESS)]
  const [units, nonce] = [textAt(it, 'value', UNITS), textAt(it, 'nonce', NONCE)]
  const [validAfter, validBefore] = [textAt(it, 'validAfter', SECONDS), textAt(it, 'validBefore', SECONDS)]
  if (payer === undefined || to === undefined || units === undefined || nonce === undefined) return undefined
  if (validAfter === undefined || validBefore === undefined) return undefined
  return { payer, to, units, nonce, validBefore, asset: undefined }
}

const readPermit = ({ permit2Authorization: it }: JsonObject): Signed | undefined => {
  if (!isObject(it)) return undefined
  const { permitted, witness } = it
  const [payer, to] = [textAt(it, 'from', ADDRESS), textAt(witness, 'to', ADDRESS)]
  const [units, asset] = [textAt(permitted, 'amount', UNITS), textAt(permitted, 'token', ADDRESS)]
  const [nonce, validBefore] = [textAt(it, 'nonce', NUMBER), textAt(it, 'deadline', SECONDS)]
  if (payer === undefined || to === undefined || units === undefined || nonce === undefined) return undefined
  if (asset === undefined || validBefore === undefined) return undefined
  if (textAt(witness, 'facilitator', ADDRESS) === undefined) return undefined
  if (textAt(witness, 'validAfter', SECONDS) === undefined) return undefined
  return { payer, to, units, nonce, validBefore, asset }
}

export const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Version 1 only names a chain, so it means the first token of that chain. */
const isFor = (offer: Offer, v1: boolean, chosen: JsonObject): boolean =>
  v1
    ? offer.v1Network === chosen.network
    : offer.network === chosen.network && typeof chosen.asset === 'string' && same(offer.asset, chosen.asset)
