/** Work that a process does again and again, beside calls. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'

type Rounds = {
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>
  readonly log: Pick<Log, 'warn'>
  /** The pause after a round that took so long. */
  readonly pauseMs: (tookMs: number) => number
  /** The first round comes after a pause too. */
  readonly waits?: true
  /** What the log says of a round that failed; the next one tries again. */
  readonly failed: string
}

/** A pause of about this length: processes that started together do not ask together. */
export const about = (ms: number, random: () => number) => (): number => ms * (0.5 + random())

/**
 * Works in rounds until the returned function is called; long rounds ask `goesOn` between their steps. Several servers may do
 * it at once. A round that the end of the process cuts off is no trouble.
 */
export const inRounds = (
  { clock, log, pauseMs, waits, failed }: Rounds,
  work: (goesOn: () => boolean) => Promise<void>,
): (() => void) => {
  let stopped = false
  const goesOn = () => !stopped
  const run = async (): Promise<void> => {
    if (waits === true) await clock.sleep(pauseMs(0))
    while (!stopped) {
      const startedMs = clock.monotonicMs()
      await work(goesOn).catch((error: unknown) => {
        if (!stopped) log.warn(failed, { error: messageOf(error) })
      })
      await clock.sleep(pauseMs(clock.monotonicMs() - startedMs))
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
