/**
 * Shutting down, with real processes: reported to those who ask, bounded in time whatever hangs, and never by accident.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../free-port.ts'
import { fetchAgain } from '../late-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { startProgram } from '../program.ts'
import { BUSY_MS, until } from '../until.ts'

const DRAIN_SECONDS = 3
const root = resolve(import.meta.dir, '../..')

let home = ''
/** A vendor whose streams send one word and then nothing, until they are released. */
let vendor: ReturnType<typeof Bun.serve>
let goOn = Promise.withResolvers<void>()
const children: { kill(signal?: NodeJS.Signals): void }[] = []

const event = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`

async function* words(until: Promise<void>) {
  yield new TextEncoder().encode(event({ role: 'assistant', content: 'word ' }))
  await until
  yield new TextEncoder().encode(
    `${event({ content: 'end' })}${event({}, { finish_reason: 'stop' })}data: [DONE]\n\n`,
  )
}

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'turnpike-shutdown-'))
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: () =>
      new Response(words(goOn.promise) as never, { headers: { 'content-type': 'text/event-stream' } }),
  })
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }\n`,
  )
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  void vendor.stop(true)
  rmSync(home, { recursive: true })
})

let serial = 0
const start = async (more: Record<string, string> = {}, errors: 'pipe' | 'inherit' = 'inherit') => {
  const settings = {
    DATABASE_URL: `sqlite:${home}/${++serial}.db`,
    DRAIN_SECONDS: String(DRAIN_SECONDS),
    LOG: 'error',
    ...more,
  }
  const it = await startProgram(home, settings, errors)
  children.push(it.child)
  const at = new URL(it.address)
  /** A connection that says this and then nothing more. */
  const hang = (text: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(at.port), at.hostname, () => socket.write(text, () => resolve(socket)))
      socket.on('error', () => undefined)
    })
  const streamed = () =>
    fetchAgain(`${it.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${it.token}` },
      body: JSON.stringify({ model: 'mock/m', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    })
  return { ...it, hang, streamed, host: at.host }
}

const draining = async (address: string): Promise<Response> => {
  for (;;) {
    const ready = await fetch(`${address}/readyz`)
    if (ready.status === 503) return ready
    await ready.text()
    await Bun.sleep(5)
  }
}

test('it ends within DRAIN_SECONDS whatever hangs: half a head, half a body, idle connections, a stream, a socket', async () => {
  goOn = Promise.withResolvers()
  const { child, address, token, hang, streamed, host } = await start()
  await hang('')
  await hang(`POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\n`)
  for (const path of ['/v1/chat/completions', '/api/webhooks/stripe'])
    await hang(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"model"`,
    )
  await hang(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const response = await streamed()
  const reader = response.body?.getReader()
  await reader?.read()
  const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/stream`, {
    headers: { authorization: `Bearer ${token}` },
  } as never)
  await new Promise((open) => socket.addEventListener('open', open))
  socket.send(JSON.stringify({ id: 1, model: 'mock/m', messages: [{ role: 'user', content: 'Hi' }] }))
  await new Promise((message) => socket.addEventListener('message', message))
  const startedMs = performance.now()
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(performance.now() - startedMs).toBeLessThan(DRAIN_SECONDS * 1000 + BUSY_MS)
})

test('draining shows: in the status, in /readyz, in answers that end their connection, and on sockets', async () => {
  goOn = Promise.withResolvers()
  const { child, address, token, streamed } = await start({ DRAIN_SECONDS: '60' })
  await until(async () => (await fetch(`${address}/readyz`)).status === 200)
  const open = () => {
    const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/stream`, {
      headers: { authorization: `Bearer ${token}` },
    } as never)
    const frames: any[] = []
    socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(String(data))))
    const closed = new Promise<number>((done) => socket.addEventListener('close', ({ code }) => done(code)))
    return new Promise<{ socket: WebSocket; frames: any[]; closed: Promise<number> }>((done) =>
      socket.addEventListener('open', () => done({ socket, frames, closed })),
    )
  }
  const [idle, busy] = await Promise.all([open(), open()])
  busy.socket.send(JSON.stringify({ id: 1, model: 'mock/m', messages: [{ role: 'user', content: 'Hi' }] }))
  await until(() => busy.frames.length > 0, 5)
  const response = await streamed()
  child.kill('SIGTERM')
  const ready = await draining(address)
  expect(ready.headers.get('connection')).toBe('close')
  expect(await ready.json()).toMatchObject({ status: 'draining' })
  expect((await fetch(`${address}/livez`)).status).toBe(200)
  expect(await (await fetch(`${address}/api/status`)).json()).toMatchObject({ status: 'degraded' })
  expect(await idle.closed).toBe(1001)
  expect(idle.frames).toMatchObject([{ type: 'goaway' }])
  const refused = await streamed()
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('2')
  expect(refused.headers.get('connection')).toBe('close')
  // What was open goes on, to its own end.
  goOn.resolve()
  expect(await response.text()).toContain('[DONE]')
  expect(await busy.closed).toBe(1001)
  expect(busy.frames.map(({ type }) => type)).toContain('goaway')
  expect(busy.frames.at(-1)).toMatchObject({ id: 1, type: 'done' })
  expect(await child.exited).toBe(0)
})

test('a request that is no call of a model is answered too: an upload whose bytes still come', async () => {
  const { child, address, token, hang, host } = await start({ DRAIN_SECONDS: '60' })
  const [first, rest] = [
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n',
    'words\r\n--x--\r\n',
  ]
  const socket = await hang(
    `POST /v1/files HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: ${first.length + rest.length}\r\n\r\n${first}`,
  )
  let heard = ''
  socket.on('data', (piece) => {
    heard += piece
  })
  const closed = new Promise((done) => socket.on('close', done))
  // The upload came first; once this is answered, it has begun.
  expect((await fetch(`${address}/livez`)).status).toBe(200)
  child.kill('SIGTERM')
  await draining(address)
  socket.write(rest)
  await closed
  expect(heard).toStartWith('HTTP/1.1 200 OK')
  expect(await child.exited).toBe(0)
})

test('Ctrl-C that reaches it twice at once, as under npm start, leaves open calls their time; a later one ends it', async () => {
  goOn = Promise.withResolvers()
  const { child, address, streamed } = await start({ DRAIN_SECONDS: '600', LOG: 'info' }, 'pipe')
  const log = new Response(child.stderr as ReadableStream).text()
  const response = await streamed()
  // The terminal signals all its processes, and npm, or the parent of workers, passes the signal on. Two of a kind could
  // arrive as one.
  child.kill('SIGINT')
  child.kill('SIGTERM')
  await draining(address)
  goOn.resolve()
  expect(await response.text()).toContain('[DONE]')
  expect(await child.exited).toBe(0)
  expect(await log).not.toContain('a second signal: ending')

  goOn = Promise.withResolvers()
  const other = await start({ DRAIN_SECONDS: '600', LOG: 'info' }, 'pipe')
  const otherLog = new Response(other.child.stderr as ReadableStream).text()
  const open = await other.streamed()
  let ended = false
  void other.child.exited.then(() => {
    ended = true
  })
  await until(() => {
    other.child.kill('SIGINT')
    return ended
  })
  expect(await otherLog).toContain('a second signal: ending')
  // Nobody else keeps it, and an answer that nobody keeps is hung up: then the process may end by itself.
  expect(open.status).toBe(200)
})

test('a terminal that is closed does not end it', async () => {
  const { child, address } = await start()
  child.kill('SIGHUP')
  expect((await fetch(`${address}/livez`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('npm start hands signals on', async () => {
  const npm = Bun.spawn(['npm', 'start', '--silent'], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: `sqlite:${home}/npm.db`,
      TURNPIKE_CONFIG: join(home, 'turnpike.yaml'),
      DISCOVER: 'off',
      LOG: 'error',
      PORT: '0',
    } as Record<string, string>,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(npm)
  let address = ''
  for await (const piece of npm.stdout) {
    address ||= /listens on (\S+)/.exec(new TextDecoder().decode(piece))?.[1] ?? ''
    if (address !== '') break
  }
  npm.kill('SIGTERM')
  await npm.exited
  await until(async () => (await fetch(`${address}/livez`).catch(() => undefined)) === undefined)
})

test('workers end when their parent was killed', async () => {
  const database = await postgresForTests()
  try {
    const port = String(await freePort())
    const { child, address } = await start({ DATABASE_URL: database.url, WORKERS: '2', PORT: port })
    child.kill('SIGKILL')
    await child.exited
    await until(async () => (await fetch(`${address}/livez`).catch(() => undefined)) === undefined)
    expect(address).toBe(`http://127.0.0.1:${port}`)
  } finally {
    await database.stop()
  }
})

test('a worker that hangs is killed once the time to drain is over, and the others end as ever', async () => {
  const database = await postgresForTests()
  try {
    const port = String(await freePort())
    const { child } = await start({ DATABASE_URL: database.url, WORKERS: '2', PORT: port })
    const listed = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', String(child.pid)]).stdout.toString()
    const [worker] = listed.trim().split(/\s+/).map(Number)
    if (worker === undefined) throw new Error(`no worker of ${child.pid}`)
    process.kill(worker, 'SIGSTOP')
    const startedMs = performance.now()
    child.kill('SIGTERM')
    expect(await Promise.race([child.exited, Bun.sleep(DRAIN_SECONDS * 1000 + BUSY_MS)])).toBe(0)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(DRAIN_SECONDS * 1000)
    expect(() => process.kill(worker, 0)).toThrow()
  } finally {
    await database.stop()
  }
})
