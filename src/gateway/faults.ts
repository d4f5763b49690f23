/** Faults of this process's own, for a minute: what /api/status tells of the API itself. */

export type Faults = {
  /** Notes one; `nowMs` is monotonic. */
  note(nowMs: number): void
  /** Whether there was one within the last minute. */
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
