/** A start that waits for its database says so, tells probes that it lives, and serves when the database is there. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { freePort } from '../free-port.ts'
import { beginProgram, endPrograms, startProgram } from '../program.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-start-waits-'))
afterAll(async () => {
  await endPrograms()
  rmSync(home, { recursive: true })
})

const beginServer = async (settings: Record<string, string>) => {
  const port = await freePort()
  const child = beginProgram(home, { ...settings, PORT: String(port) }, 'serve')
  let told = ''
  void (async () => {
    for await (const piece of child.stderr as ReadableStream<Uint8Array>)
      told += new TextDecoder().decode(piece)
  })()
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, keepalive: false }).catch(() => undefined)
  const statusOf = async (path: string) => (await ask(path))?.status
  return { child, port, told: () => told, ask, statusOf }
}

/** What probes and callers are told while a start waits. */
const expectsWaiting = async ({ ask, port, statusOf, told }: Awaited<ReturnType<typeof beginServer>>) => {
  await until(() => told().includes('waiting for the database'))
  // Of several processes the port opens once one of them waits.
  await until(async () => (await statusOf('/livez')) === 200)
  expect(await statusOf('/readyz')).toBe(503)
  const call = await ask('/v1/chat/completions', { method: 'POST', body: '{}' })
  expect([call?.status, call?.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await call?.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  // Also of a body that is larger than the runtime takes by itself.
  const large = await begun(port, 1_000_000_000)
  expect(large.statusCode).toBe(503)
  expect(await json(large)).toMatchObject({ error: { code: 'service_unavailable' } })
}

/** The answer to a request whose body has only been announced. */
const begun = (port: number, bytes: number): Promise<IncomingMessage> => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const asked = request({ port, method: 'POST', path: '/v1/files', headers: { 'content-length': bytes } })
  asked.on('response', (answer) => answer.on('end', () => asked.destroy()))
  asked.on('response', resolve).on('error', reject).flushHeaders()
  return promise
}

test('a start beside a process that holds the SQLite file waits until it lets go', async () => {
  const { child } = await startProgram(home, {})
  child.kill('SIGTERM')
  await child.exited
  const other = new Database(join(home, 'data', 'turnpike.db'))
  other.run('BEGIN IMMEDIATE')
  const server = await beginServer({})
  await expectsWaiting(server)
  expect(server.told()).toContain('another process has locked it')
  other.run('ROLLBACK')
  other.close()
  await until(async () => (await server.statusOf('/readyz')) === 200)
  server.child.kill('SIGTERM')
  expect(await server.child.exited).toBe(0)
})

test.each(['1', '2'])('a start before its PostgreSQL, of %s processes', async (workers) => {
  const server = await beginServer({
    DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
    WORKERS: workers,
  })
  await expectsWaiting(server)
  server.child.kill('SIGTERM')
  expect(await server.child.exited).toBe(0)
})
