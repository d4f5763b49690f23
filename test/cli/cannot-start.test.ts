/** A start that fails says in one line what is wrong with which setting. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, startProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-cannot-start-'))
const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
afterAll(async () => {
  await endPrograms()
  await taken.stop(true)
  rmSync(home, { recursive: true })
})

const port = String(taken.port)
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
    'the ledger cannot be opened: sqlite:./none.db: file is not a database',
  ],
] as const

test.each(starts)('%s', async (_, settings, line) => {
  writeFileSync(join(home, 'none.db'), 'This is no database. '.repeat(100))
  const { code, out, errors } = await runProgram(home, { LOG: 'error', ...settings }, 'serve')
  expect([code, out, errors]).toEqual([1, '', `turnpike: ${line}\n`])
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
