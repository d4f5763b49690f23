/** Which commits of the embedded engine wait for the disk. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, Lane } from './engine.ts'
import { openSqlite } from './sqlite.ts'

const NORMAL = 1n
const FULL = 2n

const levelIn = (engine: Engine, lane: Lane): Promise<unknown> =>
  engine.transaction(lane, async (run) => (await run('pragma synchronous'))[0]?.synchronous)

test('only what may be lost does not wait for the disk, whatever came before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-sqlite-'))
  const engine = openSqlite(join(folder, 'ledger.db'))
  try {
    for (let turn = 0; turn < 3; turn++) {
      expect(await levelIn(engine, 'writer')).toBe(FULL)
      expect(await levelIn(engine, 'relaxed')).toBe(NORMAL)
      const failing = engine.transaction('relaxed', async (run) => run('select * from nowhere'))
      expect(await failing.catch(() => 'failed')).toBe('failed')
      expect(await levelIn(engine, 'control')).toBe(FULL)
    }
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true })
  }
})
