/** Exported calls: each arrives at least once, whatever fails, with its id as the key and without content. */
import { afterEach, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { exportConfigOf } from '../../src/cli/config/export-config.ts'
import { createLog, silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { keepExporting } from '../../src/export/keep-exporting.ts'
import { type Sink, sinkOf } from '../../src/export/sinks.ts'
import { callSource } from '../../src/export/sources.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import {
  chat,
  completion,
  METRICS_TOKEN,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
} from './harness.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-export-'))
  ends.push(() => rmSync(path, { recursive: true }))
  return path
}

const SECRET = 'the-words-of-the-caller'

/** Makes this many calls, and returns their ids. */
const call = async (server: TestServer, times: number): Promise<string[]> => {
  const ids: string[] = []
  for (let time = 0; time < times; time++) {
    const answer = await server.post(
      '/v1/chat/completions',
      chat({ messages: [{ role: 'user', content: SECRET }] }),
    )
    expect(answer.status).toBe(200)
    ids.push(answer.headers.get('x-request-id') ?? '')
  }
  return ids.sort()
}

const start = (server: TestServer, sink: Sink, log = silentLog) => {
  const exporting = keepExporting({
    source: callSource(server.store.exports),
    sink,
    clock: systemClock,
    log,
    everyMs: 5,
  })
  ends.push(exporting.stop)
  return exporting
}

const idsIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).id)

const unique = (ids: readonly string[]): string[] => [...new Set(ids)].sort()

for (const { name, fresh } of serverEngines) {
  test(`calls since it was turned on come into a file, on ${name}`, async () => {
    const database = await fresh()
    const server = await startTestServer({ url: database.url })
    const path = join(folder(), 'calls', 'all.jsonl')
    await call(server, 1)
    await server.store.exports.noteExports(true)
    await server.store.exports.noteExports(true)
    const ids = await call(server, 3)
    server.answerWith(() => streaming(streamEvents(['a', 'b'])))
    await (await server.post('/v1/chat/completions', chat({ stream: true }))).text()
    const { stop } = start(server, sinkOf({ file: path }))
    const read = () => {
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return ''
      }
    }
    await until(() => idsIn(read()).length === 4)
    expect(idsIn(read()).slice(0, 3)).toEqual(ids)
    const [line = ''] = read().split('\n')
    const { charged_at, started_at, took_ms, first_byte_ms, ...rest } = JSON.parse(line)
    expect(rest).toEqual({
      id: ids[0],
      organization_id: 'org_test',
      wallet_id: server.wallet,
      key_id: expect.stringMatching(/^key_/),
      charged_usd: '0.00006',
      model: 'mock/small',
      vendor: 'mock',
      usage: { input: 10, output: 5 },
      estimated: false,
      ended: 'ok',
      price_version: 'test-1',
    })
    expect([charged_at, started_at].every((at) => new Date(at).toISOString() === at)).toBe(true)
    expect([took_ms, first_byte_ms].every(Number.isInteger)).toBe(true)
    expect(read()).not.toContain(SECRET)
    stop()
    // Once export is off, charges note nothing any more.
    await server.store.exports.noteExports(false)
    server.answerWith(() => completion('x'))
    await call(server, 1)
    expect(await server.store.exports.claimExports(10, 1_000)).toEqual([])
    await stopSound(server, database)
  })

  test(`a process that dies with a batch skips none: others get it, on ${name}`, async () => {
    const database = await fresh()
    let now = Date.now()
    const server = await startTestServer({ url: database.url, now: () => now })
    const { exports } = server.store
    await exports.noteExports(true)
    const ids = await call(server, 3)
    const [first] = await exports.claimExports(1, 1_000)
    const rest = await exports.claimExports(10, 1_000)
    expect([first?.id, ...rest.map(({ id }) => id)]).toEqual(ids)
    // The one that has the first is gone; the other one could not send.
    await exports.releaseExports(rest.map(({ id }) => id))
    expect((await exports.claimExports(10, 1_000)).map(({ id }) => id)).toEqual(ids.slice(1))
    now += 1_001
    expect((await exports.claimExports(10, 1_000)).map(({ id }) => id)).toEqual(ids)
    await exports.exported(ids)
    now += 1_001
    expect(await exports.claimExports(10, 1_000)).toEqual([])
    await stopSound(server, database)
  })
}

test('an endpoint that fails gets all again, and the metrics and the log say so', async () => {
  const server = await startTestServer()
  await server.store.exports.noteExports(true)
  const got: string[] = []
  let fails = true
  const receiver = Bun.serve({
    port: 0,
    fetch: async (request) => {
      expect(request.headers.get('authorization')).toBe('Bearer of-the-sink')
      expect(request.headers.get('content-type')).toBe('application/x-ndjson')
      got.push(...idsIn(await request.text()))
      return new Response('', { status: fails ? 500 : 204 })
    },
  })
  ends.push(() => receiver.stop(true))
  const ids = await call(server, 2)
  const lines: string[] = []
  const log = createLog(
    'warn',
    () => 0,
    (line) => lines.push(line),
  )
  const url = `http://127.0.0.1:${receiver.port}/calls`
  const exporting = start(server, sinkOf({ url, headers: { authorization: 'Bearer of-the-sink' } }), log)
  Object.assign(server.gateway.watch, { exporting })
  await until(() => exporting.failures() > 1)
  fails = false
  await until(() => exporting.failures() === 0 && exporting.lagMs() === 0)
  expect(unique(got)).toEqual(ids)
  expect(lines[0]).toContain('the endpoint answered 500')
  const text = await (await server.get('/metrics', METRICS_TOKEN)).text()
  expect(text).toContain('turnpike_export_failures 0\n')
  expect(text).toContain('turnpike_export_lag_seconds 0\n')
  await server.stop()
})

test('an endpoint that takes no whole batch gets smaller ones, and one line that is too large is told', async () => {
  const server = await startTestServer()
  await server.store.exports.noteExports(true)
  const got: string[] = []
  let takes = 3
  const receiver = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const ids = idsIn(await request.text())
      if (ids.length > takes) return new Response('', { status: 413 })
      got.push(...ids)
      return new Response('', { status: 204 })
    },
  })
  ends.push(() => receiver.stop(true))
  const ids = await call(server, 8)
  const exporting = start(server, sinkOf({ url: `http://127.0.0.1:${receiver.port}/calls`, headers: {} }))
  await until(() => got.length === 8 || exporting.failures() > 0)
  expect([unique(got), exporting.failures()]).toEqual([ids, 0])
  takes = 0
  await call(server, 1)
  await until(() => exporting.failures() > 1)
  takes = 3
  await until(() => got.length === 9 && exporting.failures() === 0)
  await server.stop()
})

test('a batch is an object of a bucket, whose name is the same when it is sent again', async () => {
  const directory = folder()
  const bucket = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'calls' }],
  })
  const { port } = await bucket.run()
  ends.push(() => bucket.close())
  const { calls } = exportConfigOf({
    to: 's3://calls/prod',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    key_id: 'S3RVER',
    secret: 'S3RVER',
  })
  const batch = { lines: '{"id":"a"}\n', first: 'a', at: Date.UTC(2026, 10, 21) }
  await sinkOf(calls!.sink)(batch)
  await sinkOf(calls!.sink)(batch)
  expect(readFileSync(join(directory, 'calls/prod/2026-11-21/a.jsonl._S3rver_object'), 'utf8')).toBe(
    batch.lines,
  )
})

test('half a line that a crash left is followed by whole ones', async () => {
  const path = join(folder(), 'calls.jsonl')
  appendFileSync(path, '{"id":"x"}\n{"id":"hal')
  await sinkOf({ file: path })({ lines: '{"id":"a"}\n{"id":"b"}\n', first: 'a', at: 0 })
  await sinkOf({ file: path })({ lines: '{"id":"c"}\n', first: 'c', at: 0 })
  expect(readFileSync(path, 'utf8')).toBe('{"id":"x"}\n{"id":"hal\n{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n')
})

test('the target is read from turnpike.yaml, and what is wrong with it is reported', () => {
  expect(exportConfigOf({ to: './calls.jsonl' })).toEqual({
    calls: { sink: { file: './calls.jsonl' }, everyMs: 5_000 },
    events: undefined,
  })
  expect(exportConfigOf({ events: 'https://a.example/x', headers: { a: 'b' }, every_seconds: 9 })).toEqual({
    calls: undefined,
    events: { sink: { url: 'https://a.example/x', headers: { a: 'b' } }, everyMs: 9_000 },
  })
  const { calls } = exportConfigOf({ to: 's3://calls/prod/', key_id: 'k', secret: 's' })
  expect([calls!.everyMs, 'bucket' in calls!.sink && calls!.sink.bucket.prefix]).toEqual([60_000, 'prod/'])
  expect(() => exportConfigOf({})).toThrow('export: needs to (for calls), events, or both')
  expect(() => exportConfigOf({ to: './a', events: './a' })).toThrow('must be another place than export.to')
  expect(() => exportConfigOf({ events: 'ftp://a' })).toThrow('export.events must be a path')
  expect(() => exportConfigOf({ to: 's3://calls' })).toThrow('export: s3://… needs key_id and secret')
  expect(() => exportConfigOf({ to: 'http://a.example/x' })).toThrow(
    'export.to must be a path, https://… or s3://…',
  )
})

test('several processes write whole lines into one file, and none between them', async () => {
  const path = join(folder(), 'calls.jsonl')
  const lines = `${JSON.stringify({ id: 'x'.repeat(500) })}\n`.repeat(400)
  const write = async () => {
    const sink = sinkOf({ file: path })
    for (let batch = 0; batch < 60; batch++) await sink({ lines, first: 'x', at: 0 })
  }
  await Promise.all([write(), write(), write()])
  expect(new Set(readFileSync(path, 'utf8').split('\n').slice(0, -1)).size).toBe(1)
})
