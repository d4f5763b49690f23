/**
 * Headers of requests. One that decides about money or identity may occur once. The caller's key is read from the
 * header or query in which its client library sends it.
 */
import { invalid, type Refusal, refuse } from '../../core/refusal.ts'
import type { PaymentHeaders } from '../../payment/x402/presented.ts'

/** The runtime joins repeated headers with a comma, and no valid value of these contains one. */
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

/** Characters that may not be in a host, because some parser starts another part of the address at them. */
const NOT_IN_HOST = /[\s/?#@\\,]/

/** Callers use few hosts, so the last valid one is not checked again. */
let lastGoodHost: string | null = ''

/** Refuses a `Host` that cannot be part of an address (RFC 9112, 3.2); HTTP/1.0 may leave it out. */
export const checkHost = (headers: HeaderReader): Refusal | undefined => {
  const host = headers.get('host')
  if (host === lastGoodHost || host === null || host === '') return undefined
  if (NOT_IN_HOST.test(host) || !URL.canParse(`http://${host}/`))
    return invalid('host', "The header 'Host' is not a host name or address with an optional port.")
  lastGoodHost = host
  return undefined
}

/** Where we read headers from. */
export type HeaderReader = Pick<Headers, 'get'>

/** Headers that were already checked and read: asking the runtime for one costs more than remembering it. */
class ReadHeaders implements HeaderReader {
  readonly #headers: Headers
  readonly #single: Readonly<Record<string, string | null>>

  constructor(headers: Headers, read: Readonly<Record<string, string | null>>) {
    this.#headers = headers
    this.#single = read
  }

  get(name: string): string | null {
    const read = this.#single[name]
    return read === undefined ? this.#headers.get(name) : read
  }
}

/**
 * Reads the headers of a request; returns the Refusal if one is repeated, there are too many, or the host is invalid.
 */
export const readHeaders = (headers: Headers): HeaderReader | Refusal => {
  const read: Record<string, string | null> = {}
  for (const name of single) {
    const value = headers.get(name)
    if (value?.includes(',') === true) return invalid(name, `The header '${name}' may be sent once.`)
    read[name] = value
  }
  const known = new ReadHeaders(headers, read)
  const wrong = checkHost(known)
  if (wrong) return wrong
  return headers.count > HEADERS_MAX
    ? refuse('headers_too_large', `A request may have at most ${HEADERS_MAX} headers.`)
    : known
}

const PAYMENT_SCHEME = 'payment '

/** Most headers are told from it by their first letter. */
const isPayment = (authorization: string): boolean =>
  'pP'.includes(authorization.charAt(0)) &&
  authorization.slice(0, PAYMENT_SCHEME.length).toLowerCase() === PAYMENT_SCHEME

/** The payments that a request brings: by x402, under the header names of both versions, or in place of a key. */
export const paymentHeaders = (headers: HeaderReader): PaymentHeaders => {
  const authorization = headers.get('authorization')
  return {
    v2: headers.get('payment-signature') ?? undefined,
    v1: headers.get('x-payment') ?? undefined,
    mpp: authorization !== null && isPayment(authorization) ? authorization : undefined,
  }
}

export type CredentialStyle = 'bearer' | 'messages' | 'gemini'

/**
 * The `Authorization` value of the request's credential; null when there is none. Two different keys in one request are
 * refused, because which of them pays must not depend on who reads it.
 */
export const credentialOf = (
  headers: HeaderReader,
  query: string,
  style: CredentialStyle,
): string | null | Refusal => {
  const given = headers.get('authorization')
  if (style === 'bearer') return given
  const keys =
    style === 'messages' ? [headers.get('x-api-key')] : [headers.get('x-goog-api-key'), queryKey(query)]
  let credential = given
  for (const key of keys) {
    if (key === null || key === undefined || key === '') continue
    const bearer = `Bearer ${key}`
    if (credential !== null && credential !== bearer)
      return invalid('authorization', 'The request carries two different keys; send one of them.')
    credential = bearer
  }
  return credential
}

const queryKey = (query: string): string | undefined =>
  query === '' ? undefined : (new URLSearchParams(query).get('key') ?? undefined)

/** Only clients of messages send this header. */
export const isOfMessages = ({ request }: { readonly request: Request }): boolean =>
  request.headers.has('anthropic-version')

/** Cohere's clients name themselves in this header, each by the name of its package. */
export const isOfCohere = (headers: HeaderReader): boolean =>
  headers.get('x-fern-sdk-name')?.includes('cohere') === true

/** Whose request it seems to be, whatever its address; tells callers apart before they are authenticated. */
export const callerOf = (headers: HeaderReader): string =>
  headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('x-goog-api-key') ?? ''
