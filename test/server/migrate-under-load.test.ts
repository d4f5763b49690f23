/** A migration that only adds, run by another process while a server has calls: none is lost, and the books balance. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Migration, migrate, migrations, newestOf } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runProgram } from '../program.ts'
import { COST, startReloading } from '../reload-load.ts'
import { until } from '../until.ts'

const homes: string[] = []
const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-migrate-'))
  homes.push(home)
  return home
}
afterAll(async () => {
  await endPrograms()
  for (const home of homes) rmSync(home, { recursive: true })
})

/** Columns on the tables that calls read and write, and a table of its own. */
const added = (count: number): Migration => ({
  version: newestOf(migrations) + count,
  name: `added-${count}`,
  common: ['api_key', 'lease', 'inflight', 'usage_detail', 'transfer', 'wallet_rules']
    .map((table) => `alter table ${table} add column added_${count} TEXT;`)
    .join('\n'),
  own: {},
})

const CALLERS = 6

const places = [
  {
    name: 'SQLite',
    open: async () => ({ url: `sqlite:${join(newHome(), 'ledger.db')}`, stop: async () => undefined }),
  },
  { name: 'PostgreSQL', open: postgresForTests },
]

for (const place of places)
  describe(place.name, () => {
    test('calls go on while columns come', async () => {
      const database = await place.open()
      const home = newHome()
      const server = await startReloading(home, { DATABASE_URL: database.url })
      const lost: string[] = []
      let answers = 0
      let over = false
      const callers = Array.from({ length: CALLERS }, async () => {
        while (!over)
          await server.call().then(
            () => answers++,
            (error: unknown) => lost.push(String(error)),
          )
      })
      const open = await Promise.all(Array.from({ length: 10 }, server.stream))
      const engine = openEngine(database)
      try {
        for (const count of [1, 2, 3]) {
          const since = answers
          await until(() => answers >= since + 10 * CALLERS || lost.length > 0, 5)
          // What was read before is read in its new form.
          for (let reads = 0; reads < 5; reads++) expect((await server.ownKey()).status).toBe(200)
          const all = Array.from({ length: count }, (_, at) => added(at + 1))
          expect(await migrate(engine, [...migrations, ...all])).toBe(1)
        }
        for (let reads = 0; reads < 5; reads++) expect((await server.ownKey()).status).toBe(200)
        const since = answers
        await until(() => answers >= since + 10 * CALLERS || lost.length > 0, 5)
      } finally {
        over = true
        await Promise.all(callers)
      }
      server.vendor.release()
      const streams = await Promise.all(open.map(({ ended }) => ended))
      expect(lost).toEqual([])
      expect(streams.every(({ cost }) => cost === COST)).toBe(true)
      server.child.kill('SIGTERM')
      expect(await server.child.exited).toBe(0)
      const [row] = (
        await engine.batch('control', [
          { text: "select sum(amount) as n from transfer where credit = 'revenue'", params: [] },
        ])
      )[0]!
      expect(BigInt(String(row?.n))).toBe(BigInt(answers + streams.length) * COST)
      await engine.close()
      // An older program does not start on a newer schema.
      const again = await runProgram(home, server.settings, 'audit')
      expect([again.code, again.errors.includes('the database is newer than this program')]).toEqual([
        1,
        true,
      ])
      await server.vendor.stop()
      await database.stop()
    })
  })
