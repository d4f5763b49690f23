/** Ledgers in memory begin with a schema that each process makes once: to make it takes longer than most tests. */
import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../src/store/engine/migrate.ts'
import { openEngine, type StoreAddress } from '../src/store/engine/open-engine.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/port.ts'

const MEMORY = 'sqlite::memory:'

const makeImage = async (): Promise<Uint8Array> => {
  const path = join(tmpdir(), `turnpike-image-${process.pid}-${Bun.randomUUIDv7()}.db`)
  try {
    const engine = openEngine({ url: `sqlite:${path}` })
    await migrate(engine)
    await engine.close()
    const file = new Database(path)
    // Memory has no log beside it.
    file.run('PRAGMA journal_mode = DELETE')
    const image = file.serialize()
    file.close()
    return image
  } finally {
    rmSync(path, { force: true })
  }
}

/** Made before any test: in virtual time nobody may wait for a file. */
const image = await makeImage()

/** Opens a store; one in memory begins with the schema. */
export const openTestStore = (address: StoreAddress = { url: MEMORY }): Promise<Store> =>
  openStore(address.url === MEMORY ? { ...address, image } : address)
