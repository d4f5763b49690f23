/** Header rules: a header that decides about money or identity may be there once. */
import { invalid, type Refusal, refuse } from '../core/refusal.ts'
import type { PaymentHeaders } from '../payment/x402/presented.ts'

/** The runtime joins a repeated header with a comma; none of these may contain one. */
const single = [
  'host',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'idempotency-key',
  'x-max-cost-usd',
  'x-payment-protocol',
  'x-sub-wallet',
  'content-type',
  'payment-signature',
  'x-payment',
] as const

const HEADERS_MAX = 100

/** What may not stand in a host, whatever a parser makes of it: what begins another part of an address. */
const NOT_IN_HOST = /[\s/?#@\\,]/

/** Refuses a `Host` that no address can be made of (RFC 9112, 3.2); HTTP/1.0 may leave it out. */
export const checkHost = (headers: Headers): Refusal | undefined => {
  const host = headers.get('host')
  return host === null || host === '' || (!NOT_IN_HOST.test(host) && URL.canParse(`http://${host}/`))
    ? undefined
    : invalid('host', "The header 'Host' is not a host name or address with an optional port.")
}

export const checkHeaders = (headers: Headers): Refusal | undefined => {
  for (const name of single)
    if (headers.get(name)?.includes(',')) return invalid(name, `The header '${name}' may be sent once.`)
  const wrong = checkHost(headers)
  if (wrong) return wrong
  return headers.count > HEADERS_MAX
    ? refuse('headers_too_large', `A request may have at most ${HEADERS_MAX} headers.`)
    : undefined
}

/** The payments by x402 that a request brings, under the names of both versions. */
export const paymentHeaders = (headers: Headers): PaymentHeaders => ({
  v2: headers.get('payment-signature') ?? undefined,
  v1: headers.get('x-payment') ?? undefined,
})
