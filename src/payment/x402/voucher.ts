/**
 * Vouchers of the scheme `batch-settlement`: a payer's signature under what a channel may be charged in all. Read strictly
 * and checked without asking anyone, exactly as the contract will check them when they are claimed. Source: the x402
 * specification, `batch-settlement` on EVM; EIP-712.
 */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { openSigner, SIGNATURE } from './signer.ts'

/** What makes a channel; the hash of it is its id. */
type ChannelConfig = {
  readonly payer: string
  readonly payerAuthorizer: string
  readonly receiver: string
  readonly receiverAuthorizer: string
  readonly token: string
  readonly withdrawDelay: number
  readonly salt: string
}

export type Voucher = {
  readonly config: ChannelConfig
  /** As the payer names it; it counts only if it is the hash of `config`. */
  readonly channelId: string
  /** The most that the channel may be charged in all, in units of the token. */
  readonly most: string
  readonly signature: string
  /** Units that the payer deposits with it. */
  readonly deposit: string | undefined
}

/** The contract of all channels, the same on every chain. */
export const CHANNELS = '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003'

const ADDRESS = /^0x[0-9a-f]{40}$/i
const BYTES32 = /^0x[0-9a-f]{64}$/i
const UNITS = /^[1-9]\d{0,15}$/
const NOBODY = /^0x0{40}$/

const textAt = (value: JsonObject, name: string, shape: RegExp): string | undefined => {
  const member = value[name]
  return typeof member === 'string' && shape.test(member) ? member.toLowerCase() : undefined
}

const readConfig = (it: JsonObject): ChannelConfig | undefined => {
  const [payer, payerAuthorizer] = [textAt(it, 'payer', ADDRESS), textAt(it, 'payerAuthorizer', ADDRESS)]
  const [receiver, token] = [textAt(it, 'receiver', ADDRESS), textAt(it, 'token', ADDRESS)]
  const [receiverAuthorizer, salt] = [textAt(it, 'receiverAuthorizer', ADDRESS), textAt(it, 'salt', BYTES32)]
  const { withdrawDelay } = it
  if (payer === undefined || payerAuthorizer === undefined || receiver === undefined) return undefined
  if (token === undefined || receiverAuthorizer === undefined || salt === undefined) return undefined
  if (typeof withdrawDelay !== 'number' || !Number.isSafeInteger(withdrawDelay) || withdrawDelay < 0)
    return undefined
  return { payer, payerAuthorizer, receiver, receiverAuthorizer, token, withdrawDelay, salt }
}

/** Reads the payload of a voucher, alone or with a deposit; undefined if it is none. */
export const readVoucher = (payload: JsonObject): Voucher | undefined => {
  const { type, channelConfig, voucher, deposit } = payload
  if ((type !== 'voucher' && type !== 'deposit') || !isObject(channelConfig) || !isObject(voucher))
    return undefined
  const config = readConfig(channelConfig)
  const channelId = textAt(voucher, 'channelId', BYTES32)
  const most = textAt(voucher, 'maxClaimableAmount', UNITS)
  const signature = textAt(voucher, 'signature', SIGNATURE)
  if (config === undefined || channelId === undefined || most === undefined || signature === undefined)
    return undefined
  if (type === 'voucher') return { config, channelId, most, signature, deposit: undefined }
  const amount = isObject(deposit) ? textAt(deposit, 'amount', UNITS) : undefined
  return amount === undefined ? undefined : { config, channelId, most, signature, deposit: amount }
}

/** What this server asks of every channel. */
export type ChannelTerms = {
  /** Signs claims, at the facilitator. */
  readonly authorizer: string
  /** How long a payer's exit takes, in seconds. */
  readonly withdrawSeconds: number
}

const reason = (name: string): string => `invalid_batch_settlement_evm_${name}`

/** Codes of the specification, which clients know. */
export const codes = {
  mismatch: reason('cumulative_amount_mismatch'),
  busy: reason('channel_busy'),
  beyondDeposit: reason('cumulative_exceeds_balance'),
  notFound: reason('channel_not_found'),
  signature: reason('voucher_signature'),
  /** Not in the specification: the payer has announced that it leaves. */
  leaving: 'channel_is_being_withdrawn',
} as const

export type VoucherCheck = (
  voucher: Voucher,
  asked: ChannelTerms & { readonly network: string; readonly asset: string; readonly payTo: string },
) => string | undefined

/** Channels that are remembered, of about 600 bytes each. */
const RIGHT_MOST = 10_000

/** The check, with what it needs of the chain's own arithmetic. */
export const openVoucherCheck = async (): Promise<VoucherCheck> => {
  const { keccak, signerOf } = await openSigner()
  /** Words are 64 digits each, because joining text is faster than joining bytes. */
  const word = (hex: string): string => hex.slice(2).padStart(64, '0')
  const number = (value: bigint | number): string => value.toString(16).padStart(64, '0')
  const hashOf = (...words: readonly string[]): Buffer => keccak(Buffer.from(words.join(''), 'hex'))
  const hexOf = (text: string): string => keccak(text).toString('hex')
  const domainType = hexOf(
    'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  )
  const [name, version] = [hexOf('x402 Batch Settlement'), hexOf('1')]
  const channelType = hexOf(
    'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)',
  )
  const voucherType = hexOf('Voucher(bytes32 channelId,uint128 maxClaimableAmount)')
  const domains = new Map<string, string>()
  /** Of a network that the operator named, so there are few. */
  const domainOf = (network: string): string => {
    const known = domains.get(network)
    if (known !== undefined) return known
    const chainId = number(BigInt(network.slice('eip155:'.length)))
    const made = hashOf(domainType, name, version, chainId, word(CHANNELS)).toString('hex')
    domains.set(network, made)
    return made
  }
  const typed = (network: string, ...struct: readonly string[]): Buffer =>
    hashOf('1901', domainOf(network), hashOf(...struct).toString('hex'))
  const channelIdOf = (network: string, it: ChannelConfig): string => {
    const { payer, payerAuthorizer, receiver, receiverAuthorizer, token, withdrawDelay, salt } = it
    const addresses = [payer, payerAuthorizer, receiver, receiverAuthorizer, token].map(word)
    const id = typed(network, channelType, ...addresses, number(withdrawDelay), word(salt))
    return `0x${id.toString('hex')}`
  }
  /** Channels whose id was found to be right, with what they are made of. */
  const right = new Map<string, string>()
  const isRight = (network: string, { config, channelId }: Voucher): boolean => {
    const made = `${network} ${Object.values(config).join(' ')}`
    if (right.get(channelId) === made) return true
    if (channelId !== channelIdOf(network, config)) return false
    if (right.size >= RIGHT_MOST) right.clear()
    right.set(channelId, made)
    return true
  }
  return (voucher, asked) => {
    const { config, channelId, most, signature } = voucher
    const { network } = asked
    if (config.receiver !== asked.payTo.toLowerCase()) return reason('receiver_mismatch')
    if (config.token !== asked.asset.toLowerCase()) return reason('token_mismatch')
    if (config.receiverAuthorizer !== asked.authorizer.toLowerCase())
      return reason('receiver_authorizer_mismatch')
    if (config.withdrawDelay !== asked.withdrawSeconds) return reason('withdraw_delay_mismatch')
    if (!isRight(network, voucher)) return reason('channel_id_mismatch')
    // Without a key of its own the payer's contract would have to be asked.
    if (NOBODY.test(config.payerAuthorizer)) return codes.signature
    const digest = typed(network, voucherType, word(channelId), number(BigInt(most)))
    return signerOf(digest, signature) === config.payerAuthorizer ? undefined : codes.signature
  }
}
