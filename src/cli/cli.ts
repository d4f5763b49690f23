/** The command line: `turnpike serve` and what an operator does to keys, wallets and the ledger. */
import { Command } from 'commander'
import { version } from '../../package.json'
import { messageOf } from '../core/message-of.ts'
import { BadSetting } from '../settings/bad-setting.ts'
import { backupCommand, restoreCommand } from './backup-commands.ts'
import { completionCommand } from './completion-command.ts'
import { readConfig } from './config.ts'
import { configCommands } from './config-commands.ts'
import { connectCommand } from './connect-command.ts'
import { creditCommands } from './credit-commands.ts'
import { keyCommands } from './key-commands.ts'
import { eventCommands, personCommands } from './person-commands.ts'
import { pruneCommand } from './prune-command.ts'
import { readyCommand } from './ready-command.ts'
import { receiptCommands } from './receipt-commands.ts'
import { auditCommand, chargeCommand, modelsCommand, usageCommand } from './report-commands.ts'
import { bold, Failed } from './run-command.ts'
import { secretCommands } from './secret-commands.ts'
import { serve } from './serve.ts'
import { topCommand } from './top-command.ts'
import { walletCommands } from './wallet-commands.ts'
import { runWorkers } from './workers.ts'

/** Runs one command. Exit codes: 0 done, 1 refused or failed, 2 wrong use or a bad setting. */
export const run = async (args: readonly string[]): Promise<void> => {
  const program = new Command('turnpike')
    .description('One address and one key for every model vendor, with money exact to the nano-dollar.')
    .version(version, '-V, --version', 'which version this is')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  program
    .command('serve')
    .description('serve until SIGTERM')
    .option('--workers <n>', 'processes that share the port (PostgreSQL only)')
    .option('--worker <role>', 'one of several processes: greeter or silent')
    .action(serveCommand)
  configCommands(program)
  connectCommand(program)
  readyCommand(program)
  topCommand(program)
  keyCommands(program)
  walletCommands(program)
  personCommands(program)
  eventCommands(program)
  creditCommands(program)
  receiptCommands(program)
  secretCommands(program)
  usageCommand(program)
  auditCommand(program)
  backupCommand(program)
  restoreCommand(program)
  pruneCommand(program)
  chargeCommand(program)
  modelsCommand(program)
  completionCommand(program)
  program.configureHelp({ styleTitle: bold, styleCommandText: bold })
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    process.stderr.write(`turnpike: ${messageOf(error)}\n`)
    if (
      !(error instanceof BadSetting) &&
      !(error instanceof Failed) &&
      error instanceof Error &&
      error.cause !== undefined
    )
      process.stderr.write(`  because: ${messageOf(error.cause)}\n`)
    process.exit(error instanceof BadSetting ? 2 : 1)
  }
}

const serveCommand = async (options: { workers?: string; worker?: string }): Promise<void> => {
  const environment =
    options.workers === undefined ? process.env : { ...process.env, WORKERS: options.workers }
  const config = readConfig(environment)
  if (config.workers > 1 && options.worker === undefined) return runWorkers(config.workers)
  return serve(environment, config, {
    shared: options.worker !== undefined,
    greets: options.worker !== 'silent',
  })
}
