/** The command line: `turnpike serve` and what an operator does to keys, wallets and the ledger. */
import { Command } from 'commander'
import { version } from '../../package.json'
import { messageOf } from '../core/message-of.ts'
import { BadSetting } from '../settings/bad-setting.ts'
import { commandsFor } from './commands.ts'
import { bold, Failed } from './run-command.ts'

/** Runs one command. Exit codes: 0 done, 1 refused or failed, 2 wrong use or a bad setting. */
export const run = async (args: readonly string[]): Promise<void> => {
  const program = new Command('turnpike')
    .description('One address and one key for every model vendor, with money exact to the nano-dollar.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  for (const load of commandsFor(args)) (await load())(program)
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
