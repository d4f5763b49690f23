/** Does for the compiled file what bin/turnpike does for the sources. */
import { existsSync } from 'node:fs'

/** What the runtime reads only at its start. A variable that is already set stays. */
export const atStart: Readonly<Record<string, string>> = {
  // Else `fetch` allows 256 requests at once.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  // Freed memory goes back to the machine after ten seconds, and only in whole pages of the allocator. With the
  // allocator's own values a busy server gives back what it needs again at once (docs/decisions/runtime.md).
  MIMALLOC_PURGE_DELAY: '10000',
  MIMALLOC_PURGE_HOLES: '0',
}

/** Reads the environment files of the folder, as the runtime does for sources; variables that are already set stay. */
const readEnvironmentFiles = (): void => {
  for (const path of ['.env.local', '.env']) if (existsSync(path)) process.loadEnvFile(path)
}

/**
 * Completes the environment, and then restarts the process once if the runtime only reads it at its start. Windows
 * cannot replace a process; there the operator has to set the variable.
 */
export const settleEnvironment = (args: readonly string[]): void => {
  readEnvironmentFiles()
  const missing = Object.entries(atStart).filter(([name]) => process.env[name] === undefined)
  if (missing.length === 0) return
  for (const [name, value] of missing) process.env[name] = value
  if (process.platform !== 'win32')
    process.execve?.(process.execPath, [process.execPath, ...args], process.env)
}
