/**
 * `turnpike migrate`: shows what a start would do to the ledger's schema, or does it in advance; with `--to`, moves the
 * ledger from SQLite to PostgreSQL.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { decimalFromNano, usdNumber } from '../../core/money.ts'
import { systemClock } from '../../core/time.ts'
import { BadAddress, readPostgresAddress } from '../../store/engine/postgres-address.ts'
import { lockForServing, Served } from '../../store/engine/serving-lock.ts'
import { fileOf } from '../../store/ledger-file.ts'
import { type Moved, moveLedger } from '../../store/move/move-ledger.ts'
import { NotMoved } from '../../store/move/not-moved.ts'
import { ledgerExists, planOf } from '../../store/open-store.ts'
import { type Config, readConfig } from '../config/config.ts'
import { placeOf, whyNotOpen } from '../config/database-place.ts'
import { counted, Failed, noLedger, print, tableOf, under, withDatabase } from '../run/run-command.ts'

type Options = { readonly plan?: boolean; readonly to?: string; readonly json?: boolean }

export const migrateCommand = (program: Command): void => {
  under(program, 'migrate', 'bring the ledger to the schema of this version, as each start and command does')
    .option('--plan', 'only say what would be done, and what is locked meanwhile')
    .option(
      '--to <address>',
      'move the ledger from SQLite to an empty PostgreSQL: its address, or a file with it',
    )
    .option('--json', 'for programs')
    .action(({ to, ...options }: Options) => {
      if (to !== undefined) return options.plan === true ? bothAsked() : move(to, options)
      return options.plan === true ? plan(options) : migrate(options)
    })
}

const bothAsked = (): never => {
  throw new Failed('--plan shows changes of the schema, and --to moves the ledger: give one of them')
}

/** The address of PostgreSQL; one in a file shows its password to nobody who lists processes. */
const addressOf = async (to: string): Promise<string> => {
  const given = /^[a-z]+:\/\//.test(to) ? to : await readFile(to, 'utf8').catch(() => undefined)
  if (given === undefined)
    throw new Failed(`--to must be postgres://…, or a file with that: ${to} cannot be read`)
  try {
    readPostgresAddress(given.trim())
  } catch (error) {
    throw error instanceof BadAddress ? new Failed(`--to: ${error.message}`) : error
  }
  return given.trim()
}

/** The lock of the ledger, so that no server starts on it meanwhile. */
const lockOf = (url: string): ReturnType<typeof lockForServing> => {
  try {
    return lockForServing(url)
  } catch (error) {
    throw error instanceof Served
      ? new Failed(`a server runs on ${url}: end it first; nothing was moved`)
      : new Failed(`the ledger cannot be opened: ${whyNotOpen(url, error)}`)
  }
}

const move = async (to: string, { json }: Options): Promise<void> => {
  const config = readConfig(process.env, {})
  const { databaseUrl } = config
  const path = fileOf(databaseUrl)
  if (path === undefined)
    throw new Failed('only a ledger in a SQLite file moves: DATABASE_URL must be sqlite:<path>')
  const address = await addressOf(to)
  if (!(await ledgerExists({ url: databaseUrl }))) throw noLedger(databaseUrl)
  const lock = lockOf(databaseUrl)
  try {
    const shownTo = placeOf(address)
    const moved = await moveLedger({ path, to: address, shownTo, now: systemClock.now }).catch(
      (cause: unknown) => {
        const why = cause instanceof NotMoved ? cause.message : whyNotOpen(address, cause)
        throw new Failed(`nothing was moved, and the ledger is as it was: ${why}`)
      },
    )
    const { balance, ...others } = moved
    print(
      json,
      { to: shownTo, ...others, balance_usd: usdNumber(balance) },
      movedText(config, shownTo, moved),
    )
  } finally {
    lock.release()
  }
}

const movedText = ({ databaseUrl, journal }: Config, to: string, { rows, balance, laws, again }: Moved) => {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  // What a killed process left there is charged by the next start that reads it.
  const beside = journal === undefined ? '' : ` and JOURNAL to ${journal}`
  return `${again ? 'The ledger was moved before, and nothing has changed since' : 'The ledger is moved'}: ${to}
  ${all} rows of ${Object.keys(rows).length} tables, each compared: ${counted(rows.api_key ?? 0, 'key')}, ${counted(rows.transfer ?? 0, 'posting')}, ${counted(rows.run ?? 0, 'job')}
  all ${laws} laws of the books hold on both sides; the wallets have ${decimalFromNano(balance)} USD on both
  ${databaseUrl} is no ledger any more and no server starts on it: keep it as a backup.
  Now set DATABASE_URL to the new address${beside}, and start. TURNPIKE_SECRET, ASSETS and turnpike.yaml stay as they are.
`
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
