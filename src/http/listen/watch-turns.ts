/**
 * How late the process is: the time of one turn of its event loop without waiting. Everything in the process waits one
 * turn at each step: a new call, a vendor's answer, a piece of a stream.
 */
import type { Overload } from '../../admission/overload.ts'
import type { Clock } from '../../core/time.ts'

/** Shorter turns are measured at most this often, longer ones every time. */
const PAUSE_MS = 10
/** The ledger is late when a write has waited this long. */
const QUEUED_MS = 200

type Watched = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'turn'>
  /** How long a turn may take; with 0 the process is never late. */
  readonly overloadMs: number
  /** How long the oldest write has been waiting for the ledger. */
  readonly queuedMs: () => number
  readonly overload: Pick<Overload, 'note'>
}

/**
 * Call it with the time when a request arrives: it measures the rest of this turn, or the next one if that is longer, and then every
 * turn for as long as they are long.
 */
export const watchTurns = ({ clock, overloadMs, queuedMs, overload }: Watched): ((nowMs: number) => void) => {
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
    // Long turns are few, so sampling them would take many seconds to tell an overload from a burst.
    while (turnMs >= PAUSE_MS) {
      turnMs = await turn()
      note(turnMs)
    }
    watching = false
  }
  if (overloadMs === 0) return () => undefined
  return (nowMs) => {
    if (watching || nowMs - notedMs < PAUSE_MS) return
    watching = true
    void watch()
  }
}
