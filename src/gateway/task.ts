/** A call that was admitted: money is held, and what follows is to ask, meter and settle. */
import type { Ceiling } from '../admission/ceiling.ts'
import type { Hold } from '../book/words.ts'
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import type { Key } from '../tenancy/key.ts'
import type { Keep } from './recording.ts'
import type { Trace } from './trace.ts'

export type Task = {
  readonly key: Key
  readonly call: Call
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
  /** Where the answer is kept for repeats. */
  readonly keep: Keep | undefined
  readonly signal: AbortSignal
}
