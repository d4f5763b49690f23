/** `DATABASE_REPLICA_URL`: reports are read from a real replica while it follows closely, and else from the ledger. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openStore } from '../../src/store/open-store.ts'
import { startEmbedded, startReplica } from '../embedded-postgres.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const TOKEN = 'metrics-token-of-tests'
const LONG = '3600'
let ledger: Awaited<ReturnType<typeof startEmbedded>>
let replica: Awaited<ReturnType<typeof startReplica>>
let home: string
beforeAll(async () => {
  ledger = await startEmbedded()
  replica = await startReplica(ledger.url)
  home = await tempFolder('turnpike-replica-')
})
afterAll(async () => {
  await endPrograms()
  await replica.stop()
  await ledger.stop()
})

/** Whether the replica applies what it gets. */
const replay = async (is: 'pause' | 'resume') => {
  const sql = new SQL({ url: replica.url, max: 1 })
  await sql.unsafe(`select pg_wal_replay_${is}()`)
  await sql.close()
}

const settingsOf = (lag: string, url = replica.url) => ({
  DATABASE_URL: ledger.url,
  DATABASE_REPLICA_URL: url,
  REPLICA_LAG_SECONDS: lag,
  METRICS_TOKEN: TOKEN,
})

type Report = { readonly data: { readonly total: { readonly requests: number } } }
type Status = { readonly services: { readonly replica?: { readonly status: string } } }

/** A server with that replica, and what one of its callers sees. */
const serve = async (lag: string, url?: string) => {
  const settings = settingsOf(lag, url)
  const { child, address } = await startProgram(home, settings)
  const asked = ['key', 'create', '--label', 'reader', '--rpm', '100000', '--json']
  const made = await runProgram(home, settings, ...asked)
  const headers = { authorization: `Bearer ${JSON.parse(made.out).key}`, 'content-type': 'application/json' }
  const json = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${address}${path}`, { headers, ...init })
    expect({ path, status: response.status }).toEqual({ path, status: 200 })
    return (await response.json()) as Record<string, unknown>
  }
  const body = JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] })
  return {
    call: () => json('/v1/chat/completions', { method: 'POST', body }),
    /** How many calls the report has. */
    told: async () => ((await json('/v1/usage?group_by=model')) as Report).data.total.requests,
    listed: async () => ((await json('/v1/calls')) as { data: unknown[] }).data.length,
    state: async () => ((await json('/api/status')) as Status).services.replica?.status,
    metric: async (name: string) => {
      const metrics = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
      return new RegExp(`^turnpike_${name} (.+)`, 'm').exec(await metrics.text())?.[1]
    },
    end: async () => {
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    },
  }
}

test('reports come from the replica, and never later than they may', async () => {
  const patient = await serve(LONG)
  await until(async () => (await patient.metric('replica_lag_seconds')) !== undefined)
  expect(await patient.metric('replica_ok')).toBe('1')
  await patient.call()
  await until(async () => (await patient.told()) === 1)
  await replay('pause')
  const { id } = (await patient.call()) as { id: string }
  expect(id).not.toBe('')
  // That the replica answers is seen by what it does not have yet.
  expect([await patient.told(), await patient.listed()]).toEqual([1, 1])
  await replay('resume')
  await until(async () => (await patient.told()) === 2 && (await patient.listed()) === 2)
  await patient.end()

  const strict = await serve('2')
  await strict.call()
  await replay('pause')
  await strict.call()
  await until(async () => (await strict.state()) === 'degraded')
  expect([await strict.told(), await strict.listed(), await strict.metric('replica_ok')]).toEqual([2, 2, '0'])
  await replay('resume')
  await until(async () => (await strict.state()) === 'ok')
  await until(async () => (await strict.told()) === 2)
  await strict.end()
})

test('a replica that is away, or of another ledger, is told, and the ledger answers', async () => {
  const sql = new SQL({ url: ledger.url, max: 1 })
  await sql.unsafe('create database another')
  await sql.close()
  const other = new URL(ledger.url)
  other.pathname = '/another'
  await (await openStore({ url: other.href })).close()
  for (const url of ['postgres://postgres@127.0.0.1:1/postgres', other.href]) {
    const server = await serve(LONG, url)
    await server.call()
    expect([await server.told(), await server.listed()]).toEqual([1, 1])
    await until(async () => (await server.metric('replica_ok')) === '0')
    expect([await server.state(), await server.metric('replica_lag_seconds')]).toEqual([
      'degraded',
      undefined,
    ])
    await server.end()
  }
  const file = await runProgram(home, { DATABASE_REPLICA_URL: replica.url }, 'serve')
  expect([file.code, file.errors]).toEqual([
    2,
    expect.stringContaining('DATABASE_REPLICA_URL needs PostgreSQL: a ledger on SQLite has no replica'),
  ])
})
