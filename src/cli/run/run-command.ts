/** What the commands share: a database while one runs, and output for people or, with --json, for programs. */
import { styleText } from 'node:util'
import type { Command } from 'commander'
import type { ExactNumber } from '../../core/money.ts'
import { harmless } from '../../core/storable.ts'
import { ledgerExists } from '../../store/open-store.ts'
import type { Store } from '../../store/port.ts'
import { type Config, readConfig } from '../config/config.ts'
import { whyNotOpen } from '../config/database-place.ts'
import { type KeyHash, openHash, openStoreOf } from '../config/parts.ts'

/** A command that cannot do what it was asked; the message says why. */
export class Failed extends Error {}

export type Database = { readonly store: Store; readonly hash: KeyHash; readonly config: Config }

/** Opens the ledger of the settings, runs the work and closes it in any case. Only a server creates a ledger. */
export const withDatabase = async <T>(
  work: (database: Database) => Promise<T>,
  config = readConfig(process.env),
): Promise<T> => {
  const cannotOpen = (cause: unknown) => {
    throw new Failed(`the ledger cannot be opened: ${whyNotOpen(config.databaseUrl, cause)}`)
  }
  if (!(await ledgerExists({ url: config.databaseUrl }).catch(cannotOpen))) throw noLedger(config.databaseUrl)
  const store = await openStoreOf(config).catch(cannotOpen)
  try {
    return await work({ store, hash: await openHash(store, config), config })
  } finally {
    await store.close()
  }
}

/** The action of a command that works on the ledger: commander gives it the arguments and options that it has. */
export const onLedger =
  <Given extends readonly unknown[]>(work: (database: Database, ...given: Given) => Promise<void>) =>
  (...given: Given): Promise<void> =>
    withDatabase((database) => work(database, ...given))

/** The message when no server has created a ledger yet. */
export const noLedger = (url: string): Failed => {
  const where = url.startsWith('sqlite:')
    ? `at ${url} (in ${process.cwd()})`
    : 'in the database of DATABASE_URL'
  return new Failed(
    `there is no ledger ${where}; set DATABASE_URL to that of your server, or start it: turnpike serve`,
  )
}

/** A command below another, by its words, and what it is for. */
export const under = (parent: Command, words: string, about: string): Command =>
  parent.command(words).description(about)

let taken: Promise<unknown> = Promise.resolve()

/** Prints the value as one JSON line, or the text for people. */
export const print = (json: boolean | undefined, value: unknown, text: string): void => {
  const whole = json === true ? `${JSON.stringify(value)}\n` : text
  const written = new Promise<void>((resolve) => process.stdout.write(whole, () => resolve()))
  taken = taken.then(() => written)
}

/** Resolves once what was printed has left the process: a pipe takes 64 kB at a time, and an exit drops the rest. */
export const printed = (): Promise<unknown> => taken

/** A count with its word: of one, and of all others. */
export const counted = (count: number, one: string, others = `${one}s`): string =>
  `${count} ${count === 1 ? one : others}`

type Cell = string | ExactNumber | boolean | null

/** A table cell: small amounts in the usual form, never as 1.2e-7. */
const written = (cell: Exclude<Cell, null>): string =>
  typeof cell === 'object'
    ? cell.rawJSON
    : typeof cell === 'number' && String(cell).includes('e-')
      ? cell.toFixed(9).replace(/0+$/, '')
      : harmless(String(cell))

/** Bold on a terminal; plain in a file or a pipe, and if NO_COLOR is set. */
export const bold = (text: string): string =>
  process.stdout.isTTY && (process.env.NO_COLOR ?? '') === '' ? styleText('bold', text) : text

/** Rows as aligned columns below their headings, which are bold on a terminal. */
export const tableOf = (rows: readonly Readonly<Record<string, Cell | undefined>>[]): string => {
  const [first] = rows
  if (first === undefined) return '(none)\n'
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => written(row[name] ?? '-')))]
  const widths = names.map((_name, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const [heads = '', ...lines] = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${[bold(heads), ...lines].join('\n')}\n`
}
