/** Payers with a key of their own and the channel that they open with it, who sign in microseconds: many at once. */
import { secp256k1 } from '@bitauth/libauth'
import { hashTypedData, keccak256 } from 'viem'
import { CHANNELS } from '../../src/payment/x402/voucher.ts'

/** Signs claims, at the facilitators that stand in for a real one. */
export const AUTHORIZER = `0x${'c'.repeat(40)}`
export const CHAIN_ID = 84_532

const domain = {
  name: 'x402 Batch Settlement',
  version: '1',
  chainId: CHAIN_ID,
  verifyingContract: CHANNELS as `0x${string}`,
}
const field = (name: string, type: string) => ({ name, type })
const channelType = [
  ...['payer', 'payerAuthorizer', 'receiver', 'receiverAuthorizer', 'token'].map((one) =>
    field(one, 'address'),
  ),
  field('withdrawDelay', 'uint40'),
  field('salt', 'bytes32'),
]
const voucherType = [field('channelId', 'bytes32'), field('maxClaimableAmount', 'uint128')]

/** The hash that is signed for a voucher. */
export const digestOf = (channelId: string, most: bigint): Buffer =>
  Buffer.from(
    hashTypedData({
      domain,
      types: { Voucher: voucherType },
      primaryType: 'Voucher',
      message: { channelId, maxClaimableAmount: most },
    } as never).slice(2),
    'hex',
  )

/** Signs, with this key, that a channel may be charged so many units in all. */
export const signerOf =
  (key: Uint8Array, channelId: string) =>
  (most: bigint): string => {
    const made = secp256k1.signMessageHashRecoverableCompact(key, digestOf(channelId, most))
    if (typeof made === 'string') throw new Error(made)
    return `0x${Buffer.from(made.signature).toString('hex')}${made.recoveryId === 1 ? '1c' : '1b'}`
  }

/** What a payer has: a key of its own, and the channel that it opens with it. */
export const walletOf = (
  number: number,
  { payTo, asset, withdrawSeconds }: { payTo: string; asset: string; withdrawSeconds: number },
) => {
  const keyOf = (pad: string) => Buffer.from(number.toString(16).padStart(64, pad), 'hex')
  const key = keyOf('1')
  const point = secp256k1.derivePublicKeyUncompressed(key) as Uint8Array
  const payer = `0x${keccak256(point.subarray(1)).slice(-40)}`
  const config = {
    payer,
    payerAuthorizer: payer,
    receiver: payTo,
    receiverAuthorizer: AUTHORIZER,
    token: asset,
    withdrawDelay: withdrawSeconds,
    salt: `0x${number.toString(16).padStart(64, '0')}`,
  }
  const channelId = hashTypedData({
    domain,
    types: { ChannelConfig: channelType },
    primaryType: 'ChannelConfig',
    message: config,
  } as never)
  return {
    config,
    channelId,
    /** `forged` with a key that is not the payer's. */
    sign: (most: bigint, forged = false): string => signerOf(forged ? keyOf('2') : key, channelId)(most),
  }
}

export type Wallet = ReturnType<typeof walletOf>

/** What signs vouchers for a channel, however that was opened. */
export type SigningWallet = Pick<Wallet, 'channelId'> & {
  readonly config: object
  readonly sign: (most: bigint) => string
}
