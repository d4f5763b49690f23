/** The payment that a request brings: by x402, or by a credential of the scheme `Payment`. */
import type { JsonBody } from '../../core/json-body.ts'
import type { Refusal } from '../../core/refusal.ts'
import { type Realm, readMpp } from '../../payment/mpp/methods.ts'
import { type Presented, readPayment, type Scheme } from '../../payment/x402/presented.ts'
import type { X402 } from '../../payment/x402.ts'
import type { Incoming } from '../enter/incoming.ts'
import { PaymentDue, type Quotable } from './payment-due.ts'

type Brought = NonNullable<Incoming['payment']>

/** What a host may be made of in a header of ours. */
const NOT_IN_REALM = /[^a-z0-9.:[\]_-]/g

/** What challenges for this request name beside its price. */
export const realmOf = ({ options }: X402, { url, headers, remade }: Brought, body: JsonBody): Realm => {
  const address = url.startsWith('mcp:') ? `http://${headers.get('host') ?? 'localhost'}` : url
  const { hostname } = new URL(options.publicUrl ?? address)
  return {
    realm: hostname.replace(NOT_IN_REALM, ''),
    digest: remade
      ? undefined
      : `sha-256=:${new Bun.CryptoHasher('sha256').update(body.bytes).digest('base64')}:`,
  }
}

/** What the challenges of a 402 depend on beside: what its payer has, and whether it answered one before. */
export const askingOf = (realm: Realm, { headers, mpp }: Brought) => ({
  ...realm,
  readsProblems: mpp !== undefined,
  accepts: headers.get('accept-payment') ?? undefined,
})

const schemesOf = ({ options: { upto, channels } }: X402): readonly Scheme[] => [
  'exact',
  ...(upto === undefined ? [] : (['upto'] as const)),
  ...(channels === undefined ? [] : (['batch-settlement'] as const)),
]

type For = Pick<Quotable, 'fingerprint' | 'fingerprintBefore'> & { readonly realm: Realm | undefined }

/** Undefined for a payment of x402 that is not for anything we take; a credential that is none is asked for again. */
export const readBrought = (
  x402: X402,
  payment: Brought,
  { realm, ...fingerprints }: For,
): Presented | PaymentDue | Refusal | undefined => {
  const { offers, timeoutSeconds } = x402.options
  if (payment.mpp === undefined || realm === undefined) return readPayment(payment, offers, schemesOf(x402))
  const all = [...offers, ...x402.cards]
  const read = readMpp(payment.mpp, {
    ...realm,
    ...fingerprints,
    hash: x402.hash,
    offers: all,
    timeoutSeconds,
  })
  return typeof read === 'string' ? new PaymentDue(read) : read
}
