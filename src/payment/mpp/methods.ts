/** The methods of the scheme `Payment`: what is offered by each, and the payment in a credential. */
import type { JsonObject } from '../../core/json-body.ts'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Instant } from '../../core/time.ts'
import type { Offer } from '../x402/offer.ts'
import type { Presented } from '../x402/presented.ts'
import { preferred } from './accept.ts'
import { type Challenge, encodeRequest, type Fingerprints, isMade, makeChallenge } from './challenge.ts'
import { readCredential } from './credential.ts'
import { evm } from './evm.ts'
import type { Method, Wrong } from './method.ts'
import { stripe } from './stripe.ts'

const INTENT = 'charge'

/** A further method is a row here, and an offer of its own. */
const methods: readonly Method[] = [evm, stripe]

/** What a server of tools announces: the methods by which something of this can be paid. */
export const capabilityOf = (offers: readonly Offer[]) => ({
  methods: Object.fromEntries(
    methods
      .filter(({ request }) => offers.some((offer) => request(offer, '1') !== undefined))
      .map(({ name }) => [name, { intents: [INTENT] }]),
  ),
})

/** What is the same for every challenge of a request. */
export type Realm = {
  /** The server's host, as callers know it. */
  readonly realm: string
  /** Of the request's body. */
  readonly digest: string | undefined
}

/** What the payer says it has: `Accept-Payment`. */
type Asking = Realm & { readonly accepts: string | undefined }

type Priced = { readonly offer: Offer; readonly units: string; readonly expiresAt: Instant }

/** A challenge for each price, by the method that takes it. */
export const challengesFor = (
  hash: KeyedHash<string>,
  { realm, digest, accepts }: Asking,
  prices: readonly Priced[],
  fingerprint: string,
): readonly Challenge[] => {
  const all = prices.flatMap(({ offer, units, expiresAt }) =>
    methods.flatMap(({ name, request }) => {
      const asked = request(offer, units)
      if (asked === undefined) return []
      const expires = new Date(expiresAt).toISOString()
      const terms = { realm, method: name, intent: INTENT, request: encodeRequest(asked), expires, digest }
      return [makeChallenge(hash, terms, fingerprint)]
    }),
  )
  return preferred(all, accepts)
}

/** What the offers are told as before anything is priced: a price depends on the request. */
export const discovered = (offers: readonly Offer[]): readonly JsonObject[] =>
  offers.flatMap((offer) =>
    methods.flatMap(({ name, request }) => {
      const { currency } = request(offer, '1') ?? {}
      return currency === undefined
        ? []
        : [
            {
              intent: INTENT,
              method: name,
              amount: null,
              currency,
              description: 'The most the call can cost.',
            },
          ]
    }),
  )

type Reading = Realm &
  Fingerprints & {
    readonly hash: KeyedHash<string>
    readonly offers: readonly Offer[]
    readonly timeoutSeconds: number
  }

const amountIn = (request: string): string => {
  const value: unknown = JSON.parse(Buffer.from(request, 'base64url').toString('utf8'))
  return typeof value === 'object' && value !== null ? String(Reflect.get(value, 'amount')) : ''
}

/** The payment of a request, if its credential answers a challenge that this server made for that very request. */
export const readMpp = (authorization: string, it: Reading): Presented | Wrong => {
  const credential = readCredential(authorization)
  if (credential === undefined) return 'malformed_credential'
  const { challenge } = credential
  const method = methods.find(({ name }) => name === challenge.method)
  if (method === undefined || challenge.intent !== INTENT) return 'method_unsupported'
  if (challenge.realm !== it.realm || challenge.digest !== it.digest) return 'invalid_challenge'
  if (!isMade(it.hash, challenge, it)) return 'invalid_challenge'
  // From here on the challenge is in our own words.
  const units = amountIn(challenge.request)
  const offer = it.offers.find((one) => {
    const asked = method.request(one, units)
    return asked !== undefined && encodeRequest(asked) === challenge.request
  })
  // It is no longer taken.
  if (offer === undefined) return 'invalid_challenge'
  return method.present(credential, { offer, units, timeoutSeconds: it.timeoutSeconds })
}
