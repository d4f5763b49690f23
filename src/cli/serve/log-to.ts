/** The log of a process: JSON lines on standard error. */
import { createLog, type Log } from '../../core/log.ts'
import { systemClock } from '../../core/time.ts'
import type { Config } from '../config/config.ts'

export const logTo = (level: Config['logLevel']): Log =>
  createLog(level, systemClock.now, (line) => process.stderr.write(`${line}\n`))
