/** Files: each connection and each request to a vendor is one, and a process may have only so many open. */
import { readFileSync } from 'node:fs'
import type { Log } from '../../core/log.ts'

/** Its caller's connection and its vendor's. */
const FILES_A_CALL = 2
/** The ledger, the program itself, and connections without a call. */
const OTHER_FILES = 200

/** How many files the process may have open, where the system says it. */
const filesMax = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}

/** Warns when OPEN_CALLS_MAX promises more than the files allow. */
export const warnOfFiles = (openCallsMax: number, log: Log): void => {
  const files = filesMax()
  const calls = Math.max(0, Math.floor((files - OTHER_FILES) / FILES_A_CALL))
  if (calls >= openCallsMax) return
  log.warn(
    'fewer calls than OPEN_CALLS_MAX can be open: raise the limit of open files (ulimit -n, LimitNOFILE)',
    {
      setting: `${files} files, about ${calls} calls`,
    },
  )
}

/**
 * Makes what the runtime needs for requests to vendors. It does so at the first request, and ends the process if no file
 * can be opened at that time. So the first request is one to ourselves, which leaves no line in the log.
 */
export const readyToAsk = async (): Promise<void> => {
  const silent = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  await fetch(silent.url).catch(() => undefined)
  await silent.stop(true)
}
