/** The engines of the suites, each with empty databases; and the end of a test, when the books must balance. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '../../src/store/port.ts'
import { postgresForTests, untouchedPostgres } from '../postgres.ts'
import { drawn } from '../sample.ts'
import { tempFolder } from '../temp-folder.ts'

export type TestEngine = {
  readonly name: string
  /** How many histories the model suite runs there; a file and a server cost more than memory. */
  readonly runs: number
  /** Whether a database outlives the store that opened it. */
  readonly lasting: boolean
  readonly fresh: () => Promise<{ readonly url: string; readonly stop: () => Promise<void> }>
}

export const engines: readonly TestEngine[] = [
  {
    name: 'SQLite in memory',
    runs: drawn(40, 100),
    lasting: false,
    fresh: async () => ({ url: 'sqlite::memory:', stop: async () => undefined }),
  },
  {
    name: 'SQLite in a file',
    runs: drawn(8, 20),
    lasting: true,
    fresh: async () => {
      const folder = await tempFolder('turnpike-store-')
      return {
        url: `sqlite:${join(folder, 'new', 'store.db')}`,
        stop: () => rm(folder, { recursive: true, force: true }),
      }
    },
  },
  { name: 'PostgreSQL', runs: drawn(3, 6), lasting: true, fresh: postgresForTests },
]

/** The engines of the tests of whole servers: a file shows them nothing that memory does not. */
export const serverEngines = engines.filter(({ name }) => name !== 'SQLite in a file')

/** A database without a schema, for migrations. */
export const untouched = ({ name, fresh }: TestEngine) =>
  name === 'PostgreSQL' ? untouchedPostgres() : fresh()

/** The laws of the books that do not hold. */
export const brokenLaws = async (store: Store) => (await store.ledger.audit()).filter(({ ok }) => !ok)

/** Stops a server or store and its database; the books must hold to the end. */
export const stopSound = async (
  { store, stop }: { readonly store: Store; readonly stop: () => Promise<void> },
  database: { readonly stop: () => Promise<void> },
): Promise<void> => {
  const broken = await brokenLaws(store)
  await stop()
  await database.stop()
  if (broken.length > 0) throw new Error(`The books do not hold: ${JSON.stringify(broken)}`)
}
