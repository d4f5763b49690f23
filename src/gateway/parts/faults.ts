/** Why this process failed or refused calls within the last minute; /api/status reports it as the state of the API itself. */

export type Faults = {
  /** Notes why; `nowMs` is monotonic. The text is shown to everybody. */
  note(nowMs: number, why: string): void
  /** Why it last did so within the last minute. */
  recent(nowMs: number): string | undefined
}

const SHOWN_MS = 60_000

export const newFaults = (): Faults => {
  let last: { readonly atMs: number; readonly why: string } | undefined
  return {
    note: (atMs, why) => {
      last = { atMs, why }
    },
    recent: (nowMs) => (last !== undefined && nowMs - last.atMs < SHOWN_MS ? last.why : undefined),
  }
}
