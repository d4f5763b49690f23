/** Waits here for the end of a run, whichever process works on it. */
import type { Run } from '../../store/calls/run-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import { endedHere } from '../parts/jobs.ts'

/** How often we look at a run that another process is working on. */
const LOOK_MS = 500

/** The run once it has ended, or as it stands after this time or when the process ends: at once, or once its jobs are left. */
export const awaitRun = async (
  gateway: Gateway,
  id: string,
  waitMs: number,
  over: 'stopped' | 'left' = 'stopped',
): Promise<Run | undefined> => {
  const { store, clock } = gateway
  const { jobs } = gateway.memory
  const until = clock.monotonicMs() + waitMs
  for (;;) {
    const { ended, stop } = endedHere(jobs, id)
    try {
      const run = await store.runs.run(id)
      const leftMs = until - clock.monotonicMs()
      if (run === undefined || run.endedAt !== undefined || leftMs <= 0 || jobs[over]) return run
      await Promise.race([ended, clock.sleep(jobs.open.has(id) ? leftMs : Math.min(leftMs, LOOK_MS))])
    } finally {
      stop()
    }
  }
}

/**
 * Resolves when the work for a run has ended, or when this process leaves its jobs to others, although the work goes on.
 * Throws what the work threw before.
 */
export const endedOrLeft = async (
  { memory: { jobs } }: Gateway,
  id: string,
  work: Promise<void>,
): Promise<void> => {
  let over = false
  const ended = work.finally(() => {
    over = true
  })
  ended.catch(() => undefined)
  while (!over && !jobs.left) {
    const { ended: woken, stop } = endedHere(jobs, id)
    await Promise.race([ended, woken]).finally(stop)
  }
}

/** Makes the answer for a caller who needs it from this process: it does not end before. */
export const staying = async <T>({ memory: { jobs } }: Gateway, work: () => Promise<T>): Promise<T> => {
  jobs.staying++
  try {
    return await work()
  } finally {
    jobs.staying--
  }
}
