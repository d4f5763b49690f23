/** What bin/turnpike does for the sources, done by the compiled file for itself. */
import { existsSync } from 'node:fs'

/** The runtime's `fetch` allows 256 requests at once unless this is set before the process starts. */
const REQUESTS = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const REQUESTS_MAX = '65336'

/** Reads the environment files of the folder, as the runtime does for sources; what is set already stays. */
const readEnvironmentFiles = (): void => {
  for (const path of ['.env.local', '.env']) if (existsSync(path)) process.loadEnvFile(path)
}

/**
 * Settles the environment, then replaces the process once by itself where the runtime reads it only at its start. Windows
 * cannot replace a process: there the variable is the operator's to set.
 */
export const settleEnvironment = (args: readonly string[]): void => {
  readEnvironmentFiles()
  if (process.env[REQUESTS] !== undefined) return
  process.env[REQUESTS] = REQUESTS_MAX
  if (process.platform !== 'win32')
    process.execve?.(process.execPath, [process.execPath, ...args], process.env)
}
