/** Calls under an Idempotency-Key that are running in this process, for others to join. */
import type { Answer } from './answer.ts'
import type { Recording } from './recording.ts'
import type { Trace } from './trace.ts'

export type RunningCall = {
  readonly fingerprint: string
  readonly recording: Recording
  /** The trace of the request that runs it; its call is the call of all who join. */
  readonly trace: Trace
  /** Resolves when the answer begins; if that is a stream, its body is in the recording. */
  readonly answer: Promise<Answer>
}

export type Repeats = Map<string, RunningCall>

export const newRepeats = (): Repeats => new Map()
