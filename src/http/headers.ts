/** Headers of requests: one that decides about money or identity may be there once; the caller's key, in the header or the query its client library sends it in. */
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

/** What may not stand in a host: letters that begin another part of an address for some parser. */
const NOT_IN_HOST = /[\s/?#@\\,]/

/** Callers name few hosts: the last good one is not looked at again. */
let lastGoodHost: string | null = ''

/** Refuses a `Host` that no address can be made of (RFC 9112, 3.2); HTTP/1.0 may leave it out. */
export const checkHost = (headers: HeaderReader): Refusal | undefined => {
  const host = headers.get('host')
  if (host === lastGoodHost || host === null || host === '') return undefined
  if (NOT_IN_HOST.test(host) || !URL.canParse(`http://${host}/`))
    return invalid('host', "The header 'Host' is not a host name or address with an optional port.")
  lastGoodHost = host
  return undefined
}

/** Where headers are read. */
export type HeaderReader = Pick<Headers, 'get'>

/** Headers whose single ones were read: to ask the runtime for one costs more than to remember it. */
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

/** Reads the headers of a request; the Refusal of those that are sent twice, are too many or name no host. */
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

/** The payments by x402 that a request brings, under the names of both versions. */
export const paymentHeaders = (headers: HeaderReader): PaymentHeaders => ({
  v2: headers.get('payment-signature') ?? undefined,
  v1: headers.get('x-payment') ?? undefined,
})

export type CredentialStyle = 'bearer' | 'messages' | 'gemini'

/**
 * The `Authorization` value that stands for the request's credential; null when there is none. Two different keys in
 * one request are refused: which of them pays must not depend on the reader.
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

/** Whose request it seems to be, whatever its address: to tell callers apart before it is known who they are. */
export const callerOf = (headers: HeaderReader): string =>
  headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('x-goog-api-key') ?? ''
