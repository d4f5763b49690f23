/** Does for the compiled file what bin/turnpike does for the sources. */
import { existsSync } from 'node:fs'

/** The runtime's `fetch` allows 256 requests at once unless this is set before the process starts. */
const REQUESTS = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const REQUESTS_MAX = '65336'

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
  if (process.env[REQUESTS] !== undefined) return
  process.env[REQUESTS] = REQUESTS_MAX
  if (process.platform !== 'win32')
    process.execve?.(process.execPath, [process.execPath, ...args], process.env)
}
