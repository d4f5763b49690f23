/**
 * The scheme `batch-settlement`: a payer deposits once and signs a voucher for each call, under which the call is charged what
 * it cost. Vouchers are claimed on the chain many at a time, long before a payer who leaves can take the deposit along.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { VoucherRecord } from '../../ledger/voucher.ts'
import type { Claim } from '../../store/calls/idempotency-port.ts'
import type { Channel, ChannelSeen, VoucherCharged } from '../../store/payments/channel-port.ts'
import { type ChannelParts, claimDue, sweep } from './claim-channels.ts'
import type { KnownChannel, KnownChannels } from './known-channels.ts'
import { newVoucherOf } from './new-voucher.ts'
import { nanoOfUnits, type Offer } from './offer.ts'
import type { Presented } from './presented.ts'
import { type ChannelTerms, codes, type Voucher, type VoucherCheck } from './voucher.ts'

type VoucherToBegin = Pick<VoucherToTake, 'presented' | 'callId' | 'fingerprint'> & {
  readonly claim: Claim
  /** Whether its voucher may be recorded with its intent. */
  readonly withIntent: boolean
}

/** The record is of a voucher that is not in the ledger yet. */
type BegunVoucher = KnownChannel & { readonly record: VoucherRecord | undefined }

type VoucherToTake = {
  readonly presented: Presented
  readonly requirements: JsonObject
  readonly callId: string
  readonly fingerprint: string
}

type TakenVoucher =
  | (KnownChannel & {
      readonly outcome: 'authorized'
      /** The transaction of the deposit that came with it. */
      readonly transaction: string | undefined
    })
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
  /**
   * Claims the answer of a call and records its voucher at once, which most vouchers allow; undefined where it was not done, and
   * `take` says why. If this process charged the channel last, that is left to the commit of the call's intent: then `opened` must
   * follow.
   */
  begin(it: VoucherToBegin): Promise<BegunVoucher | undefined>
  /** See KnownChannels. */
  opened: KnownChannels['opened']
  charged: KnownChannels['charged']
  /** Charges the channel what the voucher's call was charged, if it was. */
  finish(paymentId: string): Promise<VoucherCharged>
  /** Looks which payers leave, and claims what is due. */
  round(): Promise<void>
}

/** Opens the scheme; where it is off it takes no voucher, and ends those that were taken. */
export const openChannels = (parts: ChannelParts): Channels => {
  const { options, known } = parts
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
      if (voucher !== undefined && !known.leave(`${it.presented.offer.network}:${voucher.channelId}`))
        return { outcome: 'refused', reason: codes.busy }
      return wrong === undefined && voucher !== undefined
        ? takeChecked(parts, it, voucher)
        : { outcome: 'refused', reason: wrong ?? 'quote_mismatch' }
    },
    begin: async (it) => {
      const { voucher, offer } = it.presented
      if (voucher === undefined || voucher.deposit !== undefined) return undefined
      if ((await fault(it.presented)) !== undefined) return undefined
      const id = `${offer.network}:${voucher.channelId}`
      const [most, amount] = [nanoOfUnits(offer, voucher.most), nanoOfUnits(offer, it.presented.units)]
      const mine = it.withIntent ? known.take(id, most - amount, most) : undefined
      if (mine !== undefined) {
        const { fingerprint, presented, claim } = it
        const { ref, lockMs } = claim
        return { ...mine, record: { fingerprint, amount, payer: presented.payer, ref, lockMs } }
      }
      if (!known.leave(id)) return undefined
      const account = parts.channelAccountOf(id)
      const record = newVoucherOf(it, voucher, { account, seen: undefined, transaction: undefined })
      const askedMs = known.nowMs()
      const taken = await parts.store.beginVoucher(record, it.claim)
      return taken && { channel: taken.channel, untilMs: askedMs + taken.freshMs, record: undefined }
    },
    opened: (id) => known.opened(id),
    charged: (it) => known.charged(it),
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
    const askedMs = parts.known.nowMs()
    const taken = await store.takeVoucher(
      newVoucherOf(it, voucher, { account: parts.channelAccountOf(id), seen, transaction }),
    )
    const { outcome } = taken
    if (outcome === 'authorized')
      return { outcome, channel: taken.channel, untilMs: askedMs + taken.freshMs, transaction }
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
  { store, log, channelNode, known }: ChannelParts,
  { network, rpcUrl = '' }: Offer,
): Promise<void> => {
  try {
    const ids = (await channelNode.leaving(rpcUrl)).map((id) => `${network}:${id}`)
    if (ids.length > 0) await store.channelsLeaving(ids)
    for (const id of ids) known.leave(id)
  } catch (error) {
    log.warn('the node did not say which payers leave', { network, error: String(error) })
  }
}
