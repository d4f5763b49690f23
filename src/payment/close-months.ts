/** Writes invoices as months end, while a server runs. */

import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import type { CreditStore } from '../store/funding/funding-port.ts'

const EVERY_MS = 60_000

type MonthParts = { readonly store: CreditStore; readonly clock: Clock; readonly log: Log }

/** Runs until the returned function is called. Several servers may do it at once. */
export const keepMonthsClosed = ({ store, clock, log }: MonthParts): (() => void) => {
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      try {
        const issued = await store.closeMonths()
        if (issued > 0) log.info('invoices were written', { ops: issued })
      } catch (error) {
        log.warn('invoices could not be written', {
          error: messageOf(error),
        })
      }
      await clock.sleep(EVERY_MS)
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
