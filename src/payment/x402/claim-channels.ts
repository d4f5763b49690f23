/** Claims of channels: what is due is brought to the chain, many at a time, and what was claimed is swept to the receiver. */
import { least } from '../../core/money.ts'
import type { Channel, ChannelStore, DueClaim } from '../../store/payments/channel-port.ts'
import type { ChannelNode } from './channel-node.ts'
import type { Kinds } from './facilitator.ts'
import type { KnownChannels } from './known-channels.ts'
import type { Offer, X402Options } from './offer.ts'
import type { SettlementParts } from './settlement.ts'
import type { VoucherCheck } from './voucher.ts'

export type ChannelParts = Pick<SettlementParts, 'facilitator' | 'log'> & {
  readonly store: ChannelStore
  readonly options: X402Options
  readonly kinds: () => Kinds | undefined
  readonly channelAccountOf: (id: string) => string
  readonly channelNode: ChannelNode
  readonly openCheck: () => Promise<VoucherCheck>
  readonly known: KnownChannels
}

/** Claims in one transaction, which a block has room for. */
const CLAIMS_MOST = 100

/** What the facilitator hears when this server, and no payer, asks it for something. */
const asking = (offer: Offer, payload: object) => {
  const { network, asset, payTo } = offer
  const requirements = {
    scheme: 'batch-settlement',
    network,
    asset,
    amount: '0',
    payTo,
    maxTimeoutSeconds: 0,
    extra: {},
  }
  return { payload: { x402Version: 2, accepted: requirements, payload }, requirements }
}

/** Claims everything that is due; whether anything was. */
export const claimDue = async (
  parts: ChannelParts,
  offer: Offer,
  { claimSum: sum, claimSeconds }: NonNullable<X402Options['channels']>,
): Promise<boolean> => {
  const { network } = offer
  const asset = offer.asset.toLowerCase()
  const ageMs = claimSeconds * 1000
  const ownMs = parts.options.settleMs * 2
  for (let claimed = false; ; claimed = true) {
    const due = await parts.store.dueClaims({ asset, network, sum, ageMs, ownMs, most: CLAIMS_MOST })
    if (due.length === 0) return claimed
    await claimAll(parts, offer, due)
  }
}

const claimable = ({ charged, lost }: Channel): bigint => charged - lost

/** Claims several at once; where one of them spoils it, those that can be claimed. */
const claimAll = async (parts: ChannelParts, offer: Offer, due: readonly DueClaim[]): Promise<void> => {
  const { facilitator, store, log } = parts
  const claims = due.map((one) => ({
    voucher: { channel: JSON.parse(one.config), maxClaimableAmount: String(one.signed / one.unit) },
    signature: one.signature,
    totalClaimed: String(claimable(one) / one.unit),
  }))
  const answer = await facilitator.settle(asking(offer, { type: 'claim', claims }))
  const line = { network: offer.network, ops: due.length, outcome: answer.outcome }
  if (answer.outcome === 'settled') {
    for (const one of due) await store.claimChannel(one.id, claimable(one), answer.transaction)
    return log.info('vouchers were claimed', line)
  }
  log.warn('vouchers could not be claimed', { ...line, error: answer.reason })
  // The outcome is not known: claimed again they count once.
  if (answer.outcome === 'unknown') return
  const [first] = due
  if (due.length > 1) {
    const half = due.length >> 1
    await claimAll(parts, offer, due.slice(0, half))
    return claimAll(parts, offer, due.slice(half))
  }
  if (first !== undefined) await giveUp(parts, offer, first)
}

/** What a payer took along before it was claimed is the house's loss. */
const giveUp = async (
  { store, log, channelNode, known }: ChannelParts,
  offer: Offer,
  one: DueClaim,
): Promise<void> => {
  const seen = await channelNode.look(offer, one.id.slice(offer.network.length + 1)).catch(() => undefined)
  if (seen === undefined) return
  if (seen.claimed > one.claimed)
    await store.claimChannel(one.id, least(seen.claimed, claimable(one)), 'seen on the chain')
  if (seen.balance >= claimable(one)) return
  log.error('the house pays calls, because their payer took its deposit back', { payment: one.id })
  await store.loseChannel(one.id, seen.balance)
  known.leave(one.id)
}

/** Moves what was claimed to the receiver; without anything to move it does nothing. */
export const sweep = async ({ facilitator, log }: ChannelParts, offer: Offer): Promise<void> => {
  const payload = { type: 'settle', receiver: offer.payTo, token: offer.asset }
  const answer = await facilitator.settle(asking(offer, payload))
  log.info('claimed vouchers were settled', { network: offer.network, outcome: answer.outcome })
}
