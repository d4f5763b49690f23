/** This process's own faults of the last minute; /api/status reports them as the state of the API itself. */

export type Faults = {
  /** Notes a fault; `nowMs` is monotonic. */
  note(nowMs: number): void
  /** Whether there was a fault within the last minute. */
  recent(nowMs: number): boolean
}

const SHOWN_MS = 60_000

export const newFaults = (): Faults => {
  let lastMs = Number.NEGATIVE_INFINITY
  return {
    note: (nowMs) => {
      lastMs = nowMs
    },
    recent: (nowMs) => nowMs - lastMs < SHOWN_MS,
  }
}
