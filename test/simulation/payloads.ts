/** The signed payload of a payer in the simulation; nobody here checks the signature itself. */
import { keccak256 } from '../../src/core/keccak.ts'
import type { SimulatedChain } from './rail.ts'
import { EPOCH, type World } from './world.ts'

type Signed = {
  /** The offer of the quote that is paid. */
  readonly accepted: any
  readonly from: string
  readonly nonce: string
  /** In seconds. */
  readonly validBefore: number
}

/** The payload of an `exact` or `upto` payment, as its offer says. */
const payloadOf = ({ accepted, from, nonce, validBefore }: Signed) => ({
  signature: '0xab',
  ...(accepted.scheme === 'upto'
    ? { permit2Authorization: permitOf({ accepted, from, nonce, validBefore }) }
    : {
        authorization: {
          from,
          to: accepted.payTo,
          value: accepted.amount,
          nonce,
          validAfter: '0',
          validBefore: String(validBefore),
        },
      }),
})

const permitOf = ({ accepted, from, nonce, validBefore }: Signed) => ({
  from,
  permitted: { token: accepted.asset, amount: accepted.amount },
  spender: `0x${'d'.repeat(40)}`,
  nonce,
  deadline: String(validBefore),
  witness: { to: accepted.payTo, facilitator: accepted.extra.facilitatorAddress, validAfter: '0' },
})

/** The offers of a quote, by which it may be paid. */
export const offersIn = (quote: string | undefined): readonly any[] =>
  JSON.parse(Buffer.from(quote ?? '', 'base64').toString()).accepts

export type Version = 1 | 2 | 'mpp'

type Payment = {
  readonly accepted: any
  /** Each payment has a number of its own. */
  readonly number: number
  /** The payer does not have the money. */
  readonly poor?: boolean
  readonly version?: Version
  /** What a payer by MPP answers. */
  readonly challenge?: Readonly<Record<string, string>>
}

/** Signs a payment by an offer, and makes it known to the chain. */
export const sign = (
  { world, chain }: { readonly world: World; readonly chain: SimulatedChain },
  { accepted, number, poor = false, version = 2, challenge }: Payment,
) => {
  const plainNonce = `0x${number.toString(16).padStart(64, '0')}`
  const [from, nonce] =
    accepted.scheme === 'upto'
      ? [`0x${number.toString(16).padStart(40, 'e')}`, String(number)]
      : [`0x${'f'.repeat(40)}`, challenge ? keccak256(`${challenge.id}${challenge.realm}`) : plainNonce]
  const units = BigInt(accepted.amount)
  const validBefore = Math.floor((EPOCH + world.now()) / 1000) + accepted.maxTimeoutSeconds
  chain.authorizations.set(nonce, { units, validBefore, poor, state: 'unused' })
  const payload = payloadOf({ accepted, from, nonce, validBefore })
  const value =
    version === 2
      ? { x402Version: 2, accepted, payload }
      : { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload }
  const { authorization, signature } = payload as { authorization?: object; signature: string }
  const credential = { challenge, payload: { type: 'authorization', signature, ...authorization } }
  return {
    id: `${accepted.network}:${accepted.asset}:${from}:${nonce}`.toLowerCase(),
    nonce,
    units,
    header:
      version === 'mpp'
        ? `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`
        : Buffer.from(JSON.stringify(value)).toString('base64'),
  }
}
