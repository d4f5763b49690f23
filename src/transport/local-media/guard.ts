/**
 * A thread beside the work, which may be blocked: it ends the process when that uses too much memory, or when the
 * server it works for is gone.
 */

const MEMORY_MAX = 1_000_000_000
const EVERY_MS = 50

const isAlone = (parent: number): boolean => {
  try {
    process.kill(parent, 0)
    return false
  } catch (error) {
    // A server of another user is there, though it takes no signals of ours.
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM')
  }
}

const parent = process.ppid

setInterval(() => {
  if (process.memoryUsage.rss() > MEMORY_MAX || isAlone(parent)) process.kill(process.pid, 'SIGKILL')
}, EVERY_MS)
