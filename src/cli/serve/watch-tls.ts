/** Looks whether the files of the certificate have changed, and has the listener take the new ones. */
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import type { Clock } from '../../core/time.ts'
import type { Tls } from '../../http/listen/edge.ts'

const EVERY_MS = 2_000

type Watched = {
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Log
  /** What is in the files now. Throws while they do not belong together, such as between two writes. */
  readonly read: () => Tls | undefined
  readonly renew: (tls: Tls) => void
}

/** Runs until the returned function is called. */
export const watchTls = (first: Tls, { clock, log, read, renew }: Watched): (() => void) => {
  let stopped = false
  let [now, told] = [JSON.stringify(first), '']
  const look = (): void => {
    const tls = read()
    const text = JSON.stringify(tls)
    if (tls === undefined || text === now) return
    renew(tls)
    now = text
    log.info('the certificate was renewed')
  }
  const run = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(EVERY_MS)
      if (stopped) return
      try {
        look()
        told = ''
      } catch (error) {
        // Told once, not every time.
        if (told !== messageOf(error))
          log.warn('the certificate cannot be renewed', { error: messageOf(error) })
        told = messageOf(error)
      }
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
