/** Looks whether the files of the certificate have changed, and has the listener take the new ones. */
import type { Log } from '../../core/log.ts'
import { type Clock, inRounds } from '../../core/time.ts'
import type { Tls } from '../../http/listen/edge.ts'

const EVERY_MS = 2_000

type Watched = {
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>
  readonly log: Log
  /** What is in the files now. Throws while they do not belong together, such as between two writes. */
  readonly read: () => Tls | undefined
  readonly renew: (tls: Tls) => void
}

/** Runs until the returned function is called. */
export const watchTls = (first: Tls, { clock, log, read, renew }: Watched): (() => void) => {
  let now = JSON.stringify(first)
  const look = async (): Promise<void> => {
    const tls = read()
    const text = JSON.stringify(tls)
    if (tls === undefined || text === now) return
    renew(tls)
    now = text
    log.info('the certificate was renewed')
  }
  const failed = 'the certificate cannot be renewed'
  return inRounds({ clock, log, pauseMs: () => EVERY_MS, waits: true, once: true, failed }, look)
}
