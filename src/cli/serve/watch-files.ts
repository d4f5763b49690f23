/**
 * Watches files by looking at them regularly. This also notices what the system's own notices miss: the links that
 * Kubernetes redirects to another folder, files that are mounted one by one, and network disks.
 */
import { stat } from 'node:fs/promises'
import type { Clock } from '../../core/time.ts'

const LOOK_MS = 1_000

/**
 * Calls `changed` when a file differs from before and has stayed the same for two looks, so that no file is read while
 * it is being written. Returns how to stop it.
 */
export const watchFiles = (
  files: readonly string[],
  clock: Pick<Clock, 'sleep'>,
  changed: () => Promise<unknown>,
): (() => void) => {
  let stopped = false
  const watch = async (): Promise<void> => {
    let applied = await stateOf(files)
    let seen = applied
    while (!stopped) {
      await clock.sleep(LOOK_MS)
      const now = await stateOf(files)
      if (now !== applied && now === seen && !stopped) {
        applied = now
        await changed()
      }
      seen = now
    }
  }
  void watch()
  return () => {
    stopped = true
  }
}

const stateOf = async (files: readonly string[]): Promise<string> =>
  (
    await Promise.all(
      files.map((file) =>
        stat(file).then(
          ({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`,
          () => 'none',
        ),
      ),
    )
  ).join('\n')
