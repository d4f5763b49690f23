/** What this server takes: tokens on chains, each with the address that receives it, and cents of a payer at Stripe. */
import { greatest, type Nano } from '../../core/money.ts'

export type Offer = {
  /** The chain by its CAIP-2 name, such as `eip155:8453`. */
  readonly network: string
  /** The chain's name in version 1 of the protocol; without one the token is only offered in version 2. */
  readonly v1Network?: string
  /** The token's contract. */
  readonly asset: string
  /** The token's EIP-712 domain, which payers sign under. */
  readonly name: string
  readonly version: string
  /** Nano-USD in the smallest unit of the token; a token is worth one dollar. */
  readonly nanoPerUnit: Nano
  readonly payTo: string
  /** A node of the chain, asked only when the facilitator cannot say whether a payment went through. */
  readonly rpcUrl?: string
  /** How it is paid at Stripe, if it is no token: the fewest cents, and with what. */
  readonly stripe?: { readonly least: bigint; readonly paymentMethodTypes: readonly string[] }
}

export type X402Options = {
  readonly facilitatorUrl: string
  /** Sent to the facilitator as a bearer token. */
  readonly facilitatorToken?: string
  readonly offers: readonly Offer[]
  /** How long a payer has to sign and send. */
  readonly timeoutSeconds: number
  /** How long the facilitator has to settle. */
  readonly settleMs: number
  /** Output tokens that are quoted when the caller gives no bound. */
  readonly outputTokens: number
  /** The scheme `upto`, if it is on: the most that a payer may have authorised in all and not paid yet. */
  readonly upto?: { readonly most: Nano }
  /** The scheme `batch-settlement`, if it is on. */
  readonly channels?: {
    /** How long a payer's exit takes, in seconds. */
    readonly withdrawSeconds: number
    /** Vouchers are claimed once they come to so much, or one of them is so old. */
    readonly claimSum: Nano
    readonly claimSeconds: number
  }
  /** The address that callers know this server by, if it differs from the one requests come in under. */
  readonly publicUrl?: string
}

/** USDC on the chains where most payers have it, by their version 1 names, with the public nodes of those chains. */
export const knownTokens: Readonly<Record<string, Omit<Offer, 'payTo'>>> = {
  base: {
    network: 'eip155:8453',
    v1Network: 'base',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    name: 'USD Coin',
    version: '2',
    nanoPerUnit: 1_000n,
    rpcUrl: 'https://mainnet.base.org',
  },
  'base-sepolia': {
    network: 'eip155:84532',
    v1Network: 'base-sepolia',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    name: 'USDC',
    version: '2',
    nanoPerUnit: 1_000n,
    rpcUrl: 'https://sepolia.base.org',
  },
}

/** The units that cover an amount, as the protocol's decimal text: rounded up once, never zero, at least the minimum. */
export const unitsFor = (offer: Offer, amount: Nano): string => {
  const units = (amount + offer.nanoPerUnit - 1n) / offer.nanoPerUnit
  return greatest(units, offer.stripe?.least ?? 1n).toString()
}

/** The value of token units, in nano-USD. */
export const nanoOfUnits = (offer: Offer, units: string): Nano => BigInt(units) * offer.nanoPerUnit
