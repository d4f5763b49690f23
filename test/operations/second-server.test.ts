/** One server at a time on a file of SQLite: a second one is refused, commands are not, and a kill leaves no lock. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, startProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-second-'))
afterAll(async () => {
  await endPrograms()
  rmSync(home, { recursive: true })
})

test('a second server on the same file ends with one line; commands work; after kill -9 the next one serves', async () => {
  const url = `sqlite:${join(home, 'ledger.db')}`
  symlinkSync(join(home, 'ledger.db'), join(home, 'other-name.db'))
  const first = await startProgram(home, { DATABASE_URL: url })
  for (const same of [url, 'sqlite:./ledger.db', 'sqlite:other-name.db']) {
    const second = await runProgram(home, { DATABASE_URL: same, LOG: 'info' }, 'serve')
    expect([second.code, second.out, JSON.parse(second.errors).error]).toEqual([
      1,
      '',
      `another server runs on ${same}: end it first, give this one a DATABASE_URL of its own, or use PostgreSQL for several servers`,
    ])
  }
  expect((await runProgram(home, { DATABASE_URL: url }, 'audit')).code).toBe(0)
  expect((await runProgram(home, { DATABASE_URL: url }, 'key', 'create', '--label', 'beside')).code).toBe(0)
  expect((await fetch(`${first.address}/readyz`)).status).toBe(200)
  // The lock outlives the commands and the refused servers.
  expect((await runProgram(home, { DATABASE_URL: url }, 'serve')).code).toBe(1)
  expect(statSync(join(home, 'ledger.db-server')).mode & 0o777).toBe(0o600)

  first.child.kill('SIGKILL')
  await first.child.exited
  const next = await startProgram(home, { DATABASE_URL: url })
  expect((await fetch(`${next.address}/readyz`)).status).toBe(200)
  next.child.kill('SIGTERM')
  expect(await next.child.exited).toBe(0)
  const last = await startProgram(home, { DATABASE_URL: url })
  last.child.kill('SIGTERM')
  expect(await last.child.exited).toBe(0)
  // An ended server leaves the ledger and the empty file of the lock, and no journal.
  expect(readdirSync(home).filter((name) => name.includes('-server'))).toEqual(['ledger.db-server'])
})

test('servers on files of their own do not meet', async () => {
  const started = await Promise.all(
    ['a', 'b'].map((name) => startProgram(home, { DATABASE_URL: `sqlite:${join(home, name)}.db` })),
  )
  for (const { address } of started) expect((await fetch(`${address}/livez`)).status).toBe(200)
})
