/**
 * Calls that are paid out of a deposit (x402, scheme `batch-settlement`): the voucher covers the bound, the channel is charged what
 * the call cost. The money is there before the call begins, so no answer waits for a chain.
 */
import type { Nano } from '../../core/money.ts'
import type { VoucherOfCall, VoucherRecord } from '../../ledger/voucher.ts'
import type { KnownChannel } from '../../payment/x402/known-channels.ts'
import type { Presented } from '../../payment/x402/presented.ts'
import { codes } from '../../payment/x402/voucher.ts'
import type { X402 } from '../../payment/x402.ts'
import type { Channel } from '../../store/payments/channel-port.ts'
import type { Trace } from '../parts/trace.ts'
import { PaymentDue } from './payment-due.ts'
import { addPaidHeaders, notTaken, type PaymentNotice, type PaymentToTake } from './take-payment.ts'

/** A channel as its payer's client reads it. */
const stateOf = ({ id, unit, balance, claimed, leavingAt }: Channel) => ({
  channelId: id.slice(id.lastIndexOf(':') + 1),
  balance: String(balance / unit),
  totalClaimed: String(claimed / unit),
  withdrawRequestedAt: leavingAt ?? 0,
})

const withCharged = (channel: Channel) => ({
  ...stateOf(channel),
  chargedCumulativeAmount: String(channel.charged / channel.unit),
})

/** Where a channel stands, with the payer's own signature under it: the client believes nothing else. */
const standingOf = (channel: Channel) => ({
  channelState: withCharged(channel),
  ...(channel.signature === undefined
    ? {}
    : {
        voucherState: {
          signedMaxClaimable: String(channel.signed / channel.unit),
          signature: channel.signature,
        },
      }),
})

/**
 * The 402 of a payment that paid for another request. A payer who does not know what that one cost signs the same voucher
 * again, and is told where its channel stands.
 */
export const usedBefore = async (x402: X402, presented: Presented | undefined): Promise<PaymentDue> => {
  const channel = presented && (await x402.channelOf(presented))
  return channel === undefined
    ? new PaymentDue('payment_already_used')
    : new PaymentDue(codes.mismatch, standingOf(channel))
}

/** What a voucher was taken for. */
export type TakenVoucher = KnownChannel & {
  /** Units that were deposited with it, and the transaction that brought them. */
  readonly deposit: string | undefined
  readonly transaction: string | undefined
  /** As the ledger hears of it, with the call. */
  readonly voucher: VoucherOfCall
}

/** Takes the voucher that a call brings, with its deposit if it has one. */
export const takeVoucher = async (
  it: Omit<PaymentToTake, 'creditTo' | 'invoiceId'>,
): Promise<TakenVoucher> => {
  const { x402, presented, requirements, paidFor, fingerprint } = it
  const taken = await x402.takeVoucher({ presented, requirements, callId: paidFor, fingerprint })
  if (taken.outcome === 'mismatch') throw new PaymentDue(codes.mismatch, standingOf(taken.channel))
  if (taken.outcome !== 'authorized') throw notTaken(it, taken)
  return tellTaken(it, taken)
}

/** Claims the call's answer and takes its voucher at once; undefined where that was not done, and nothing was changed. */
export const beginVoucher = async (
  it: Pick<PaymentToTake, 'x402' | 'trace' | 'presented' | 'fingerprint'>,
  claim: Pick<Parameters<X402['beginVoucher']>[0], 'claim' | 'withIntent'>,
): Promise<TakenVoucher | undefined> => {
  const { x402, trace, presented, fingerprint } = it
  const begun = await x402.beginVoucher({ presented, callId: trace.callId, fingerprint, ...claim })
  return begun && tellTaken(it, { ...begun, transaction: undefined })
}

/** Says in the headers where the channel stands. */
const tellTaken = (
  { x402, trace, presented }: Pick<PaymentToTake, 'x402' | 'trace' | 'presented'>,
  taken: KnownChannel & Pick<TakenVoucher, 'transaction'> & { readonly record?: VoucherRecord | undefined },
): TakenVoucher => {
  const { channel, untilMs, transaction, record } = taken
  // What a stream costs is known only after its headers: then the next voucher is corrected.
  const { deposit, most = '0', signature = '' } = presented.voucher ?? {}
  const deposited = transaction === undefined ? '' : deposit
  addPaidHeaders({ trace, payment: presented, at: x402.now() }, transaction ?? '', deposited, {
    channelState: stateOf(channel),
  })
  const { id, unit } = channel
  const voucher = { id: presented.id, channel: id, unit, most: BigInt(most) * unit, signature, record }
  return { channel, untilMs, deposit, transaction, voucher }
}

/** Says in the headers what a voucher's call was charged, which its channel was with it, and remembers where that stands. */
export const tellCharged = (
  it: PaymentNotice & { readonly x402: X402 },
  { channel: before, untilMs, deposit, transaction }: TakenVoucher,
  charged: Nano,
): void => {
  const { unit } = before
  const amount = ((charged + unit - 1n) / unit) * unit
  const channel = { ...before, charged: before.charged + amount }
  it.x402.channelCharged({ channel, untilMs })
  tell(it, channel, { amount, deposit, transaction })
}

const tell = (
  it: PaymentNotice,
  channel: Channel,
  paid: Pick<TakenVoucher, 'deposit' | 'transaction'> & { readonly amount: Nano },
): void => {
  const { amount, deposit, transaction } = paid
  addPaidHeaders(it, transaction ?? '', transaction === undefined ? '' : deposit, {
    chargedAmount: String(amount / channel.unit),
    channelState: withCharged(channel),
  })
}

/** Charges the channel of a voucher whose call was charged, if it was not yet, and says so in the headers. */
export const chargeVoucher = async (it: {
  readonly x402: X402
  readonly trace: Trace
  readonly payment: PaymentNotice['payment'] & { readonly id: string }
}): Promise<void> => {
  const charged = await it.x402.chargeVoucher(it.payment.id).catch(() => undefined)
  // The next round does it; the voucher is good for as long as its channel.
  if (charged === undefined || charged.payment.state !== 'settled') return
  const { payment, channel, deposit } = charged
  tell({ ...it, at: it.x402.now() }, channel, { ...payment, transaction: payment.transaction, deposit })
}
