/** The running check of the books: the laws of their sums, looked at while the server runs, on the reports' connection. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import type { Store } from '../store/port.ts'

type Parts = { readonly store: Store; readonly clock: Clock; readonly log: Log }

export type BooksWatch = {
  /** What /api/status tells; undefined while all laws hold. */
  readonly trouble: () => string | undefined
  readonly stop: () => void
}

const EVERY_MS = 20_000
/** How often the time of a look is paused after it, so that a large ledger is not read all the time. An embedded one
 *  stands still meanwhile. */
const REST = { postgres: 20, sqlite: 200 } as const

/** Looks at the books until it is stopped. What is broken stays told until a later look finds it mended. */
export const watchBooks = ({ store, clock, log }: Parts): BooksWatch => {
  let broken: string | undefined
  let stopped = false
  const look = async (): Promise<void> => {
    try {
      const found = (await store.audit('sums')).find(({ ok }) => !ok)
      if (found !== undefined && found.check !== broken)
        log.error('the books do not hold', { kind: found.check, error: found.detail })
      broken = found?.check
    } catch (error) {
      log.warn('the books could not be looked at', { error: messageOf(error) })
    }
  }
  const watch = async (): Promise<void> => {
    while (!stopped) {
      const started = clock.monotonicMs()
      await look()
      await clock.sleep(Math.max(EVERY_MS, (clock.monotonicMs() - started) * REST[store.engine]))
    }
  }
  void watch()
  return {
    trouble: () => (broken === undefined ? undefined : 'the books do not balance; run `turnpike audit`'),
    stop: () => {
      stopped = true
    },
  }
}
