/**
 * How late the process is: how long one turn of its event loop takes that waits for nothing. Whoever waits for the process
 * waits a turn at each step, be it a call at the door, a vendor's answer or a piece of a stream.
 */
import type { Overload } from '../admission/overload.ts'
import type { Clock } from '../core/time.ts'

/** A shorter turn is measured at most this often, a longer one each time. */
const PAUSE_MS = 10
/** The ledger is late when a write has waited for this long. */
const QUEUED_MS = 200

type Watched = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'turn'>
  /** How long a turn may take; with 0 the process is never late. */
  readonly overloadMs: number
  /** For how long the oldest write has waited for the ledger. */
  readonly queuedMs: () => number
  readonly overload: Pick<Overload, 'note'>
}

/** To be called when a request comes: measures what is left of this turn, or the next one where that is longer, and all that follow for as long as they are long. */
export const watchTurns = ({ clock, overloadMs, queuedMs, overload }: Watched): (() => void) => {
  let watching = false
  let notedMs = clock.monotonicMs()
  const turn = async (): Promise<number> => {
    const startedMs = clock.monotonicMs()
    await clock.turn()
    return clock.monotonicMs() - startedMs
  }
  const note = (turnMs: number): void => {
    const nowMs = clock.monotonicMs()
    overload.note(nowMs - notedMs, Math.max(turnMs / overloadMs, queuedMs() / QUEUED_MS))
    notedMs = nowMs
  }
  const watch = async (): Promise<void> => {
    const restMs = await turn()
    let turnMs = Math.max(restMs, await turn())
    note(turnMs)
    // Seen now and then, long turns are so few that it takes many seconds to tell an overload from a burst.
    while (turnMs >= PAUSE_MS) {
      turnMs = await turn()
      note(turnMs)
    }
    watching = false
  }
  if (overloadMs === 0) return () => undefined
  return () => {
    if (watching || clock.monotonicMs() - notedMs < PAUSE_MS) return
    watching = true
    void watch()
  }
}
