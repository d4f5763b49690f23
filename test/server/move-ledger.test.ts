/**
 * An operator who grows moves the ledger from SQLite to PostgreSQL: every row, all or nothing, and whoever has a key, a
 * receipt, a job or a repeatable answer finds it there.
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import { type Moved, moveLedger } from '../../src/store/move/move-ledger.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { startConsoleWith } from '../console/rig.ts'
import { postgresForTests, type TestDatabase, untouchedPostgres } from '../postgres.ts'
import { bookScene } from '../store/audit-scene.ts'
import { brokenLaws } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { machineOn } from './admin-rig.ts'
import { chat, completion, jsonOf, testModel, USD } from './harness.ts'
import { newVendor, startJobServer } from './job-rig.ts'

const newPath = async () => join(await tempFolder('turnpike-move-'), 'ledger.db')

const move = (path: string, to: string): Promise<Moved> =>
  moveLedger({ path, to, shownTo: 'the new database', now: Date.now })

/** Why it was not moved. */
const refusal = (path: string, to: string): Promise<string> =>
  move(path, to).then(
    () => 'it was moved',
    (error: Error) => error.message,
  )

/** Runs statements in the new database. */
const inPostgres = async (url: string, ...statements: string[]): Promise<Record<string, unknown>[]> => {
  const sql = new SQL({ url, max: 1 })
  try {
    let rows: Record<string, unknown>[] = []
    for (const one of statements) rows = await sql.unsafe(one)
    return rows
  } finally {
    await sql.close()
  }
}

type Content = Readonly<Record<string, readonly string[]>>

const OWN = /^(least_schema|moved_)/

/** All rows, each as a text of its values by column, whichever engine wrote them. */
const contentOf = async (
  tables: readonly string[],
  ask: (text: string) => Promise<Record<string, unknown>[]>,
): Promise<Content> => {
  const content: Record<string, readonly string[]> = {}
  const textOf = (value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value === null ? null : String(value)
  for (const table of tables) {
    const rows = await ask(`select * from "${table}"`)
    content[table] = rows
      .filter(({ name }) => table !== 'setting' || !OWN.test(String(name)))
      .map((row) =>
        JSON.stringify(
          Object.keys(row)
            .sort()
            .map((column) => [column, textOf(row[column])]),
        ),
      )
      .sort()
  }
  return content
}

/** What both have, by a reader of the test's own. */
const bothOf = async (path: string, url: string): Promise<readonly [Content, Content]> => {
  const file = new Database(path, { readonly: true, safeIntegers: true })
  const tables = file
    .query<{ name: string }, []>(
      `select name from sqlite_master where type = 'table' and name <> 'schema_migration'`,
    )
    .all()
    .map(({ name }) => name)
  const ours = await contentOf(tables, async (text) => file.query<Record<string, unknown>, []>(text).all())
  file.close()
  const theirs = await contentOf(tables, (text) => inPostgres(url, text))
  return [ours, theirs]
}

describe('a ledger with rows of every kind of payment', () => {
  let database: TestDatabase
  let path: string
  let moved: Moved
  beforeAll(async () => {
    database = await untouchedPostgres()
    path = await newPath()
    await (await bookScene({ url: `sqlite:${path}` })).store.close()
    moved = await move(path, database.url)
  })
  afterAll(() => database.stop())

  test('is there row by row', async () => {
    const [ours, theirs] = await bothOf(path, database.url)
    expect(theirs).toEqual(ours)
    expect(moved).toMatchObject({ again: false, laws: 36 })
    const filled = Object.entries(ours).filter(([, rows]) => rows.length > 0)
    expect(Object.fromEntries(filled.map(([name, rows]) => [name, rows.length]))).toEqual(
      Object.fromEntries(Object.entries(moved.rows).filter(([, rows]) => rows > 0)),
    )
    expect(filled.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'credit_line',
        'invoice',
        'x402_payment',
        'taken_back',
        'sub_wallet',
        'trial_claim',
        'inflight',
      ]),
    )
  })

  test('and the database keeps its rules: foreign keys, and postings that nobody changes', async () => {
    const rules = `select (select count(*) from pg_constraint where contype = 'f' and not convalidated)
      + (select count(*) from pg_trigger where not tgisinternal and tgenabled <> 'O') as off,
      (select count(*) from pg_constraint where contype = 'f' and conparentid = 0) as keys`
    const [row] = await inPostgres(database.url, rules)
    expect([Number(row?.off), Number(row?.keys) > 25]).toEqual([0, true])
    const failed = (text: string) =>
      inPostgres(database.url, text).then(
        () => false,
        () => true,
      )
    expect(await failed('update transfer set amount = amount + 1')).toBe(true)
    expect(await failed(`insert into key_note (key_id, note) values ('nobody', 'x')`)).toBe(true)
    // The details of past months have parts of their own, so that they can go by month.
    const parts = await inPostgres(
      database.url,
      `select count(*) as n from pg_inherits where inhparent = 'usage_detail'::regclass`,
    )
    expect(Number(parts[0]?.n)).toBeGreaterThan(2)
  })

  test('the file is no ledger any more, and is not moved twice', async () => {
    const opened = openStore({ url: `sqlite:${path}` }).catch((error: Error) => error.message)
    expect(await opened).toStartWith('this ledger was moved to the new database, on ')
    expect(await refusal(path, database.url)).toStartWith('this ledger was moved before, to the new database')
  })

  test('what a killed process did not note is noted by the next one, if nothing changed since', async () => {
    const file = new Database(path)
    file.run(`delete from setting where name = 'moved_to'`)
    expect(await move(path, database.url)).toEqual({ ...moved, again: true })
    expect(await refusal(path, database.url)).toStartWith('this ledger was moved before')
    file.run(`delete from setting where name = 'moved_to'`)
    file.run(`update api_key set label = 'other' where id = 'k'`)
    expect(await refusal(path, database.url)).toBe(
      'that database is not empty: its table account has rows; name an empty one',
    )
    file.close()
  })
})

describe('a ledger that is not moved', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await untouchedPostgres()
  })
  afterAll(() => database.stop())

  const scene = async (): Promise<string> => {
    const path = await newPath()
    await (await bookScene({ url: `sqlite:${path}` })).store.close()
    return path
  }
  const rowsThere = async () =>
    Number((await inPostgres(database.url, 'select count(*) as n from account'))[0]?.n)

  test('its books do not hold: it stays a ledger, and the other one empty', async () => {
    const path = await scene()
    const file = new Database(path)
    file.run(`update account set balance = balance + 1 where id = 'w'`)
    file.close()
    expect(await refusal(path, database.url)).toStartWith('the books in SQLite do not hold: ')
    expect(await rowsThere()).toBe(0)
    await (await openStore({ url: `sqlite:${path}` })).close()
  })

  test('PostgreSQL cannot take a text, or makes another value of one', async () => {
    const path = await scene()
    const change = (text: string) => {
      const file = new Database(path)
      file.run(text)
      file.close()
    }
    change(`update api_key set label = 'a' || char(0) where id = 'k'`)
    expect(await refusal(path, database.url)).toStartWith('the table api_key cannot be copied: ')
    change(`update api_key set label = 'a' where id = 'k'`)
    await inPostgres(database.url, 'alter table api_key alter column rpm type numeric(20, 2)')
    change(`update api_key set rpm = 60 where id = 'k'`)
    expect(await refusal(path, database.url)).toStartWith('the table api_key came out different: ')
    expect(await rowsThere()).toBe(0)
    await inPostgres(database.url, 'alter table api_key alter column rpm type bigint')
    expect(await refusal(path, database.url)).toBe('it was moved')
  })

  test('a server has begun on the other database', async () => {
    const used = await postgresForTests()
    await (await openStore({ url: used.url })).close()
    expect(await refusal(await scene(), used.url)).toStartWith(
      'that database is not empty: its table account',
    )
    await used.stop()
  })
})

test('keys, receipts, jobs, repeats, people and machines of a session go on in PostgreSQL', async () => {
  const database = await untouchedPostgres()
  const path = await newPath()
  const vendor = newVendor()
  const start = (url: string) =>
    startConsoleWith((server) =>
      startJobServer({
        url,
        vendor,
        server: { ...server, receipts: 'header', models: [testModel('small')] },
      }),
    )
  const asked = { ...chat(), max_tokens: 5 }
  const old = await start(`sqlite:${path}`)
  old.answerWith((request) => (request.url.includes('/jobs') ? vendor.answer(request) : completion('hello')))
  await old.store.credit.grantCredit({ walletId: old.wallet, limit: USD, netDays: 14 }, byTest)
  const { token, id } = await old.newKey()
  const other = await old.newKey()
  const kept = { 'idempotency-key': 'asked-once' }
  const first = await old.post('/v1/chat/completions', asked, kept, token)
  const answer = await first.text()
  const call = first.headers.get('x-request-id') ?? ''
  const receipt = first.headers.get('x-receipt') ?? ''
  const onCredit = await old.post('/v1/chat/completions', asked, { 'x-payment-protocol': 'mpp' }, token)
  expect([onCredit.status, await onCredit.text()]).toEqual([200, expect.anything()])
  const begun = await old.post(
    '/v1/run',
    { model: 'mock/film', inputs: { prompt: 'a fox' } },
    { prefer: 'respond-async' },
    token,
  )
  const job = (await jsonOf(begun)).id
  const stored = await jsonOf(
    await old.post('/v1/responses', { model: 'mock/small', input: 'hi' }, {}, token),
  )
  await old.gateway.book.changeKey(other.id, { disabledReason: 'operator', byCreator: false }, byTest)
  const person = await old.visit('owner@example.com', 'owner')
  const machine = await machineOn(old, ['read'])
  const spent = await old.balance()
  await old.crash()
  await old.stop()

  await move(path, database.url)
  const [ours, theirs] = await bothOf(path, database.url)
  expect(theirs).toEqual(ours)

  const now = await start(database.url)
  now.answerWith((request) => (request.url.includes('/jobs') ? vendor.answer(request) : completion('again')))
  expect(await now.store.ledger.balance(old.wallet)).toBe(spent)
  const repeated = await now.post('/v1/chat/completions', asked, kept, token)
  expect([await repeated.text(), (await now.store.ledger.transfersOf(call)).length]).toEqual([answer, 1])
  expect((await now.post('/v1/chat/completions', asked, {}, other.token)).status).toBe(403)
  expect(await jsonOf(await now.post('/api/receipts/verify', { receipt }, {}, token))).toMatchObject({
    valid: true,
  })
  expect((await jsonOf(await now.get(`/v1/responses/${stored.id}`, token))).output).toEqual(stored.output)
  vendor.says(1)
  const ended = async () => (await jsonOf(await now.get(`/v1/run/${job}`, token))).status
  while ((await ended()) !== 'succeeded') await Bun.sleep(50)
  const shown = await now.withCookie(person.cookie)('GET', '/session')
  expect((await jsonOf(shown)).person?.email ?? (await shown.status)).toBe('owner@example.com')
  expect((await now.store.machines.list()).map((one) => one.id)).toContain(machine.id)
  expect((await now.store.keys.key(id))?.label).toBeDefined()
  expect(await brokenLaws(now.store)).toEqual([])
  await now.stop()
  await database.stop()
})
