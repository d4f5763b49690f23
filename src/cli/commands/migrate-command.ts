/** `turnpike migrate`: shows what a start would do to the ledger's schema, or does it in advance. */
import type { Command } from 'commander'
import { planOf } from '../../store/open-store.ts'
import { readConfig } from '../config/config.ts'
import { whyNotOpen } from '../config/database-place.ts'
import { Failed, print, tableOf, withDatabase } from '../run/run-command.ts'

type Options = { readonly plan?: boolean; readonly json?: boolean }

export const migrateCommand = (program: Command): void => {
  program
    .command('migrate')
    .description('bring the ledger to the schema of this version, as each start and command does')
    .option('--plan', 'only say what would be done, and what is locked meanwhile')
    .option('--json', 'for programs')
    .action((options: Options) => (options.plan === true ? plan(options) : migrate(options)))
}

const plan = async ({ json }: Options): Promise<void> => {
  const { databaseUrl } = readConfig(process.env, {})
  const planned = await planOf({ url: databaseUrl }).catch((cause: unknown) => {
    throw new Failed(`the ledger cannot be looked at: ${whyNotOpen(databaseUrl, cause)}`)
  })
  if (planned === undefined) throw new Failed('there is no ledger yet; the first start makes it')
  const sqlite = databaseUrl.startsWith('sqlite:')
  const rows = planned.flatMap(
    ({ version, name, steps }): Readonly<Record<string, string | number | null>>[] =>
      steps.length === 0
        ? [{ migration: version, name, locks: 'nothing that is there', rows: null, seconds: 0 }]
        : steps.map(({ table, locks, rows, seconds }) => ({
            migration: version,
            name,
            locks: `${table}: ${lockTexts[locks]}`,
            rows,
            seconds,
          })),
  )
  const whole = sqlite
    ? 'On SQLite nothing else is written meanwhile.'
    : 'All of it is one transaction: locks last to its end.'
  print(json, planned, rows.length === 0 ? 'There is nothing to do.\n' : `${tableOf(rows)}${whole}\n`)
}

const lockTexts = {
  moment: 'all, for a moment',
  writes: 'changes, while it is read',
  rows: 'rows, while they are changed',
}

const migrate = ({ json }: Options): Promise<void> =>
  withDatabase(
    async () => print(json, { done: true }, 'The ledger has the schema of this version.\n'),
    readConfig(process.env, {}),
  )
