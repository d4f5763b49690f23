/** Sweeps expired assets while a server runs. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import type { Assets } from './assets.ts'

const EVERY_MS = 60_000

type Parts = { readonly assets: Pick<Assets, 'sweep'>; readonly clock: Clock; readonly log: Log }

/** Runs until the returned function is called. */
export const keepSweeping = ({ assets, clock, log }: Parts): (() => void) => {
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      try {
        const ops = await assets.sweep()
        if (ops > 0) log.info('assets were swept', { ops })
      } catch (error) {
        log.warn('assets could not be swept', { error: messageOf(error) })
      }
      await clock.sleep(EVERY_MS)
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
