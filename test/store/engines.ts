/** The engines that one suite runs on, each giving empty databases. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresForTests } from '../postgres.ts'

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
    runs: 250,
    lasting: false,
    fresh: async () => ({ url: 'sqlite::memory:', stop: async () => undefined }),
  },
  {
    name: 'SQLite in a file',
    runs: 40,
    lasting: true,
    fresh: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'turnpike-store-'))
      return {
        url: `sqlite:${join(folder, 'new', 'store.db')}`,
        stop: () => rm(folder, { recursive: true, force: true }),
      }
    },
  },
  { name: 'PostgreSQL', runs: 12, lasting: true, fresh: postgresForTests },
]
