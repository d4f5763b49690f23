/** The attacks, each by name with its budget; a check throws when the answer itself is wrong. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { hostileBodies } from '../security/hostile-bodies.ts'
import { asked, type Check, chat, echo, heard, must, statusOf, times } from './check.ts'
import { money } from './money.ts'
import { rights } from './rights.ts'
import type { Target } from './target.ts'
import { trust } from './trust.ts'
import { waits } from './waits.ts'

const nested = Array.from({ length: 14 }).reduce<object>(
  (items) => ({ type: 'array', minItems: 100, items }),
  { type: 'string' },
)
/** The built-in models, and other code that reads a caller's bytes. */
const work: readonly Check[] = [
  {
    name: 'a prompt of two megabytes of blanks',
    run: (it) => asked(it, chat, echo(' '.repeat(2_000_000)), 400),
    cpuMs: 1_500,
    memoryMb: 200,
  },
  {
    name: 'a schema that asks for 100^14 values',
    run: (it) =>
      asked(
        it,
        chat,
        echo('x', { response_format: { type: 'json_schema', json_schema: { name: 's', schema: nested } } }),
        400,
      ),
    cpuMs: 500,
    memoryMb: 100,
  },
  {
    name: '128 long answers at once',
    run: (it) => asked(it, chat, echo('word '.repeat(50_000), { n: 128 }), 400),
    cpuMs: 800,
    memoryMb: 150,
  },
  {
    name: 'the embeddings of very many texts',
    run: (it) =>
      asked(
        it,
        '/v1/embeddings',
        { model: 'local/hash-embed-1', input: times(2_048, () => 'x'), dimensions: 65_536 },
        400,
      ),
    cpuMs: 800,
    memoryMb: 150,
  },
  {
    name: 'the embedding of a very long text',
    run: (it) =>
      asked(it, '/v1/embeddings', { model: 'local/hash-embed-1', input: 'abcdefghij '.repeat(90_000) }, 200),
    cpuMs: 3_000,
    memoryMb: 250,
  },
  ...(['thoughts', 'many calls at once, answered in the opposite order'] as const).map(
    (name): Check => ({
      name: `20,000 ${name} by responses`,
      run: (it) =>
        asked(
          it,
          '/v1/responses',
          { model: 'local/echo-1', ...(hostileBodies.responses[name]?.(20_000) as object) },
          200,
          400,
        ),
      cpuMs: 2_500,
      memoryMb: 350,
    }),
  ),
  {
    name: 'JSON nested a million levels deep',
    run: (it) => asked(it, chat, `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`, 400),
    cpuMs: 1_500,
    memoryMb: 200,
  },
]

/** How long the server goes on with unread streams before we measure it. */
const STALLED_MS = 1_500

/** Attacks on memory and places: slow, large and many requests. */
const places: readonly Check[] = [
  {
    name: '300 bodies of 3 MB that never end',
    run: async (it) => {
      const half = Buffer.alloc(2_999_999, 32).toString()
      const head = `POST ${chat} HTTP/1.1\r\nHost: x\r\n${it.auth}Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n`
      // The few that fit are waited for; all others must have been refused by now.
      await heard(await Promise.all(times(300, () => it.hang(head + half))), 280)
      await asked(it, '/v1/models', undefined, 200)
    },
    cpuMs: 8_000,
    memoryMb: 250,
  },
  {
    name: '420 connections that say nothing',
    run: async (it) => {
      await heard(await Promise.all(times(420, () => it.hang('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'))), 420)
      await asked(it, '/v1/models', undefined, 200)
    },
    cpuMs: 2_500,
    memoryMb: 100,
  },
  {
    name: '100 streams that nobody reads',
    run: async (it) => {
      const body = JSON.stringify(echo('word '.repeat(15_000), { stream: true }))
      const head = `POST ${chat} HTTP/1.1\r\nHost: x\r\n${it.auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const sockets = await Promise.all(times(100, () => it.hang(head + body)))
      await heard(sockets, 100)
      for (const socket of sockets) socket.pause()
      await Bun.sleep(STALLED_MS)
      await asked(it, '/v1/models', undefined, 200)
    },
    cpuMs: 20_000,
    memoryMb: 400,
  },
  ...(['endless', 'bomb'] as const).map(
    (model): Check => ({
      name: `a vendor's ${model === 'bomb' ? '300 KB that unpack to 300 MB' : 'answer that never ends'}`,
      run: (it) => asked(it, chat, { ...echo('x'), model: `hostile/${model}` }, 429, 502, 503),
      cpuMs: 4_000,
      memoryMb: 300,
    }),
  ),
]

/** A request of these lines, and its expected status; the reply ends the connection. */
const wired = (name: string, status: number, lines: (it: Target) => string): Check => ({
  name,
  run: async (it) => {
    const reply = await it.raw(lines(it))
    must(statusOf(reply) === status, `answered ${reply.slice(0, 200)}`)
  },
  cpuMs: 500,
  memoryMb: 100,
})
const upgrade =
  'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

const wire: readonly Check[] = [
  wired('HTTP/1.0 without a Host', 200, ({ auth }) => `GET /v1/models HTTP/1.0\r\n${auth}\r\n`),
  wired(
    'an upgrade at /x/v1/stream',
    404,
    ({ auth }) => `GET /x/v1/stream HTTP/1.1\r\nHost: x\r\n${auth}Connection: close\r\n${upgrade}\r\n`,
  ),
  wired(
    'an upgrade at ?x=/v1/stream',
    404,
    ({ auth }) =>
      `GET /nothing?x=/v1/stream HTTP/1.1\r\nHost: x\r\n${auth}Connection: close\r\n${upgrade}\r\n`,
  ),
  {
    name: 'a Host that is none',
    run: async (it) => {
      const reply = await it.raw('GET /api/status HTTP/1.1\r\nHost: [::1\r\nConnection: close\r\n\r\n')
      must(statusOf(reply) < 500, `answered ${reply.slice(0, 200)}`)
    },
    cpuMs: 500,
    memoryMb: 100,
  },
  wired(
    'a body announced with a bad key',
    401,
    () =>
      `POST ${chat} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-${'x'.repeat(32)}\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\nExpect: 100-continue\r\n\r\n`,
  ),
  {
    name: 'the ledger is for its owner only',
    engine: 'SQLite',
    run: async (it) => {
      const mode = statSync(join(it.home, 'ledger', 'books.db')).mode & 0o777
      must(mode === 0o600, `its file has the mode ${mode.toString(8)}`)
      const folder = statSync(join(it.home, 'ledger')).mode & 0o777
      must(folder === 0o700, `its folder has the mode ${folder.toString(8)}`)
    },
    cpuMs: 500,
    memoryMb: 100,
  },
]

export const checks: readonly Check[] = [...work, ...places, ...wire, ...rights, ...money, ...trust, ...waits]
