/** A call that was admitted: money is held, and what follows is to ask, meter and settle. */
import type { Ceiling } from '../admission/ceiling.ts'
import type { Hold } from '../book/words.ts'
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import type { Refusal } from '../core/refusal.ts'
import type { AccountId } from '../ledger/words.ts'
import type { PaymentMode } from '../payment/funding.ts'
import type { Key } from '../tenancy/key.ts'
import type { Keep } from './recording.ts'
import type { Memory } from './remember.ts'
import type { Trace } from './trace.ts'

/** How a call is paid for, as its receipt tells it. */
export type PaymentFacts = { readonly mode: PaymentMode } & Readonly<Record<string, string>>

export type Task = {
  readonly key: Key
  readonly call: Call
  /** Fingerprint of the body as the caller sent it. */
  readonly requestHash: () => string
  readonly payment: PaymentFacts
  /**
   * Takes the money of a call whose payer authorised it before: once it is charged, and before the end of its answer goes
   * out. Gives why it did not come.
   */
  readonly collect?: () => Promise<Refusal | undefined>
  /** What pays when it is not the key's wallet. */
  readonly account: AccountId | undefined
  readonly model: Model
  readonly trace: Trace
  readonly hold: Hold
  /** The caller's ceiling on the cost. */
  readonly limit: Ceiling
  /** The output bound to send to the vendor; undefined leaves the caller's own, or none. */
  readonly outputBound: number | undefined
  /** Output tokens, over all choices, that the hold covers at the start, and that the call may have in all. */
  readonly heldOutput: number
  readonly fullOutput: number
  /** Keeps the answer for later requests that name it, where its caller asked for that. */
  readonly memory?: Memory
  /** Where the answer is kept for repeats. */
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
}
