/** `turnpike import litellm --from <address or file>`: keys go on working with the values that their callers have. */
import type { Command } from 'commander'
import type { Control } from '../../control/act.ts'
import { walletFund } from '../../control/money/money.ts'
import { messageOf } from '../../core/message-of.ts'
import { Refusal } from '../../core/refusal.ts'
import { checkSecret } from '../commands/secret-commands.ts'
import { controlOf, performAs } from '../run/control.ts'
import { Failed, harmless, print, withDatabase } from '../run/run-command.ts'
import { applyOrganisation, type Change } from './apply.ts'
import { houseFrom, type Imported } from './litellm.ts'
import { readLiteLlm } from './litellm-rows.ts'

type Options = { from: string; fund?: string; dryRun?: boolean; json?: boolean }

/** Keys that are made between two signs of progress. */
const PART = 500

/** Makes the organisations with their keys, in parts; what is made is noted in `changes` as it is made. */
const make = async (
  control: Control,
  { organisations, keys }: Imported,
  { fund, dryRun = false }: Options,
  changes: Change[],
): Promise<void> => {
  for (const [id, organisation] of Object.entries(organisations)) {
    const all = Object.entries(organisation.keys)
    for (let at = 0; at < all.length; at += PART) {
      const part = { name: organisation.name, keys: Object.fromEntries(all.slice(at, at + PART)) }
      changes.push(...(await applyOrganisation({ control, dryRun }, id, part)))
      if (process.stderr.isTTY) process.stderr.write(`\r${changes.length} changes, for ${keys} keys `)
    }
    if (fund === undefined || dryRun) continue
    const funds = { organisation: id, amount_usd: fund, ref: `import of ${id}` }
    await performAs('import', control, walletFund, funds)
  }
}

const summary = (changes: readonly Change[], { told, keys }: Imported, { fund, dryRun }: Options): string => {
  const count = (what: Change['what'], how: Change['how']) =>
    changes.filter((change) => change.what === what && change.how === how).length
  const made = `${count('organisation', 'create')} organisations and ${count('key', 'create')} keys`
  return [
    `${made} ${dryRun === true ? 'would be made' : 'were made'}, ${count('key', 'change')} changed, for ${keys} keys there`,
    ...told,
    ...(fund === undefined
      ? ["new wallets are empty: give them money with --fund or 'turnpike wallet fund'"]
      : []),
  ]
    .map((line) => `${harmless(line)}\n`)
    .join('')
}

const litellm = (options: Options): Promise<void> =>
  withDatabase(async (database) => {
    const rows = await readLiteLlm(options.from)
    if (options.dryRun !== true) await checkSecret(database)
    const control = await controlOf(database, true)
    const imported = houseFrom(rows, control.offering.catalogue, control.clock.now())
    const changes: Change[] = []
    try {
      await make(control, imported, options, changes)
    } catch (thrown) {
      const after = `${changes.length} changes were made before; run it again, it goes on after them`
      throw new Failed(`${thrown instanceof Refusal ? thrown.message : messageOf(thrown)}\n  ${after}`)
    }
    const { told, keys } = imported
    const shown = { dry_run: options.dryRun === true, keys, changes, told }
    print(options.json, shown, summary(changes, imported, options))
  })

export const importCommand = (program: Command): void => {
  program
    .command('import')
    .description('bring organisations, teams and keys from another gateway; a second run changes nothing')
    .command('litellm')
    .description("from LiteLLM's proxy; the values of its keys go on working")
    .requiredOption('--from <place>', 'postgres://… of its database, or a JSON file with its tables')
    .option('--fund <usd>', 'what each wallet is given, once however often it is imported')
    .option('--dry-run', 'only tell what would be made, and what has no place here')
    .option('--json', 'for programs')
    .action(litellm)
}
