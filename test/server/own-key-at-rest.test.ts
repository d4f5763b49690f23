/** Law: an organisation's key of a vendor is in nothing that is kept or told, in whatever spelling. */

import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { keepExporting } from '../../src/export/keep-exporting.ts'
import { callSource } from '../../src/export/sources.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer } from './harness.ts'

// Its last four letters are shown, and kept for that.
const HIDDEN = 'sk-own-0123456789abcdef-'
const OWN = `${HIDDEN}tail`

/** The spellings in which bytes may have it: base64 begins in one of three places of a letter. */
const spellings = [
  HIDDEN,
  Buffer.from(HIDDEN, 'utf16le').toString('latin1'),
  Buffer.from(HIDDEN).toString('hex'),
  ...[0, 1, 2].map((at) =>
    Buffer.from(`${' '.repeat(at)}${HIDDEN}`)
      .toString('base64')
      .slice(at === 0 ? 0 : 4, -4),
  ),
]
const found = (text: string): readonly string[] =>
  spellings.filter((one) => text.toLowerCase().includes(one.toLowerCase()))

/** All files below a folder, as text, by their names. */
const filesIn = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => {
        const path = join(parentPath, name)
        return [path.slice(folder.length + 1), readFileSync(path, 'latin1')]
      }),
  )

afterAll(endPrograms)

test('the search finds the key in each spelling', () => {
  const spelt = [
    OWN,
    Buffer.from(OWN, 'utf16le').toString('latin1'),
    Buffer.from(OWN).toString('hex').toUpperCase(),
    ...['', 'a', 'ab'].map((before) => Buffer.from(`${before}${OWN}`).toString('base64')),
  ]
  for (const one of spelt) expect(found(`x${one}y`)).not.toEqual([])
})

test('the files, journal, backup, log and spans of a server that is killed have no key', async () => {
  const home = await tempFolder('turnpike-own-key-')
  let goOn = Promise.withResolvers<void>()
  goOn.resolve()
  const sent: string[] = []
  const vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const key = request.headers.get('authorization') ?? ''
      if (key !== `Bearer ${OWN}`) return Response.json({ error: { message: 'no' } }, { status: 401 })
      if (request.url.endsWith('/models')) return Response.json({ data: [] })
      sent.push(key)
      await goOn.promise
      // Vendors quote keys in their errors.
      return (await request.text()).includes('be wrong')
        ? Response.json({ error: { message: `wrong key ${OWN}`, code: OWN } }, { status: 400 })
        : completion('hello')
    },
  })
  const spans: string[] = []
  const receiver = Bun.serve({
    port: 0,
    fetch: async (request) => {
      spans.push(await request.text())
      return Response.json({})
    },
  })
  const settings = {
    DATABASE_URL: 'sqlite:./ledger.db',
    JOURNAL: './journal',
    LOG: 'call',
    OPENAI_API_KEY: 'house-key',
    OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.port}`,
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
  const { child, address, token } = await startProgram(home, settings, 'pipe')
  const log = new Response(child.stderr as ReadableStream).text()
  const send = (path: string, body: object) =>
    fetch(`${address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const said: string[] = []
  const heard = async (answer: Response) => {
    said.push(await answer.text(), JSON.stringify([...answer.headers]))
    return answer.status
  }
  const call = (content: string) =>
    send('/v1/chat/completions', { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content }] })
  expect(await heard(await send('/v1/own-keys', { vendor: 'openai', value: OWN }))).toBe(201)
  expect(await heard(await call('hi'))).toBe(200)
  expect(await heard(await call('be wrong'))).toBe(400)
  await until(() => spans.length > 0)
  const { code } = await runProgram(home, settings, 'backup', './backup')
  expect(code).toBe(0)
  // A charge that waits on the disk, because another process holds the ledger.
  goOn = Promise.withResolvers()
  const last = call('hi')
  await until(() => sent.length === 3)
  const other = new Database(join(home, 'ledger.db'))
  other.run('BEGIN IMMEDIATE')
  goOn.resolve()
  await until(() => [...filesIn(join(home, 'journal')).values()].some((text) => text.includes('gpt-4o-mini')))
  child.kill('SIGKILL')
  await Promise.allSettled([last, child.exited])
  const files = filesIn(home)
  other.run('ROLLBACK')
  const dump = (other.query('select * from own_key').all() as object[]).map((row) => JSON.stringify(row))
  other.close()
  vendor.stop(true)
  receiver.stop(true)
  const all = new Map([
    ...files,
    ['log', await log],
    ['spans', spans.join('\n')],
    ['answers', said.join('\n')],
    ['dump', dump.join('\n')],
  ])
  for (const [name, text] of all) expect([name, found(text)]).toEqual([name, []])
  // The search sees what is there: the vendor in each of these, and the letters that are shown.
  const ledger = [...files].filter(([name]) => name.startsWith('ledger.db'))
  expect(ledger.some(([, text]) => text.includes('openai'))).toBe(true)
  for (const name of ['log', 'spans', 'answers', 'dump'])
    expect([name, all.get(name)?.includes('openai')]).toEqual([name, true])
  expect(all.get('dump')).toContain('tail')
  const parts = [...files.keys()]
  for (const part of ['journal/', 'backup/'])
    expect([part, parts.some((name) => name.startsWith(part))]).toEqual([part, true])
})

test('a dump of PostgreSQL and what is exported have no key', async () => {
  const database = await postgresForTests()
  const it = await startTestServer({ url: database.url })
  it.answerWith(({ url }) => (url.endsWith('/models') ? new Response('', { status: 404 }) : completion('hi')))
  const added = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OWN, untested: true })
  expect(added.status).toBe(201)
  const lines: string[] = []
  const sink = async (batch: { readonly lines: string }) => void lines.push(batch.lines)
  await it.store.exports.noteExports(true)
  const source = callSource(it.store.exports)
  const exporting = keepExporting({ source, sink, clock: systemClock, log: silentLog, everyMs: 5 })
  expect((await it.post('/v1/chat/completions', chat())).headers.get('x-vendor-key')).toBe('own')
  await until(() => lines.join('').includes('mock/small'))
  exporting.stop()
  const sql = new SQL({ url: database.url, max: 1 })
  const dumped: string[] = []
  for (const { name } of await sql`select tablename as name from pg_tables where schemaname = 'public'`)
    for (const { row } of await sql.unsafe(`select row_to_json(t)::text as row from ${name} t`))
      dumped.push(`${name} ${row}`)
  await sql.close()
  const dump = dumped.join('\n')
  expect([found(dump), found(lines.join('\n'))]).toEqual([[], []])
  expect(dump).toContain('own_key {')
  await it.stop()
  await database.stop()
})
