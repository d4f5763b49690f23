/** The store's port for channels: deposits of payers on a chain, and the vouchers charged under them. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { Claim } from '../calls/idempotency-port.ts'
import type { NewPayment, Payment } from './payment-port.ts'

/** A channel as its chain shows it. */
export type ChannelSeen = {
  /** All that was deposited and not taken back, claimed or not. */
  readonly balance: Nano
  readonly claimed: Nano
  /** When its payer announced that it leaves, in seconds since 1970. */
  readonly leavingAt: number | undefined
}

/** `<network>:<channel>`. */
type ChannelId = string

export type Channel = {
  readonly id: ChannelId
  readonly payer: string
  readonly asset: string
  readonly account: AccountId
  readonly config: string
  /** One unit of the token. */
  readonly unit: Nano
  readonly balance: Nano
  readonly leavingAt?: number
  readonly seenAt: Instant
  readonly charged: Nano
  readonly claimed: Nano
  readonly lost: Nano
  /** The newest charged voucher, and what it allows in all. */
  readonly signed: Nano
  readonly signature?: string
  readonly pending?: string
  readonly chargedAt?: Instant
  readonly createdAt: Instant
}

/** A voucher for one call, checked as far as that goes without the ledger. */
export type NewVoucher = Pick<NewPayment, 'id' | 'callId' | 'fingerprint' | 'amount' | 'payer'> & {
  readonly channel: Pick<Channel, 'id' | 'asset' | 'account' | 'config' | 'unit'>
  /** What it allows the channel to be charged in all. */
  readonly most: Nano
  readonly signature: string
  /** What was deposited with it. */
  readonly deposit: string | undefined
  /** The chain as it was just seen; without it what is known of the channel counts. */
  readonly seen: ChannelSeen | undefined
  /** The transaction of the deposit that came with it. */
  readonly transaction: string | undefined
}

/** The channel of a voucher that was taken, and how long what its chain showed of it counts. */
type ChannelTaken = { readonly channel: Channel; readonly freshMs: number }

export type VoucherTaken =
  | ({ readonly outcome: 'authorized' } & ChannelTaken)
  /** The chain must be asked first: nothing is known of the channel, or not of late, or too little is in it. */
  | { readonly outcome: 'unseen' }
  /** Another call has the channel. */
  | { readonly outcome: 'busy' }
  /** It does not begin where the channel stands, or was charged before. */
  | { readonly outcome: 'mismatch'; readonly channel: Channel }
  | { readonly outcome: 'beyond_deposit' | 'leaving' }

export type VoucherCharged = {
  readonly payment: Payment
  readonly channel: Channel
  /** Units that were deposited with the voucher. */
  readonly deposit: string | undefined
}

/** What of a channel can be claimed now. */
export type DueClaim = Channel & { readonly signature: string }

/** What the channels of a payer come to. */
type PayerSums = {
  readonly payer: string
  readonly channels: number
  readonly deposited: Nano
  readonly charged: Nano
  readonly claimed: Nano
  /** Charged and not claimed yet. */
  readonly claimable: Nano
  /** Deposited and not charged. */
  readonly left: Nano
}

/** A call that a payer's voucher was charged for. */
type PaidByVoucher = {
  readonly callId: string
  readonly channelId: ChannelId
  readonly amount: Nano
  readonly at: Instant
}

export type ChannelStore = {
  /** Payers, those with the most charged first; or the one. */
  payers(it: { readonly payer?: string | undefined; readonly most: number }): Promise<readonly PayerSums[]>
  channelsOf(payer: string): Promise<readonly Channel[]>
  /** The newest charged calls of a payer. */
  paidByVoucher(payer: string, most: number): Promise<readonly PaidByVoucher[]>
  channel(id: ChannelId): Promise<Channel | undefined>
  /** Records a voucher for a call that is about to run, if the channel stands where it begins and nobody else has it. */
  takeVoucher(voucher: NewVoucher): Promise<VoucherTaken>
  /**
   * Claims the answer's name (IdempotencyStore.begin) and records the voucher, both at once, and returns the channel. Undefined, and
   * nothing is changed, if anything is known of the name or of the voucher, or `takeVoucher` would not take it as it is.
   */
  beginVoucher(voucher: NewVoucher, claim: Claim): Promise<ChannelTaken | undefined>
  /** Charges the channel what the voucher's call was charged, in whole units, once, if that was not done with the call. */
  chargeVoucher(paymentId: string): Promise<VoucherCharged>
  /** Their payers announced that they leave, so they are claimed at once and looked at before the next call. */
  channelsLeaving(ids: readonly ChannelId[]): Promise<void>
  /**
   * The channels to claim in one transaction of a chain's token, each to one process: all that have something, once one
   * of them has waited for `ageMs`, they come to `sum` together, or a payer leaves.
   */
  dueClaims(it: {
    readonly asset: string
    readonly network: string
    readonly sum: Nano
    readonly ageMs: number
    /** How long the process has for them. */
    readonly ownMs: number
    readonly most: number
  }): Promise<readonly DueClaim[]>
  /** The chain counts this as claimed: into the ledger, once. */
  claimChannel(id: ChannelId, claimed: Nano, transaction: string): Promise<void>
  /** The payer left with what was charged beyond this: the house pays it. */
  loseChannel(id: ChannelId, claimable: Nano): Promise<void>
}
