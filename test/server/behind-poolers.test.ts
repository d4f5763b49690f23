/**
 * What stands between a gateway and its PostgreSQL: a pooler that gives each transaction another connection, a balancer
 * that ends idle connections and loses its server. Calls, charges and changes of keys are as they are without.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { byTest } from '../by-test.ts'
import { freePort } from '../free-port.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { resettingPooler } from '../resetting-pooler.ts'
import { brokenLaws } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer } from './harness.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await postgresForTests()
})
afterAll(() => database.stop())

/** The same database at another port of this machine. */
const at = (port: number): string => {
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}

const startServer = async (url: string) => {
  const server = await startTestServer({ url, ledgerFails: true })
  server.answerWith(() => completion('hello'))
  const call = async (token: string) => {
    const answer = await server.post('/v1/chat/completions', chat(), { authorization: `Bearer ${token}` })
    await answer.text()
    return { status: answer.status, id: answer.headers.get('x-request-id') ?? '' }
  }
  return { ...server, call }
}

/** Two gateways at that address: each call is charged once, a key that one revokes is refused by the other at once. */
const expectSound = async (url: string): Promise<void> => {
  const [one, other] = [await startServer(url), await startServer(url)]
  const keys = [await one.newKey(), await one.newKey()]
  const calls = await Promise.all(
    Array.from({ length: 30 }, (_, nth) => (nth % 2 === 0 ? one : other).call(keys[nth % 2]?.token ?? '')),
  )
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
  for (const { id } of calls) expect(await one.store.ledger.transfersOf(id)).toHaveLength(1)
  const [revoked] = keys
  const off = { disabledReason: 'operator', byCreator: false } as const
  await one.gateway.book.changeKey(revoked?.id ?? '', off, byTest)
  expect((await other.call(revoked?.token ?? '')).status).toBe(403)
  expect(await brokenLaws(one.store)).toEqual([])
  await Promise.all([one.stop(), other.stop()])
}

/** What each lane must have set in each of its transactions, which a pooler may run on any connection. */
const settingsOf = async (url: string) => {
  const engine = openEngine({ url })
  const ask = `select current_setting('statement_timeout') || ' ' || current_setting('enable_seqscan') || ' ' ||
    current_setting('synchronous_commit') as set`
  const seen: unknown[] = []
  for (const lane of ['writer', 'control', 'relaxed', 'reading'] as const) {
    const [rows] = await engine.batch(lane, [{ text: ask, params: [] }])
    const inside = await engine.transaction(lane, (run) => run(ask))
    seen.push([rows?.[0]?.set, inside[0]?.set])
  }
  await engine.close()
  return seen
}

describe.each([
  ['refuses settings of a connection', true],
  ['leaves them out', false],
])('a pooler that forgets all after each transaction, and %s', (_name, refuses) => {
  test('is found out, and changes nothing', async () => {
    const pooler = await resettingPooler(database.url, refuses)
    expect(await settingsOf(pooler.url)).toEqual(await settingsOf(database.url))
    await expectSound(pooler.url)
    expect(pooler.resets()).toBeGreaterThan(30)
    pooler.stop()
  })
})

/** Starts a program of the system, which ends with the test. */
const start = (command: readonly string[]) => {
  // Such programs do not serve as the machine's administrator.
  const asOther =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : []
  return Bun.spawn([...asOther, ...command], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
}

const folderFor = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await tempFolder('turnpike-pooler-')
  await chmod(folder, 0o755)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

const answersAt = (url: string) => async (): Promise<boolean> => {
  const engine = openEngine({ url })
  return engine
    .batch('control', [{ text: 'select 1', params: [] }])
    .then(
      () => true,
      () => false,
    )
    .finally(() => engine.close())
}

const pgbouncer = Bun.which('pgbouncer')

describe.skipIf(pgbouncer === null)('pgBouncer by transactions (needs the program pgbouncer)', () => {
  test('two connections serve two gateways, also after it was ended and started again', async () => {
    const port = await freePort()
    const { hostname, port: own, username, password } = new URL(database.url)
    const folder = await folderFor({
      users: `"${username}" "${password}"\n`,
      ini: `[databases]
* = host=${hostname} port=${own || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = transaction
default_pool_size = 2
server_reset_query_always = 1
`,
    })
    const run = async () => {
      const program = start(['sh', '-c', `cd ${folder} && exec ${pgbouncer} ini`])
      await until(answersAt(at(port)))
      return async () => {
        program.kill('SIGKILL')
        await program.exited
      }
    }
    const kill = await run()
    expect(await settingsOf(at(port))).toEqual(await settingsOf(database.url))
    await expectSound(at(port))
    const server = await startServer(at(port))
    const { token } = await server.newKey()
    expect((await server.call(token)).status).toBe(200)
    await kill()
    const killAgain = await run()
    await until(async () => (await server.call(token)).status === 200)
    expect(await brokenLaws(server.store)).toEqual([])
    await server.stop()
    await killAgain()
  })
})

const haproxy = Bun.which('haproxy')

describe.skipIf(haproxy === null)('HAProxy (needs the program haproxy)', () => {
  test('that ends idle connections costs no call, and a lost server only until it is back', async () => {
    const [port, admin] = [await freePort(), await freePort()]
    const { hostname, port: own } = new URL(database.url)
    const folder = await folderFor({
      cfg: `global
  stats socket ipv4@127.0.0.1:${admin} level admin
defaults
  mode tcp
  timeout connect 1h
  timeout client 1h
  timeout server 1h
listen ledger
  bind 127.0.0.1:${port}
  server one ${hostname}:${own || 5432}
`,
    })
    const program = start([haproxy ?? '', '-db', '-f', join(folder, 'cfg')])
    await until(answersAt(at(port)))
    const server = await startServer(at(port))
    const { token } = await server.newKey()
    const tell = async (command: string) => {
      const told = Promise.withResolvers<void>()
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: admin,
        socket: { data: () => undefined, close: () => told.resolve() },
      })
      socket.write(`${command}\n`)
      socket.end()
      await told.promise
    }
    for (let nth = 0; nth < 5; nth++) {
      const { status, id } = await server.call(token)
      expect(status).toBe(200)
      await until(async () => (await server.store.ledger.transfersOf(id)).length === 1)
      // A time limit of the balancer would also end what a busy machine is slow to do; this ends the idle ones.
      await tell('shutdown sessions server ledger/one')
    }
    await tell('disable server ledger/one; shutdown sessions server ledger/one')
    await until(() => !server.gateway.book.health().fresh)
    expect((await server.call(token)).status).toBe(503)
    await tell('enable server ledger/one')
    await until(async () => (await server.call(token)).status === 200)
    expect(await brokenLaws(server.store)).toEqual([])
    await server.stop()
    program.kill('SIGKILL')
    await program.exited
  })
})
