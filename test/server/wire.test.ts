/** The wire itself, on a real port: odd request lines, hosts, bodies past the limit, and connections that pipeline. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { listen } from '../../src/http/listen/listen.ts'
import { chat, completion, startTestServer, type TestServer } from './harness.ts'

const LIMIT = 100_000

let server: TestServer
let listening: ReturnType<typeof listen>
let token = ''
const lines: Record<string, unknown>[] = []

beforeAll(async () => {
  server = await startTestServer({ options: { bodyBytesMax: LIMIT } })
  const log = { ...server.gateway.log, call: (fields: Record<string, unknown>) => void lines.push(fields) }
  listening = listen(
    { gateway: { ...server.gateway, log } },
    { hostname: '127.0.0.1', port: 0, shared: false },
  )
  token = (await server.newKey()).token
  server.answerWith(() => completion('x'))
})
afterAll(async () => {
  await listening.stop()
  await server.stop()
})

type Reply = { status: number; headers: Headers; body: string }

/** Sends bytes and reads until the connection ends; the request asks for that end. */
const raw = (pieces: readonly (string | Uint8Array)[]): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(listening.port ?? 0, '127.0.0.1')
    let got = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      got += text
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(got))
    for (const piece of pieces) socket.write(piece)
  })

const replies = (text: string): Reply[] =>
  text
    .split(/(?=HTTP\/1\.1 \d{3})/)
    .filter((one) => one !== '')
    .map((one) => {
      const [head = '', body = ''] = one.split('\r\n\r\n')
      const [line = '', ...rest] = head.split('\r\n')
      const headers = new Headers(
        rest.map((each): [string, string] => [
          each.split(':')[0] ?? '',
          each.slice(each.indexOf(':') + 1).trim(),
        ]),
      )
      return { status: Number(line.split(' ')[1]), headers, body }
    })

const ask = async (head: readonly string[], body: string | Uint8Array = ''): Promise<Reply> => {
  const got = replies(await raw([`${head.join('\r\n')}\r\n\r\n`, body])).filter(
    ({ status }) => status !== 100,
  )
  expect(got.length).toBe(1)
  return got[0] as Reply
}
const codeOf = ({ body }: Reply): string => JSON.parse(body).error.code

const post = (path: string, more: readonly string[]) => [
  `POST ${path} HTTP/1.1`,
  'Host: turnpike.test',
  `Authorization: Bearer ${token}`,
  'Content-Type: application/json',
  ...more,
]

test('HTTP/1.0 without a Host finds its address like any other', async () => {
  const auth = `Authorization: Bearer ${token}`
  expect((await ask(['GET /api/status HTTP/1.0'])).status).toBe(200)
  expect((await ask(['GET /v1/models HTTP/1.0', auth])).status).toBe(200)
  expect((await ask(['GET /v1/usage?from=2026-01-01 HTTP/1.0', auth])).status).toBe(200)
  expect((await ask(['GET /v1/nothing?to=x://y/v1/models HTTP/1.0', auth])).status).toBe(404)
  const body = JSON.stringify(chat())
  const sent = post('/v1/chat/completions', [`Content-Length: ${body.length}`])
    .filter((line) => !line.startsWith('Host'))
    .map((line) => line.replace('HTTP/1.1', 'HTTP/1.0'))
  expect((await ask(sent, body)).status).toBe(200)
})

test('a Host that is none is a 400 that names it, whatever the address', async () => {
  for (const host of [
    '[::1',
    '[::1]x',
    'a b',
    'x/y',
    'x@y',
    'x:99999',
    '999.999.999.999',
    'x\\y',
    'a,b',
    '%zz',
  ])
    for (const path of ['/api/status', '/v1/models', '/v1/stream', '/api/try/anonymous-wallet']) {
      const method = path.startsWith('/api/try') ? 'POST' : 'GET'
      const reply = await ask([
        `${method} ${path} HTTP/1.1`,
        `Host: ${host}`,
        'Connection: close',
        'Content-Length: 0',
      ])
      expect([host, path, reply.status, JSON.parse(reply.body).error.param]).toEqual([
        host,
        path,
        400,
        'host',
      ])
    }
  for (const host of ['turnpike.test', '[::1]:80', '127.0.0.1:8080', 'a-b.c', 'localhost'])
    expect([
      host,
      (await ask(['GET /api/status HTTP/1.1', `Host: ${host}`, 'Connection: close'])).status,
    ]).toEqual([host, 200])
})

test('only its own address becomes a socket', async () => {
  const upgrade = [
    'Host: turnpike.test',
    `Authorization: Bearer ${token}`,
    'Connection: Upgrade, close',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]
  for (const [path, status] of [
    ['/x/v1/stream', 404],
    ['/?x=/v1/stream', 200],
    ['/v1/stream/x', 404],
    ['/v1/streams', 404],
    ['//v1/stream', 400],
  ] as const) {
    const reply = await ask([`GET ${path} HTTP/1.1`, ...upgrade])
    expect([path, reply.status]).toEqual([path, status])
  }
})

test('a body past the limit, declared or not, is a 413 of our own with an id and a line of log', async () => {
  const close = 'Connection: close'
  const answerTo = async (path: string, bytes: number) =>
    ask(post(path, [`Content-Length: ${bytes}`, close]), new Uint8Array(bytes).fill(32))
  const untold = async (path: string, bytes: number) => {
    const chunk = `${(1_000).toString(16)}\r\n${' '.repeat(1_000)}\r\n`
    const body = `${chunk.repeat(bytes / 1_000)}0\r\n\r\n`
    return ask(post(path, ['Transfer-Encoding: chunked', close]), body)
  }
  for (const send of [answerTo, untold])
    for (const over of [1_000, 2_000, 1_000_000]) {
      lines.length = 0
      const reply = await send('/v1/chat/completions', LIMIT + over)
      const { error } = JSON.parse(reply.body)
      expect([over, reply.status, error.code]).toEqual([over, 413, 'request_too_large'])
      expect(error.message).toContain(`${LIMIT} bytes`)
      expect(reply.headers.get('x-request-id')).toBe(error.request_id)
      expect(lines).toMatchObject([{ call: error.request_id, status: 413, ended: 'request_too_large' }])
    }
  const messages = await answerTo('/v1/messages', LIMIT + 5_000)
  expect(JSON.parse(messages.body)).toMatchObject({ type: 'error', error: { type: 'request_too_large' } })
  const gemini = await untold('/v1beta/models/small:generateContent', LIMIT + 5_000)
  expect(JSON.parse(gemini.body).error).toMatchObject({ code: 413, status: 'INVALID_ARGUMENT' })
  expect((await answerTo('/v1/chat/completions', LIMIT - 100)).status).toBe(400)
  expect((await untold('/v1/chat/completions', LIMIT - 1_000)).status).toBe(400)
})

test('what is past the limit is not kept in memory', async () => {
  const bytes = 64 * 1024 * 1024
  const before = process.memoryUsage().rss
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 2)
  const piece = new Uint8Array(1024 * 1024).fill(32)
  const head = post('/v1/chat/completions', [`Content-Length: ${bytes}`, 'Connection: close']).join('\r\n')
  const replied = await new Promise<string>((resolve) => {
    const socket = connect(listening.port ?? 0, '127.0.0.1')
    let got = ''
    let sent = 0
    socket.on('data', (data) => {
      got += data.toString()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(got))
    const more = (): void => {
      while (sent < bytes) {
        sent += piece.length
        if (!socket.write(piece)) return void socket.once('drain', more)
      }
    }
    socket.write(`${head}\r\n\r\n`)
    more()
  })
  clearInterval(watch)
  expect(replied).toStartWith('HTTP/1.1 413')
  expect(most - before).toBeLessThan(bytes / 2)
})

test('a client that waits for permission to send its body is refused at once, and the connection ends', async () => {
  const head = post('/v1/chat/completions', ['Expect: 100-continue', 'Content-Length: 500']).map((line) =>
    line.startsWith('Authorization') ? 'Authorization: Bearer sk-wrongwrongwrongwrong' : line,
  )
  const reply = await ask(head)
  expect([reply.status, codeOf(reply), reply.headers.get('connection')]).toEqual([
    401,
    'invalid_api_key',
    'close',
  ])
})

test('requests sent ahead on one connection are answered in order, or the connection ends and no money stays held', async () => {
  const status = 'GET /v1/nothing HTTP/1.1\r\nHost: turnpike.test\r\n\r\n'
  const last = 'GET /api/status HTTP/1.1\r\nHost: turnpike.test\r\nConnection: close\r\n\r\n'
  const inOrder = replies(await raw([status + last])).map((reply) => reply.status)
  expect([[404, 200], [404], []]).toContainEqual(inOrder)
  const body = JSON.stringify(chat())
  const call = `${post('/v1/chat/completions', [`Content-Length: ${body.length}`]).join('\r\n')}\r\n\r\n${body}`
  const before = await server.balance()
  const asked = server.asked.length
  await raw([call + call + last])
  while (server.openCalls() > 0) await Bun.sleep(5)
  const spent = before - (await server.balance())
  expect(spent).toBeLessThanOrEqual(60_000n * BigInt(server.asked.length - asked))
})

test('many payments in one request, or one that is huge, are refused, and the next request is served', async () => {
  const junk = Buffer.from(JSON.stringify({ challenge: {}, payload: {} })).toString('base64url')
  const asked = server.asked.length
  for (const lines of [
    Array(50).fill(`authorization: Payment ${junk}`),
    Array(50).fill(`payment-signature: ${junk}`),
    [`authorization: Payment ${'A'.repeat(200_000)}`],
    [`payment-signature: ${'A'.repeat(200_000)}`, `x-payment: ${'A'.repeat(200_000)}`],
  ]) {
    const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: a', 'Connection: close', 'Content-Length: 2']
    const [reply] = replies(await raw([`${[...head, ...lines].join('\r\n')}\r\n\r\n{}`]))
    expect([400, 401, 402, 431]).toContain(reply?.status ?? 0)
  }
  expect(server.asked.length).toBe(asked)
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`http://127.0.0.1:${listening.port}/v1/models`, { headers })).status).toBe(200)
})
