/** `turnpike serve`: the server, in one process or in several that share the port. */
import type { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { under } from '../run/run-command.ts'
import { logTo } from './log-to.ts'
import { serve } from './serve.ts'
import { runWorkers } from './workers.ts'

export const serveCommand = (program: Command): void => {
  under(program, 'serve', 'serve until SIGTERM')
    .option('--workers <n>', 'processes that share the port (PostgreSQL only)')
    .option('--worker <role>', 'one of several processes: greeter or silent')
    .action(start)
}

const start = async (options: { workers?: string; worker?: string }): Promise<void> => {
  const environment =
    options.workers === undefined ? process.env : { ...process.env, WORKERS: options.workers }
  const config = readConfig(environment)
  if (config.workers > 1 && options.worker === undefined)
    return runWorkers(config.workers, config.drainMs, logTo(config.logLevel))
  return serve(environment, config, {
    shared: options.worker !== undefined,
    greets: options.worker !== 'silent',
  })
}
