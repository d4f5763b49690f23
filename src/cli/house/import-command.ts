/**
 * `turnpike import litellm|one-api|openrouter --from <address or file>`: keys go on working with the values that their
 * callers have, where those are known there.
 */
import type { Command } from 'commander'
import { type Control, perform } from '../../control/act.ts'
import { walletFund } from '../../control/money/money.ts'
import { whoIsCommand } from '../../control/who.ts'
import { messageOf } from '../../core/message-of.ts'
import { decimalFromNano } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { harmless } from '../../core/storable.ts'
import { checkSecret } from '../commands/secret-commands.ts'
import { controlOf } from '../run/control.ts'
import { counted, Failed, print, withDatabase } from '../run/run-command.ts'
import { applyOrganisation, type Change } from './apply.ts'
import type { Imported } from './imported.ts'
import { fromLiteLlm } from './litellm.ts'
import { withValues } from './new-values.ts'
import { fromOneApi } from './one-api.ts'
import { fromOpenRouter } from './openrouter.ts'
import { withoutPlaceless } from './placeless.ts'
import type { ModelsSold } from './sold-models.ts'

type Options = { from: string; fund?: string; keysTo?: string; dryRun?: boolean; json?: boolean }

type Source = {
  readonly description: string
  readonly from: string
  /** Reads what is there; `now` in milliseconds. Throws what cannot be read. */
  readonly reads: (from: string, sold: ModelsSold, now: number) => Promise<Imported>
  /** It knows no values of keys. */
  readonly valueless?: true
}

const sources: Readonly<Record<string, Source>> = {
  litellm: {
    description: "from LiteLLM's proxy; the values of its keys go on working",
    from: 'postgres://… of its database, or a JSON file with its tables',
    reads: fromLiteLlm,
  },
  'one-api': {
    description: 'from One-API or New API, with what users have left; the values of their keys go on working',
    from: 'mysql://… or postgres://… of its database, its file of SQLite, or a JSON file with its tables',
    reads: fromOneApi,
  },
  openrouter: {
    description: 'from OpenRouter; its keys get new values, in a file that only you can read',
    from: 'a JSON file with what GET https://openrouter.ai/api/v1/keys answers',
    reads: (from, _sold, now) => fromOpenRouter(from, now),
    valueless: true,
  },
}

/** Keys that are made between two signs of progress. */
const PART = 500

/** Gives a wallet money, once however often it is imported; what it was given before stays. */
const fund = async (control: Control, id: string, amount: string, told: string[]): Promise<void> => {
  const input = { organisation: id, amount_usd: amount, ref: `import of ${id}` }
  try {
    await perform(control, whoIsCommand('import'), walletFund, () => input)
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown
    if (thrown.code !== 'idempotency_key_reused')
      throw new Failed(thrown.message.replaceAll("'amount_usd'", '--fund'))
    told.push(`${id}: its wallet was given another amount before, and is not given ${amount} USD`)
  }
}

type Making = { readonly changes: Change[]; readonly told: string[] }

/** Makes the organisations with their keys, in parts; what is made and told is noted as it happens. */
const make = async (
  control: Control,
  { organisations, keys }: Imported,
  { fund: each, dryRun = false }: Options,
  { changes, told }: Making,
): Promise<void> => {
  const applying = { control, dryRun, tell: (change: Change) => void changes.push(change) }
  for (const [id, organisation] of Object.entries(organisations)) {
    const all = Object.entries(organisation.keys)
    // An organisation without keys is made too.
    for (let at = 0; at === 0 || at < all.length; at += PART) {
      const part = { name: organisation.name, keys: Object.fromEntries(all.slice(at, at + PART)) }
      await applyOrganisation(applying, id, part)
      if (process.stderr.isTTY)
        process.stderr.write(`\r${counted(changes.length, 'change')}, for ${counted(keys, 'key')} `)
    }
    const { balance = 0n } = organisation
    const amount = each ?? (balance > 0n ? decimalFromNano(balance) : undefined)
    if (amount !== undefined && !dryRun) await fund(control, id, amount, told)
  }
}

const summary = (
  { organisations, keys }: Imported,
  { changes, told }: Making,
  { fund: each, dryRun }: Options,
): string => {
  const count = (what: Change['what'], how: Change['how']) =>
    changes.filter((change) => change.what === what && change.how === how).length
  const made = `${counted(count('organisation', 'create'), 'organisation')} and ${counted(count('key', 'create'), 'key')}`
  const balance = Object.values(organisations).reduce((sum, one) => sum + (one.balance ?? 0n), 0n)
  return [
    `${made} ${dryRun === true ? 'would be made' : 'were made'}, ${count('key', 'change')} changed, for ${counted(keys, 'key')} there`,
    ...told,
    ...(balance > 0n
      ? [`their wallets have ${decimalFromNano(balance)} USD there, which is given once`]
      : []),
    ...(each === undefined && balance === 0n
      ? ["new wallets are empty: give them money with --fund or 'turnpike wallet fund'"]
      : []),
  ]
    .map((line) => `${harmless(line)}\n`)
    .join('')
}

const importing = ({ reads }: Source, options: Options): Promise<void> =>
  withDatabase(async (database) => {
    const { from, keysTo, dryRun = false } = options
    if (!dryRun) await checkSecret(database)
    const control = await controlOf(database, true)
    const all = await reads(from, control.offering.catalogue, control.clock.now())
    const read = await withoutPlaceless(control, all)
    const imported = keysTo === undefined || dryRun ? read : await withValues(control, read, keysTo)
    const making: Making = { changes: [], told: [...imported.told] }
    try {
      await make(control, imported, options, making)
    } catch (thrown) {
      const after = 'what was made before stays; run it again, it goes on after that'
      throw new Failed(`${thrown instanceof Refusal ? thrown.message : messageOf(thrown)}\n  ${after}`)
    }
    const shown = { dry_run: dryRun, keys: imported.keys, ...making }
    print(options.json, shown, summary(imported, making, options))
  })

export const importCommand = (program: Command): void => {
  const group = program
    .command('import')
    .description('bring organisations, teams and keys from another gateway; a second run changes nothing')
  for (const [name, source] of Object.entries(sources)) {
    const command = group
      .command(name)
      .description(source.description)
      .requiredOption('--from <place>', source.from)
      .option('--fund <usd>', 'what each wallet is given, once however often it is imported')
    if (source.valueless)
      command.requiredOption('--keys-to <file>', 'where the new values of keys are added, a line each')
    command
      .option('--dry-run', 'only tell what would be made, and what has no place here')
      .option('--json', 'for programs')
      .action((options: Options) => importing(source, options))
  }
}
