/**
 * The scheme `batch-settlement`: a payer deposits once and signs a voucher for each call, under which the call is charged what
 * it cost. Vouchers are claimed on the chain many at a time, long before a payer who leaves can take the deposit along.
 */
import type { JsonObject } from '../../core/json-body.ts'
import { least } from '../../core/money.ts'
import type {
  Channel,
  ChannelSeen,
  ChannelStore,
  DueClaim,
  VoucherCharged,
} from '../../store/payments/channel-port.ts'
import type { ChannelNode } from './channel-node.ts'
import type { Kinds } from './facilitator.ts'
import { newVoucherOf } from './new-voucher.ts'
import { nanoOfUnits, type Offer, type X402Options } from './offer.ts'
import type { Presented } from './presented.ts'
import type { SettlementParts } from './settlement.ts'
import { type ChannelTerms, codes, type Voucher, type VoucherCheck } from './voucher.ts'

type ChannelParts = Pick<SettlementParts, 'facilitator' | 'log'> & {
  readonly store: ChannelStore
  readonly options: X402Options
  readonly kinds: () => Kinds | undefined
  readonly channelAccountOf: (id: string) => string
  readonly channelNode: ChannelNode
  readonly openCheck: () => Promise<VoucherCheck>
}

type VoucherToTake = {
  readonly presented: Presented
  readonly requirements: JsonObject
  readonly callId: string
  readonly fingerprint: string
}

type TakenVoucher =
  | {
      readonly outcome: 'authorized'
      readonly channel: Channel
      /** The transaction of the deposit that came with it. */
      readonly transaction: string | undefined
    }
  /** Its payer lost count; the channel says where it stands. */
  | { readonly outcome: 'mismatch'; readonly channel: Channel }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unreachable' | 'unknown' }

export type Channels = {
  /** What a channel of this token must be; undefined if vouchers are not taken for it. */
  terms(offer: Offer): ChannelTerms | undefined
  /** The channel of a voucher that its payer signed. */
  stands(presented: Presented): Promise<Channel | undefined>
  /** Checks a voucher, brings its deposit to the chain, and records it for a call that is about to run. */
  take(it: VoucherToTake): Promise<TakenVoucher>
  /** Charges the channel what the voucher's call was charged, if it was. */
  finish(paymentId: string): Promise<VoucherCharged>
  /** Looks which payers leave, and claims what is due. */
  round(): Promise<void>
}

/** Claims in one transaction, which a block has room for. */
const CLAIMS_MOST = 100

/** Opens the scheme; where it is off it takes no voucher, and ends those that were taken. */
export const openChannels = (parts: ChannelParts): Channels => {
  const { options } = parts
  const { channels: set } = options
  let check: Promise<VoucherCheck> | undefined
  let swept = false
  const terms = (offer: Offer): ChannelTerms | undefined => {
    const authorizer = parts.kinds()?.get(`2 batch-settlement ${offer.network}`)
    return set === undefined || authorizer === undefined || offer.rpcUrl === undefined
      ? undefined
      : { authorizer, withdrawSeconds: set.withdrawSeconds }
  }
  /** What is wrong with it. */
  const fault = async ({ voucher, offer }: Presented): Promise<string | undefined> => {
    const asked = terms(offer)
    if (voucher === undefined || asked === undefined) return 'quote_mismatch'
    check ??= parts.openCheck()
    return (await check)(voucher, { ...asked, ...offer })
  }
  return {
    terms,
    stands: async (presented) => {
      const { voucher, offer } = presented
      if (voucher === undefined || (await fault(presented)) !== undefined) return undefined
      return parts.store.channel(`${offer.network}:${voucher.channelId}`)
    },
    take: async (it) => {
      const { voucher } = it.presented
      const wrong = await fault(it.presented)
      return wrong === undefined && voucher !== undefined
        ? takeChecked(parts, it, voucher)
        : { outcome: 'refused', reason: wrong ?? 'quote_mismatch' }
    },
    finish: (paymentId) => parts.store.chargeVoucher(paymentId),
    round: async () => {
      for (const offer of options.offers) {
        if (set === undefined || terms(offer) === undefined) continue
        await watch(parts, offer)
        const claimed = await claimDue(parts, offer, set)
        // A process may have died between a claim and this.
        if (claimed || !swept) await sweep(parts, offer)
      }
      swept = parts.kinds() !== undefined
    },
  }
}

const takeChecked = async (
  parts: ChannelParts,
  it: VoucherToTake,
  voucher: Voucher,
): Promise<TakenVoucher> => {
  const { store } = parts
  const { presented } = it
  const { offer } = presented
  const { channelId, deposit } = voucher
  const id = `${offer.network}:${channelId}`
  const most = nanoOfUnits(offer, voucher.most)
  const record = async (seen?: ChannelSeen, transaction?: string): Promise<TakenVoucher | 'unseen'> => {
    const taken = await store.takeVoucher(
      newVoucherOf(it, voucher, { account: parts.channelAccountOf(id), seen, transaction }),
    )
    const { outcome } = taken
    if (outcome === 'authorized') return { ...taken, transaction }
    if (outcome === 'mismatch') return taken
    return outcome === 'unseen' ? outcome : { outcome: 'refused', reason: REASONS[outcome] }
  }
  let seen: ChannelSeen | undefined
  let transaction: string | undefined
  if (deposit !== undefined) {
    const known = await store.channel(id)
    const begins = most - nanoOfUnits(offer, presented.units)
    // Nobody's deposit is taken for a voucher that cannot be charged; with another's call in between the ledger decides.
    if (known !== undefined && known.pending === undefined && known.charged !== begins)
      return { outcome: 'mismatch', channel: known }
    const brought = await bring(parts, it, channelId, most)
    if ('outcome' in brought) return brought
    ;({ seen, transaction } = brought)
  } else {
    // Most channels are known, so the chain is asked only where the ledger says so.
    const taken = await record()
    if (taken !== 'unseen') return taken
    seen = await lookAt(parts, offer, channelId)
  }
  if (seen === undefined) return { outcome: 'unreachable' }
  if (seen.balance === 0n && (await store.channel(id)) === undefined)
    return { outcome: 'refused', reason: codes.notFound }
  const taken = await record(seen, transaction)
  return taken === 'unseen' ? { outcome: 'unknown' } : taken
}

const REASONS = { busy: codes.busy, beyond_deposit: codes.beyondDeposit, leaving: codes.leaving }

/** What the chain says of a channel; undefined if the node does not say it. */
const lookAt = async (
  { channelNode, log }: ChannelParts,
  offer: Offer,
  channelId: string,
): Promise<ChannelSeen | undefined> => {
  try {
    return await channelNode.look(offer, channelId)
  } catch (error) {
    log.warn('the node did not say what a channel holds', { network: offer.network, error: String(error) })
    return undefined
  }
}

/** Brings a deposit to the chain, unless it is there: then the channel holds what the voucher is for. */
const bring = async (
  parts: ChannelParts,
  { presented, requirements }: VoucherToTake,
  channelId: string,
  most: bigint,
): Promise<
  { seen: ChannelSeen; transaction: string | undefined } | Exclude<TakenVoucher, { channel: Channel }>
> => {
  const { facilitator } = parts
  const { offer, payload } = presented
  const verified = await facilitator.verify({ payload, requirements })
  if (verified.outcome === 'unknown') return { outcome: 'unreachable' }
  if (verified.outcome === 'invalid') {
    const seen = await lookAt(parts, offer, channelId)
    if (seen === undefined) return { outcome: 'unreachable' }
    return seen.balance >= most ? { seen, transaction: undefined } : { ...verified, outcome: 'refused' }
  }
  const settled = await facilitator.settle({ payload, requirements })
  if (settled.outcome === 'refused') return settled
  if (settled.outcome === 'unknown') return { outcome: 'unknown' }
  const seen = await lookAt(parts, offer, channelId)
  // The node may be behind the facilitator's: sent again, the deposit is there.
  return seen !== undefined && seen.balance >= most
    ? { seen, transaction: settled.transaction }
    : { outcome: 'unknown' }
}

const watch = async (
  { store, log, channelNode }: ChannelParts,
  { network, rpcUrl = '' }: Offer,
): Promise<void> => {
  try {
    const ids = await channelNode.leaving(rpcUrl)
    if (ids.length > 0) await store.channelsLeaving(ids.map((id) => `${network}:${id}`))
  } catch (error) {
    log.warn('the node did not say which payers leave', { network, error: String(error) })
  }
}

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
const claimDue = async (
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
  { store, log, channelNode }: ChannelParts,
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
}

/** Moves what was claimed to the receiver; without anything to move it does nothing. */
const sweep = async ({ facilitator, log }: ChannelParts, offer: Offer): Promise<void> => {
  const payload = { type: 'settle', receiver: offer.payTo, token: offer.asset }
  const answer = await facilitator.settle(asking(offer, payload))
  log.info('claimed vouchers were settled', { network: offer.network, outcome: answer.outcome })
}
