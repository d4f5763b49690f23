/** The end of the log of receipts that was shown last, in a file beside the journal. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptEnd } from '../../gateway/watch-log.ts'
import type { Store } from '../../store/port.ts'
import type { Config } from './config.ts'

/** Undefined where there is no journal: then only the process remembers. */
export const keptEndOf = async (
  store: Pick<Store, 'setting'>,
  { journal }: Pick<Config, 'journal'>,
): Promise<KeptEnd | undefined> => {
  if (journal === undefined) return undefined
  // Another database in the place of this one is another ledger.
  const path = join(journal, `log-end.${await store.setting('ledger_id', () => Bun.randomUUIDv7())}`)
  return {
    read: async () => {
      const text = await readFile(path, 'utf8').catch(() => undefined)
      return text === undefined ? undefined : JSON.parse(text)
    },
    write: async (end) => {
      const next = `${path}.${process.pid}`
      await writeFile(next, JSON.stringify(end), { mode: 0o600, flush: true })
      await rename(next, path)
    },
  }
}
