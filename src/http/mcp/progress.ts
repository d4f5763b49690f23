/** Progress of a long call, for a client that asked for it. */
import type { Clock } from '../../core/time.ts'
import type { CallRequest } from './result.ts'

const EVERY_MS = 1_000

/**
 * Reports once at the start and then every second how many seconds the work has taken, until it ends; `total` are those
 * after which it is answered in any case.
 */
export const tellingProgress = async <T>(
  clock: Clock,
  { _meta, notify, signal }: CallRequest,
  total: number,
  work: () => Promise<T>,
): Promise<T> => {
  const token = _meta?.progressToken
  if (token === undefined) return work()
  let over = false
  const tell = (progress: number) =>
    notify({
      method: 'notifications/progress',
      params: {
        progressToken: token,
        progress: Math.min(progress, total),
        total,
        message: 'The product is at work.',
      },
    }).catch(() => undefined)
  const telling = async (): Promise<void> => {
    for (let seconds = 1; !over && !signal.aborted; seconds++) {
      await clock.sleep(EVERY_MS)
      if (!over) await tell(seconds)
    }
  }
  await tell(0)
  void telling()
  try {
    return await work()
  } finally {
    over = true
  }
}
