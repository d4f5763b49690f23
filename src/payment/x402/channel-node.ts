/** What a chain knows of channels: their deposits, what was claimed, and which payers have announced that they leave. */
import { least, NANO_PER_USD } from '../../core/money.ts'
import type { ChannelSeen } from '../../store/payments/channel-port.ts'
import { nodeAt, word } from './node.ts'
import type { Offer } from './offer.ts'
import { CHANNELS } from './voucher.ts'

/** First bytes of the hashes of `channels(bytes32)` and `pendingWithdrawals(bytes32)`. */
const CHANNEL = '0x7a7ebd7b'
const WITHDRAWAL = '0xb7f06ebe'
/** Hash of `WithdrawInitiated(bytes32,uint128,uint40)`. */
const WITHDRAW_INITIATED = '0xe4280d0d903c7f258f62b07c62f262377cbaa23f7791d78126e6446e0f0e3c23'

/** More than anyone has; what the ledger's columns hold. */
const MOST = 4_000_000_000n * NANO_PER_USD

const PAIR = /^0x[0-9a-f]{128}$/

const pairOf = (answer: unknown): readonly [bigint, bigint] => {
  if (typeof answer !== 'string' || !PAIR.test(answer)) throw new Error('the node knows no channels')
  return [BigInt(answer.slice(0, 66)), BigInt(`0x${answer.slice(66)}`)]
}

const lookAtChannel = async ({ rpcUrl, nanoPerUnit }: Offer, channelId: string): Promise<ChannelSeen> => {
  if (rpcUrl === undefined) throw new Error('no node was named for this chain')
  const node = await nodeAt(rpcUrl)
  const [state, withdrawal] = await Promise.all([
    node.call(CHANNELS, CHANNEL + word(channelId)),
    node.call(CHANNELS, WITHDRAWAL + word(channelId)),
  ])
  const [balance, claimed] = pairOf(state)
  const [, initiatedAt] = pairOf(withdrawal)
  return {
    balance: least(balance * nanoPerUnit, MOST),
    claimed: least(claimed * nanoPerUnit, MOST),
    leavingAt: initiatedAt === 0n ? undefined : Number(initiatedAt),
  }
}

const leavingAt = async (rpcUrl: string): Promise<readonly string[]> => {
  const logs = await (await nodeAt(rpcUrl)).events({ address: CHANNELS, topics: [WITHDRAW_INITIATED] })
  return logs.flatMap(({ topics: [, id] }) => (typeof id === 'string' ? [id] : []))
}

/** What is asked about channels. Both reject when the node does not say. */
export type ChannelNode = {
  /** A channel at the chain's newest block. */
  look(offer: Offer, channelId: string): Promise<ChannelSeen>
  /** The channels whose payers announced in the last hours that they leave. */
  leaving(rpcUrl: string): Promise<readonly string[]>
}

/** The chain's node, as the operator named it. */
export const channelNode: ChannelNode = { look: lookAtChannel, leaving: leavingAt }
