/** The plan of migrations: what is missing, what it locks, and that planning changes nothing. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Migration, migrate, migrations, newestOf } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { locksIn, planMigrations } from '../../src/store/engine/plan.ts'
import { openStore } from '../../src/store/open-store.ts'
import { untouchedPostgres } from '../postgres.ts'
import { runCommand, runProgram } from '../program.ts'
import { nextPackage } from '../upgrade/packages.ts'
import { engines, untouched } from './engines.ts'

const extra: Migration = {
  version: newestOf(migrations) + 1,
  name: 'extra',
  common:
    'create table more (id TEXT); create index more_id on more (id); create index key_label on api_key (label); update api_key set label = label;',
  own: {},
}

for (const kind of engines)
  describe(kind.name, () => {
    test('names what is missing, and leaves it missing', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      expect((await planMigrations(engine)).length).toBe(migrations.length)
      await migrate(engine)
      expect(await planMigrations(engine)).toEqual([])
      const [more] = await planMigrations(engine, [...migrations, extra])
      expect(more?.steps.map(({ table, locks }) => [table, locks])).toEqual([
        ['api_key', 'writes'],
        ['api_key', 'rows'],
      ])
      await migrate(engine, [...migrations, extra])
      await expect(planMigrations(engine)).rejects.toThrow('the database is newer than this program')
      await engine.close()
      await database.stop()
    })
  })

test('the rows of a table in parts are those of its parts', async () => {
  const database = await untouchedPostgres()
  const engine = openEngine(database)
  await migrate(engine)
  const run = (text: string) => engine.batch('control', [{ text, params: [] }])
  await run(`insert into usage_detail select 'call' || n, 'm', 1, 1, '{}' from generate_series(1, 1000) n`)
  await run('analyze usage_detail')
  const common =
    'alter table usage_detail alter column model set not null; alter table usage_detail add column n TEXT'
  const [planned] = await planMigrations(engine, [...migrations, { ...extra, common }])
  expect(planned?.steps).toEqual([
    { table: 'usage_detail', locks: 'writes', rows: 1_000, seconds: 1 },
    { table: 'usage_detail', locks: 'moment', rows: 1_000, seconds: 0 },
  ])
  await engine.close()
  await database.stop()
})

test('statements are told apart by what they lock; those of triggers and of new tables lock nothing', () => {
  const found = (text: string) => locksIn(text, new Set()).map(({ table, locks }) => `${table} ${locks}`)
  expect(found('ALTER TABLE a ADD COLUMN b TEXT; -- update c set d = 1;\n')).toEqual(['a moment'])
  expect(found('alter table a alter column b set not null')).toEqual(['a writes'])
  expect(found('create unique index i on a (b); delete from d where e = 1')).toEqual(['a writes', 'd rows'])
  expect(found('create index concurrently i on a (b)')).toEqual([])
  expect(found('create trigger t after insert on a begin update b set c = 1; delete from d; end;')).toEqual(
    [],
  )
  expect(found('create function f() as $x$ begin update b set c = 1; end $x$ language plpgsql')).toEqual([])
  expect(found('create table a (b TEXT); create index i on a (b); insert into a select b from c')).toEqual([])
})

test('turnpike migrate --plan says it, and migrate does it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-plan-'))
  const database = await untouchedPostgres()
  const next = nextPackage()
  for (const url of [database.url, `sqlite:${join(home, 'ledger.db')}`]) {
    const settings = { DATABASE_URL: url }
    const none = await runProgram(home, settings, 'migrate', '--plan')
    expect([none.code, none.errors]).toEqual([
      1,
      'turnpike: there is no ledger yet; the first start makes it\n',
    ])
    const engine = openEngine({ url })
    await migrate(engine)
    await engine.close()
    expect((await runProgram(home, settings, 'migrate', '--plan')).out).toBe('There is nothing to do.\n')
    const byNext = (...words: string[]) => runCommand(next.program, home, settings, 'migrate', ...words)
    const { code, out } = await byNext('--plan')
    expect([code, /next +api_key: all, for a moment/.test(out)]).toEqual([0, true])
    expect(out).toMatch(/next +lease: changes, while it is read/)
    expect((await byNext()).code).toBe(0)
    expect((await byNext('--plan')).out).toBe('There is nothing to do.\n')
    await (await openStore({ url })).close()
  }
  await database.stop()
  for (const folder of [home, next.folder]) rmSync(folder, { recursive: true })
})
