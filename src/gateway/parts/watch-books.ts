/**
 * The running check of the books: while the server runs, it checks the laws of their sums on the reports' connection.
 */
import type { Log } from '../../core/log.ts'
import { type Clock, type Instant, inRounds } from '../../core/time.ts'
import type { Store } from '../../store/port.ts'

type BooksParts = {
  readonly store: Pick<Store, 'engine' | 'ledger'>
  readonly clock: Clock
  readonly log: Log
}

export type BooksWatch = {
  /** What /api/status reports; undefined while all laws hold. */
  readonly trouble: () => string | undefined
  /** When the last look ended; undefined before the first. */
  readonly lookedAt: () => Instant | undefined
  readonly stop: () => void
}

const EVERY_MS = 20_000
/** What was edited just after a look began is told by the end of the next look, and of both within this. */
const TOLD_MS = 55_000
/**
 * After each look we pause for a multiple of its time, so that a large ledger is not read all the time. An embedded
 * ledger is read on the reports' thread, but its log cannot be checkpointed meanwhile, and the look shares the cores
 * with the calls: there we pause for longer, as long as edits are told of in time.
 */
const REST = 20
const LONG_REST = { postgres: REST, sqlite: 200 } as const

const pauseAfter = (engine: Store['engine'], tookMs: number): number =>
  Math.max(EVERY_MS, tookMs * REST, Math.min(tookMs * LONG_REST[engine], TOLD_MS - 2 * tookMs))

/** Checks the books until it is stopped. A broken law stays in the status until a later look finds it repaired. */
export const watchBooks = ({ store, clock, log }: BooksParts): BooksWatch => {
  let broken: string | undefined
  let lookedAt: Instant | undefined
  const look = async (): Promise<void> => {
    const found = (await store.ledger.audit('sums')).find(({ ok }) => !ok)
    if (found !== undefined && found.check !== broken)
      log.error('the books do not balance', { kind: found.check, error: found.detail })
    broken = found?.check
    lookedAt = clock.now()
  }
  const pauseMs = (tookMs: number) => pauseAfter(store.engine, tookMs)
  return {
    trouble: () => (broken === undefined ? undefined : 'the books do not balance; run `turnpike audit`'),
    lookedAt: () => lookedAt,
    stop: inRounds({ clock, log, pauseMs, failed: 'the books could not be checked' }, look),
  }
}
