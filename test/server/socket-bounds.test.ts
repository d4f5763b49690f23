/** What WebSockets and silent connections may take of a process: places, bytes and time, on a real port. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { listen } from '../../src/http/listen/listen.ts'
import { chat, completion, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'

let server: TestServer
let listening: ReturnType<typeof listen>

const answerShort = () =>
  server.answerWith(({ body }) =>
    body.stream === true ? streaming(streamEvents(['hello'])) : completion('hello'),
  )

beforeAll(async () => {
  server = await startTestServer({
    options: {
      socketsMax: 4,
      keySharePercent: 50,
      socketBytesMax: 60_000,
      socketIdleSeconds: 8,
      connectionSeconds: 4,
      bufferBytesMax: 1_000_000,
      readerMs: 2_000,
    },
  })
  answerShort()
  listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
})
afterAll(async () => {
  listening.stop()
  await server.stop()
})

/** A connection that sends what it is given and reads all, answering nothing. */
const wire = async (text = ''): Promise<{ socket: Socket; heard: () => string; closed: Promise<void> }> => {
  const socket = connect(listening.port, '127.0.0.1')
  let heard = ''
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1')
  })
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  await new Promise<void>((resolve) => socket.on('connect', () => resolve()))
  socket.write(text)
  return { socket, heard: () => heard, closed }
}

const upgrade = (token: string) =>
  [
    'GET /v1/stream HTTP/1.1',
    'Host: turnpike.test',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n')

/** The answer to an upgrade, by its first line and what came with it. */
const upgraded = async (token: string) => {
  const one = await wire(upgrade(token))
  while (!one.heard().includes('\r\n\r\n')) await Bun.sleep(5)
  return { ...one, status: Number(one.heard().split(' ')[1]) }
}

const open = async (token: string) => {
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/v1/stream`, {
    headers: { authorization: `Bearer ${token}` },
  } as never)
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code)
  })
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve()
    socket.onerror = () => reject(new Error('refused'))
  })
  const ask = (message: object) =>
    new Promise<string>((resolve) => {
      socket.onmessage = ({ data }) => {
        const { type, error } = JSON.parse(String(data))
        if (type !== 'chunk') resolve(error?.code ?? type)
      }
      socket.send(JSON.stringify(message))
    })
  return { socket, closed, ask }
}

const noneOpen = async () => {
  while (server.gateway.capacity.sockets.used() > 0) await Bun.sleep(5)
}

test('a key has its share of the sockets, all have no more than there are, and places come back', async () => {
  const [one, two, three] = await Promise.all([server.newKey(), server.newKey(), server.newKey()])
  const held = [await upgraded(one.token), await upgraded(one.token)]
  expect(held.map(({ status }) => status)).toEqual([101, 101])
  const more = await upgraded(one.token)
  expect([more.status, more.heard()]).toEqual([429, expect.stringMatching(/retry-after: 1\r\n/i)])
  held.push(await upgraded(two.token), await upgraded(two.token))
  const none = await upgraded(three.token)
  expect([none.status, none.heard()]).toEqual([503, expect.stringMatching(/retry-after: 2\r\n/i)])
  expect(await (await server.get('/api/status', '')).text()).toContain('limit of open sockets')
  for (const { socket } of [...held, more, none]) socket.destroy()
  await noneOpen()
  const again = await open(three.token)
  expect(await again.ask({ ...chat(), id: 1 })).toBe('done')
  again.socket.close()
  await noneOpen()
})

test('a message that is too long closes its socket, and one whose values take too much is refused', async () => {
  const { token } = await server.newKey()
  const { ask, closed } = await open(token)
  expect(await ask({ ...chat(), id: 1, unknown: Array.from({ length: 9_000 }, () => []) })).toBe(
    'rate_limit_exceeded',
  )
  while (server.gateway.capacity.bytes.used() > 0) await Bun.sleep(1)
  expect(await ask({ ...chat(), id: 2 })).toBe('done')
  void ask({ ...chat(), id: 3, unknown: 'x'.repeat(60_000) })
  // By 1009 (RFC 6455, 7.4.1), or without a code where the runtime sends none.
  expect([1009, 1006]).toContain(await closed)
  await noneOpen()
})

/** A text of a client, masked with zeros (RFC 6455, 5.2). */
const frameOf = (text: string): Buffer =>
  Buffer.concat([
    Buffer.from([0x81, 0xfe, text.length >> 8, text.length & 0xff, 0, 0, 0, 0]),
    Buffer.from(text),
  ])

/** Frames of nine million bytes, more than the runtime lets wait. */
const large = () => {
  const pad = `data: {"pad":"${'x'.repeat(9_000_000)}",`
  return streamEvents(['a', 'b', 'c', 'd', 'e']).map((event) => event.replace('data: {', pad))
}

test('a client that reads nothing is closed', async () => {
  server.answerWith(() => streaming(large()))
  const { socket } = await upgraded((await server.newKey()).token)
  socket.pause()
  socket.write(frameOf(JSON.stringify({ ...chat(), id: 1 })))
  while (server.asked.length === 0 || server.gateway.capacity.streams > 0) await Bun.sleep(5)
  await noneOpen()
  socket.destroy()
  answerShort()
})

test('a client that reads slowly gets every frame, however large and many they are', async () => {
  const events = large()
  const { socket } = await upgraded((await server.newKey()).token)
  server.answerWith(() => streaming(events))
  let tail = ''
  let chunks = 0
  socket.removeAllListeners('data').on('data', (bytes) => {
    const text = tail + bytes.toString('latin1')
    chunks += text.split('"type":"chunk"').length - tail.split('"type":"chunk"').length
    tail = text.slice(-20)
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  socket.write(frameOf(JSON.stringify({ ...chat(), id: 1 })))
  while (!tail.includes('"type":"done"') && !tail.includes('"canceled":true')) await Bun.sleep(5)
  expect(chunks).toBe(events.length - 1)
  socket.destroy()
  answerShort()
  await noneOpen()
})

test('a socket that answers no ping is closed, one that does stays, and a connection that says nothing ends', async () => {
  const [silent, alive] = await Promise.all([server.newKey(), server.newKey()])
  const deaf = await upgraded(silent.token)
  const hearing = await open(alive.token)
  const mute = await wire()
  await Promise.all([deaf.closed, mute.closed])
  // The client of the runtime has answered as many pings.
  expect(await hearing.ask({ ...chat(), id: 1 })).toBe('done')
  hearing.socket.close()
  await noneOpen()
})
