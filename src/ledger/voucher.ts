/** The voucher under which a call runs, as the ledger hears of it. */
import type { Nano } from '../core/money.ts'

/** The voucher that pays for a call, and the channel that is charged with the call. */
export type VoucherOfCall = {
  readonly id: string
  readonly channel: string
  /** One unit of its token. */
  readonly unit: Nano
  /** What it allows the channel to be charged in all. */
  readonly most: Nano
  readonly signature: string
}
