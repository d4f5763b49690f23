/** `turnpike migrate --to`: from a SQLite file to PostgreSQL by one command, whenever it is killed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { type TestDatabase, untouchedPostgres } from '../postgres.ts'
import { beginProgram, endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { makeCalledLedger } from './called-ledger.ts'

/** Enough that most of a move is its copying. */
const CALLS = 10_000
let database: TestDatabase
let home: string
beforeAll(async () => {
  database = await untouchedPostgres()
  home = await tempFolder('turnpike-move-')
  mkdirSync(join(home, 'data'))
  const path = join(home, 'seeded.db')
  await makeCalledLedger(path, CALLS)
})
afterAll(async () => {
  await endPrograms()
  await database.stop()
})

const there = async (): Promise<number> => {
  const sql = new SQL({ url: database.url, max: 1 })
  const [row] = await sql.unsafe(`select case when to_regclass('transfer') is null then 0 else 1 end as made`)
  const [count] = row.made === 1 ? await sql.unsafe('select count(*) as n from transfer') : [{ n: 0 }]
  await sql.close()
  return Number(count.n)
}

const ledger = { DATABASE_URL: 'sqlite:./data/turnpike.db' }

test('not while a server runs on it, nor what is no ledger or no address', async () => {
  const server = await startProgram(home, ledger)
  const run = (settings: Record<string, string>, ...args: string[]) =>
    runProgram(home, settings, 'migrate', ...args)
  const refused = await run(ledger, '--to', database.url)
  expect([refused.code, refused.errors]).toEqual([
    1,
    'turnpike: a server runs on sqlite:./data/turnpike.db: end it first; nothing was moved\n',
  ])
  server.child.kill('SIGTERM')
  await server.child.exited
  const why = async (...given: Parameters<typeof run>) => (await run(...given)).errors
  expect(await why({ DATABASE_URL: 'sqlite:./none.db' }, '--to', database.url)).toContain(
    'there is no ledger',
  )
  expect(await why({ DATABASE_URL: database.url }, '--to', database.url)).toContain(
    'only a ledger in a SQLite file moves',
  )
  expect(await why(ledger, '--to', './none')).toContain('./none cannot be read')
  expect(await why(ledger, '--to', 'postgres://one/x?a=b')).toContain("--to: has no parameter 'a'")
  expect(await why(ledger, '--to', 'postgres://nobody:pass@127.0.0.1:1/x')).toContain(
    'nothing was moved, and the ledger is as it was: PostgreSQL at 127.0.0.1:1, database x, user nobody: nothing answers there',
  )
  expect(await there()).toBe(0)
})

test('killed at any moment it leaves all or nothing, and the next one moves it', async () => {
  copyFileSync(join(home, 'seeded.db'), join(home, 'data', 'big.db'))
  writeFileSync(join(home, 'address'), `${database.url}\n`)
  const big = { DATABASE_URL: 'sqlite:./data/big.db' }
  for (let round = 1; round <= 8; round++) {
    const program = beginProgram(home, big, 'migrate', '--to', './address')
    await Promise.race([Bun.sleep(round * 300), program.exited])
    program.kill('SIGKILL')
    await program.exited
    expect([0, CALLS + 1]).toContain(await there())
  }
  const last = await runProgram(home, big, 'migrate', '--to', './address')
  const all = await there()
  expect(all).toBe(CALLS + 1)
  const noted = last.errors.includes('this ledger was moved before, to PostgreSQL at ')
  expect(noted || /^The ledger (is moved|was moved before)/.test(last.out)).toBe(true)
  const audit = await runProgram(home, { DATABASE_URL: database.url }, 'audit')
  expect([audit.code, audit.errors]).toEqual([0, ''])
  const server = await runProgram(home, big, 'serve')
  expect([server.code, server.errors]).toEqual([
    1,
    expect.stringContaining('this ledger was moved to PostgreSQL at '),
  ])
  expect(server.errors).not.toContain('postgres:postgres')
})
