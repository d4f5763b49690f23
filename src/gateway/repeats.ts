/** Calls under an Idempotency-Key that run in this process now, for others to join. */
import type { Answer } from './answer.ts'
import type { Recording } from './recording.ts'
import type { Trace } from './trace.ts'

export type RunningCall = {
  readonly fingerprint: string
  readonly recording: Recording
  /** Of the request that runs it: its call is that of all who join. */
  readonly trace: Trace
  /** Resolves when the answer begins; its body is in the recording when it is a stream. */
  readonly answer: Promise<Answer>
}

export type Repeats = Map<string, RunningCall>

export const newRepeats = (): Repeats => new Map()
