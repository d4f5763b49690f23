/**
 * The method `evm`: an authorization of EIP-3009, as for x402, whose nonce is the hash of the challenge. So the chain
 * takes it once, and who reads the chain does not learn the challenge. Source: EVM Charge Intent (IETF draft).
 */
import { keccak256 } from '../../core/keccak.ts'
import type { Offer } from '../x402/offer.ts'
import { readAuthorization, SIGNATURE, same, signedBy, textAt } from '../x402/presented.ts'
import { requirementsV2 } from '../x402/required.ts'
import type { Challenge } from './challenge.ts'
import type { Method } from './method.ts'

/** The draft names it in every request, although no payment by Permit2 is taken. */
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const NANO_DIGITS = 9

const chainOf = ({ network }: Offer): number => Number(network.slice('eip155:'.length))

const decimalsOf = ({ nanoPerUnit }: Offer): number => NANO_DIGITS - (nanoPerUnit.toString().length - 1)

const nonceOf = ({ id, realm }: Challenge): string => keccak256(`${id}${realm}`)

export const evm: Method = {
  name: 'evm',
  request: (offer, units) =>
    offer.network.startsWith('eip155:')
      ? {
          amount: units,
          currency: offer.asset,
          recipient: offer.payTo,
          methodDetails: {
            chainId: chainOf(offer),
            credentialTypes: ['authorization'],
            decimals: decimalsOf(offer),
            permit2Address: PERMIT2,
          },
        }
      : undefined,
  present: ({ challenge, payload, source }, { offer, units, timeoutSeconds }) => {
    const signature = textAt(payload, 'signature', SIGNATURE)
    const signed = readAuthorization({ authorization: payload })
    if (payload.type !== 'authorization' || signature === undefined || signed === undefined)
      return 'malformed_credential'
    const { payer, to, nonce, validBefore } = signed
    const payerId = `did:pkh:${offer.network}:${payer}`
    if (!same(to, offer.payTo) || signed.units !== units || !same(nonce, nonceOf(challenge)))
      return 'verification_failed'
    if (source !== undefined && !same(source, payerId)) return 'verification_failed'
    const { from, value, validAfter } = payload
    return {
      version: 2,
      scheme: 'exact',
      offer,
      ...signedBy(offer, signed),
      units,
      quoteId: challenge.id,
      challenge,
      payload: {
        x402Version: 2,
        accepted: requirementsV2(offer, units, undefined, timeoutSeconds),
        payload: { signature, authorization: { from, to, value, validAfter, validBefore, nonce } },
      },
    }
  },
}
