/** A payment as a caller presents it: read strictly, and matched with what this server takes, never with what it claims. */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import type { Offer } from './offer.ts'

export type Presented = {
  readonly version: 1 | 2
  readonly offer: Offer
  /** `<network>:<asset>:<payer>:<nonce>` in lower case. */
  readonly id: string
  readonly payer: string
  readonly nonce: string
  /** Units of the token. */
  readonly units: string
  /** Seconds since 1970 after which the chain does not take it. */
  readonly validBefore: number
  readonly quoteId: string | undefined
  /** The whole of it, for the facilitator. */
  readonly payload: JsonObject
}

/** Headers of a request that may carry a payment, of either version. */
export type PaymentHeaders = { readonly v2: string | undefined; readonly v1: string | undefined }

const HEADER_MAX = 8 * 1024
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const ADDRESS = /^0x[0-9a-f]{40}$/i
const NONCE = /^0x[0-9a-f]{64}$/i
const SIGNATURE = /^0x[0-9a-f]{2,}$/i
const UNITS = /^[1-9]\d{0,15}$/
const SECONDS = /^\d{1,15}$/

const textAt = (value: unknown, name: string, shape: RegExp): string | undefined => {
  const member = isObject(value) ? value[name] : undefined
  return typeof member === 'string' && shape.test(member) ? member : undefined
}

/**
 * Reads the payment of a request; version 2 wins where both are there. Undefined is a payment for something that is not
 * taken here: another token, chain, receiver or scheme.
 */
export const readPayment = (
  headers: PaymentHeaders,
  offers: readonly Offer[],
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
  const { authorization } = payload
  if (chosen.scheme !== 'exact' || (!isObject(authorization) && isObject(payload.permit2Authorization)))
    return undefined
  const [payer, to] = [textAt(authorization, 'from', ADDRESS), textAt(authorization, 'to', ADDRESS)]
  const [units, nonce] = [textAt(authorization, 'value', UNITS), textAt(authorization, 'nonce', NONCE)]
  const validBefore = textAt(authorization, 'validBefore', SECONDS)
  if (payer === undefined || to === undefined || units === undefined || nonce === undefined) return malformed
  if (validBefore === undefined || textAt(authorization, 'validAfter', SECONDS) === undefined)
    return malformed
  if (textAt(payload, 'signature', SIGNATURE) === undefined) return malformed
  const offer = offers.find((one) => same(to, one.payTo) && isFor(one, value.x402Version === 1, chosen))
  if (offer === undefined) return undefined
  return {
    version: value.x402Version,
    offer,
    id: `${offer.network}:${offer.asset}:${payer}:${nonce}`.toLowerCase(),
    payer: payer.toLowerCase(),
    nonce: nonce.toLowerCase(),
    units,
    validBefore: Number.parseInt(validBefore, 10),
    quoteId: value.x402Version === 2 ? textAt(chosen.extra, 'quoteId', /^.{1,80}$/) : undefined,
    payload: value,
  }
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Version 1 names a chain only, so there the first token of the chain is meant. */
const isFor = (offer: Offer, v1: boolean, chosen: JsonObject): boolean =>
  v1
    ? offer.v1Network === chosen.network
    : offer.network === chosen.network && typeof chosen.asset === 'string' && same(offer.asset, chosen.asset)
