/**
 * The method `stripe`: the payer grants the server's Stripe profile a token for just this amount, and the server charges
 * it. Source: Stripe Charge Intent (IETF draft); Stripe, "Shared payment tokens".
 */
import { textAt } from '../x402/presented.ts'
import type { Method } from './method.ts'

const TOKEN = /^[A-Za-z0-9_-]{1,255}$/

const digestOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

export const stripe: Method = {
  name: 'stripe',
  request: ({ stripe: card, asset, payTo }, units) =>
    card && {
      amount: units,
      currency: asset,
      methodDetails: { networkId: payTo, paymentMethodTypes: [...card.paymentMethodTypes] },
    },
  present: ({ challenge, payload }, { offer, units }) => {
    const token = textAt(payload, 'spt', TOKEN)
    if (token === undefined) return 'malformed_credential'
    // One challenge is one payment, whichever token answers it. Nobody but Stripe knows whose token it is.
    const name = Buffer.from(challenge.id, 'base64url').toString('hex')
    const key = `mpp_${digestOf(`${challenge.id} ${token}`)}`
    const validBefore = Math.floor(Date.parse(challenge.expires) / 1000)
    return {
      version: 2,
      scheme: 'exact',
      offer,
      id: `${offer.network}:${offer.asset}:${name}`.toLowerCase(),
      payer: `stripe:${name}`,
      nonce: name,
      units,
      validBefore,
      // With another token it is another payment, so that who only knows the challenge does not get the answer.
      quoteId: key,
      challenge,
      payload: { key, token, cents: units, validBefore },
    }
  },
}
