/** The command line: `turnpike serve` and what an operator does to keys, wallets and the ledger. */
import { Command } from 'commander'
import { version } from '../../package.json'
import { messageOf } from '../core/message-of.ts'
import { BadSetting } from '../settings/bad-setting.ts'
import { commandsFor } from './commands.ts'
import { bold, Failed, printed } from './run/run-command.ts'
import { logTo } from './serve/log-to.ts'

/** The exit code of a program that wrote to a pipe which nobody reads: 128 and the number of SIGPIPE. */
const NOBODY_READS = 141

/** Runs one command. Exit codes: 0 done, 1 refused or failed, 2 wrong use or a bad setting. */
export const run = async (args: readonly string[]): Promise<void> => {
  const program = new Command('turnpike')
    .description('One address and one key for every model vendor, with money exact to the nano-dollar.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  for (const load of commandsFor(args)) (await load())(program)
  // Such as `turnpike key list | head -1`. A server goes on, whatever becomes of its log.
  if (args[0] !== 'serve' && args[0] !== 'route') process.stdout.on('error', () => process.exit(NOBODY_READS))
  program.configureHelp({ styleTitle: bold, styleCommandText: bold })
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    const expected = error instanceof BadSetting || error instanceof Failed
    const why =
      expected || !(error instanceof Error) || error.cause === undefined ? undefined : messageOf(error.cause)
    const told = why === undefined ? messageOf(error) : `${messageOf(error)}\n  because: ${why}`
    // What a server writes to a file or a pipe is a log, whose reader takes each line as JSON.
    if (args[0] === 'serve' && !process.stderr.isTTY) logTo('error').error('the server ends', { error: told })
    else process.stderr.write(`turnpike: ${told}\n`)
    // Such as the values of keys that were made before something was refused.
    await printed()
    process.exit(error instanceof BadSetting ? 2 : 1)
  }
}
