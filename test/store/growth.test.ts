/** docs/growth.md names every table of both engines, and calls add the rows that it says. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { chat, startTestServer } from '../server/harness.ts'
import { engines, stopSound } from './engines.ts'

const page = readFileSync(join(import.meta.dir, '../../docs/growth.md'), 'utf8')

/** Table and rows a call, as the page gives them. */
const documented = new Map(
  [...page.matchAll(/^\| `(\w+)` \| (\d+) \| [^|]{5,} \| [^|]{5,} \|$/gm)].map(([, table = '', rows]) => [
    table,
    Number(rows),
  ]),
)

type Look = {
  readonly ask: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
  readonly tables: string
  readonly close: () => Promise<void>
}

const look = (url: string): Look => {
  if (url.startsWith('sqlite:')) {
    const file = new Database(url.slice('sqlite:'.length))
    const ask = async (text: string) => file.query<Record<string, unknown>, []>(text).all()
    return {
      ask,
      tables: `select name from sqlite_master where type = 'table' and name not like 'sqlite%'`,
      close: async () => file.close(),
    }
  }
  const sql = new SQL(url, { max: 1 })
  return {
    ask: (text: string) => sql.unsafe(text),
    // Parts of a table are the table's.
    tables: `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
    close: () => sql.close(),
  }
}

const CALLS = 30

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`the page of growth is true, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const server = await startTestServer({ url: database.url })
    await server.store.exports.noteExports(true)
    const { ask, tables, close } = look(database.url)
    const names = (await ask(tables)).map(({ name }) => String(name)).toSorted()
    expect([...documented.keys()].toSorted()).toEqual(names)
    const call = async () => {
      const answer = await server.post('/v1/chat/completions', chat())
      await answer.text()
      expect(answer.status).toBe(200)
    }
    // The rows of a key's first call are made once.
    await call()
    const count = async () => {
      const rows = await ask(
        names.map((name) => `select '${name}' as name, count(*) as n from ${name}`).join(' union all '),
      )
      return new Map(rows.map(({ name, n }) => [String(name), Number(n)]))
    }
    const before = await count()
    for (let n = 0; n < CALLS; n++) await call()
    const after = await count()
    for (const [table, rows] of documented) {
      const grown = (after.get(table) ?? 0) - (before.get(table) ?? 0)
      // A lease may be renewed meanwhile, a day may end; nothing grows with each call unless the page says so.
      if (rows === 0) expect([table, grown < CALLS / 2]).toEqual([table, true])
      else expect([table, grown]).toEqual([table, rows * CALLS])
    }
    await close()
    await stopSound(server, database)
  })
