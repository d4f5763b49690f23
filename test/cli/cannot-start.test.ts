/** The likeliest mistakes at a start: each ends in one line that says what is wrong, and names what mends it. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, type Settings, startProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-cannot-start-'))
const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
afterAll(async () => {
  await endPrograms()
  await taken.stop(true)
  rmSync(home, { recursive: true })
})

beforeAll(async () => {
  writeFileSync(join(home, 'none.db'), 'This is no database. '.repeat(100))
  writeFileSync(join(home, 'bad.yaml'), 'markup: 1\n\tdiscount: 2\n')
  writeFileSync(join(home, 'member.yaml'), 'markupp: 1\n')
  writeFileSync(join(home, 'model.yaml'), 'aliases: { fast: local/nope }\n')
  writeFileSync(join(home, 'keyless.yaml'), 'aliases: { fast: groq/llama-9 }\n')
  const { child } = await startProgram(home, { DATABASE_URL: 'sqlite:./newer.db' })
  child.kill('SIGTERM')
  await child.exited
  const newer = new Database(join(home, 'newer.db'))
  newer.run("insert into schema_migration values (999, 'later', '', 0)")
  newer.run("update setting set value = '999' where name = 'least_schema'")
  newer.close()
})

const port = String(taken.port)
const nowhere = 'postgres://nobody@127.0.0.1:5432'
const starts = [
  [
    'a port that is taken',
    { PORT: port },
    `cannot listen on 127.0.0.1:${port} (HOST, PORT): another program listens there, or the name is not known`,
  ],
  [
    'a port of the metrics that is taken',
    { METRICS: port },
    `cannot listen on 127.0.0.1:${port} (METRICS): another program listens there, or the name is not known`,
  ],
  [
    'an address of another machine',
    { HOST: '192.0.2.1', PORT: '8787' },
    'cannot listen on 192.0.2.1:8787 (HOST, PORT): it is no address of this machine',
  ],
  [
    'a ledger that is none',
    { DATABASE_URL: 'sqlite:./none.db' },
    'the ledger cannot be opened: sqlite:./none.db: the file is no database; set DATABASE_URL to your ledger, or to a file that does not exist yet',
  ],
  [
    'a folder that cannot be',
    { DATABASE_URL: 'sqlite:/dev/null/turnpike.db' },
    'the ledger cannot be opened: sqlite:/dev/null/turnpike.db: there can be no such file; set DATABASE_URL to another path',
  ],
  [
    'a database of a newer program',
    { DATABASE_URL: 'sqlite:./newer.db' },
    /the database is newer than this program: .* Start a newer version of Turnpike\./,
  ],
  ['a user or database that is not there', { DATABASE_URL: `${nowhere}/none` }, /\(check DATABASE_URL\)/],
] as const

const settings = [
  ['an address of no database', { DATABASE_URL: 'postgresql//x' }, 'DATABASE_URL must be sqlite:<path> or'],
  ['bad YAML', { TURNPIKE_CONFIG: './bad.yaml' }, 'Tabs are not allowed as indentation at line 2'],
  ['an unknown member', { TURNPIKE_CONFIG: './member.yaml' }, '"markupp"; did you mean \'markup\'?'],
  ['a file that is absent', { TURNPIKE_CONFIG: './absent.yaml' }, "'./absent.yaml', which does not exist"],
  [
    'a wrong model',
    { TURNPIKE_CONFIG: './model.yaml' },
    "aliases.fast: there is no model 'local/nope'; correct",
  ],
  ['a missing key of a vendor', { TURNPIKE_CONFIG: './keyless.yaml' }, 'groq is off: set GROQ_API_KEY'],
] as const

/** What a server tells in its log, which is one line of JSON. */
const inOneLine = (errors: string, line: string | RegExp) => {
  expect(errors.trimEnd().split('\n')).toHaveLength(1)
  const { event, error = '', setting = '' } = JSON.parse(errors)
  expect(`${event}: ${error}${setting}\n`).toMatch(line)
}

test.each(starts)('%s', async (_, given, line) => {
  const { code, out, errors } = await runProgram(home, { LOG: 'error', ...given }, 'serve')
  expect([code, out]).toEqual([1, ''])
  inOneLine(errors, typeof line === 'string' ? `the server ends: ${line}\n` : line)
})

test.each(settings)('%s', async (_, given, line) => {
  const { code, out, errors } = await runProgram(home, given, 'serve')
  expect([code, out]).toEqual([2, ''])
  inOneLine(errors, line)
})

/** What a start with these settings tells, which serves all the same. */
const toldBy = async (given: Settings): Promise<string> => {
  const { child } = await startProgram(home, { DATABASE_URL: 'sqlite:./told.db', ...given }, 'pipe')
  child.kill('SIGTERM')
  return new Response(child.stderr as ReadableStream).text()
}

test('a setting that is none, by one line that names the one that was meant', async () => {
  inOneLine(await toldBy({ OPENAI_API_KYE: 'k' }), /did you mean OPENAI_API_KEY\?/)
})

test('two servers on one file: the second ends, and says how both could run', async () => {
  const shared = { DATABASE_URL: 'sqlite:./shared.db' }
  const { child } = await startProgram(home, shared)
  const { code, errors } = await runProgram(home, shared, 'serve')
  expect(code).toBe(1)
  inOneLine(errors, /another server runs on sqlite:.*end it first, .* or use PostgreSQL/)
  child.kill('SIGTERM')
  await child.exited
})

test('a clock that was set back is told by its time and by the last one that is known', async () => {
  await toldBy({})
  const ledger = new Database(join(home, 'told.db'))
  ledger.run('update schema_migration set applied_at = applied_at + 86400000')
  ledger.close()
  const told = await toldBy({})
  inOneLine(told, /a clock is wrong; set it, and keep it by NTP.*but the ledger was written to at/)
})

test('a place of results that cannot be written is told at the start, which serves all other calls', async () => {
  const { child, address } = await startProgram(home, { ASSETS: '/dev/null/assets', LOG: 'warn' }, 'pipe')
  expect((await fetch(`${address}/livez`)).status).toBe(200)
  const { services } = (await (await fetch(`${address}/api/status`)).json()) as any
  expect(services.assets).toMatchObject({
    status: 'degraded',
    error: expect.stringContaining('cannot be stored'),
  })
  child.kill('SIGTERM')
  const told = await new Response(child.stderr as ReadableStream).text()
  expect(told.split('\n')[0]).toContain('assets cannot be stored')
})

test('an address in brackets is a bad setting', async () => {
  const { code, errors } = await runProgram(home, { HOST: '[::1]' }, 'config', 'check')
  expect([code, errors]).toEqual([2, expect.stringContaining('HOST')])
})
