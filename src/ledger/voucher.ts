/** The voucher under which a call runs, as the ledger hears of it. */
import type { Nano } from '../core/money.ts'

/** What is noted of a voucher with its call's intent, and the claim of the call's answer that is made with it. */
export type VoucherRecord = {
  readonly fingerprint: string
  /** The most that its call may cost. */
  readonly amount: Nano
  readonly payer: string
  readonly ref: { readonly keyId: string; readonly endpoint: string; readonly key: string }
  readonly lockMs: number
}

/** The voucher that pays for a call, and the channel that is charged with the call. */
export type VoucherOfCall = {
  readonly id: string
  readonly channel: string
  /** One unit of its token. */
  readonly unit: Nano
  /** What it allows the channel to be charged in all. */
  readonly most: Nano
  readonly signature: string
  /** Of one that is not in the ledger before its call's intent. */
  readonly record?: VoucherRecord | undefined
}
