/**
 * A thread beside the work, which may be blocked: it ends the process when that uses too much memory, or when the
 * server it works for is gone.
 */
import { machineMemory } from '../machine-memory.ts'

/** In little memory, half of it. */
const MEMORY_MAX = Math.min(1_000_000_000, machineMemory() / 2)
const EVERY_MS = 50

/** Told from the start: a process whose server is gone before this thread begins has another parent. */
const server = Number(process.argv.at(-1))

const isAlone = (): boolean => {
  try {
    process.kill(server, 0)
    return false
  } catch (error) {
    // A server of another user is there, though it takes no signals of ours.
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM')
  }
}

setInterval(() => {
  if (process.memoryUsage.rss() > MEMORY_MAX || isAlone()) process.kill(process.pid, 'SIGKILL')
}, EVERY_MS)
