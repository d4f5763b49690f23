/** Deadlines of an exchange, including a vendor whose body ignores the signal. */
import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { newAuthority } from '../../test/certificates.ts'
import { until } from '../../test/until.ts'
import { exchange } from './exchange.ts'
import { VendorFault } from './vendor-fault.ts'

const silentAfter = (pieces: readonly string[]) => {
  const left = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = left.shift()
      if (piece === undefined) return new Promise(() => undefined)
      controller.enqueue(new TextEncoder().encode(piece))
      return undefined
    },
  })
  return exchange({
    fetch: async () => new Response(body),
    url: 'http://vendor.invalid',
    headers: {},
    body: new Uint8Array(),
    timeouts: { firstByteMs: 30, idleMs: 30, totalMs: 1_000 },
  })
}

const stageOf = async (work: Promise<unknown>): Promise<string> => {
  const fault = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return fault instanceof VendorFault ? fault.stage : 'none'
}

test('silence before the first piece and between pieces is a fault, not an end', async () => {
  expect(await stageOf((await silentAfter([])).next())).toBe('first byte')
  const begun = await silentAfter(['a'])
  expect(new TextDecoder().decode(await begun.next())).toBe('a')
  expect(await stageOf(begun.next())).toBe('body')
})

test('an answer that stays incomplete is a fault', async () => {
  expect(await stageOf((await silentAfter(['{"half":'])).all())).toBe('body')
})

test('a vendor that never got the request bills nothing; one that broke off after it may', async () => {
  const closing = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.destroy())
  })
  closing.listen(0, '127.0.0.1')
  await once(closing, 'listening')
  const { port } = closing.address() as AddressInfo
  const ask = (url: string) =>
    exchange({
      fetch,
      url,
      headers: {},
      body: new Uint8Array(1),
      timeouts: { firstByteMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
    }).catch((fault: VendorFault) => [fault.stage, fault.mayBill])
  expect(await ask(`http://127.0.0.1:${port}`)).toEqual(['connect', true])
  const ended = once(closing, 'close')
  closing.close()
  await ended
  expect(await ask(`http://127.0.0.1:${port}`)).toEqual(['connect', false])
  expect(await ask('http://vendor.invalid')).toEqual(['connect', false])
})

test('neither a certificate of an unknown authority nor a proxy that opens no tunnel lets a request through', async () => {
  const { pem: cert, key } = newAuthority('nobody').signFor('localhost')
  let asked = 0
  const stranger = Bun.serve({
    port: 0,
    tls: { cert, key },
    fetch: () => {
      asked++
      return new Response()
    },
  })
  const closed = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n') },
  })
  const ask = (url: string, proxy?: string) =>
    exchange({
      fetch: (to, init) => fetch(to, { ...init, ...(proxy === undefined ? {} : { proxy }) }),
      url,
      headers: {},
      body: new Uint8Array(1),
      timeouts: { firstByteMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
    }).catch((fault: VendorFault) => [fault.stage, fault.mayBill])
  expect(await ask(`https://localhost:${stranger.port}`)).toEqual(['connect', false])
  expect(asked).toBe(0)
  expect(await ask('https://vendor.invalid', `http://127.0.0.1:${closed.port}`)).toEqual(['connect', false])
  await stranger.stop(true)
  closed.stop(true)
})

/** A vendor on a plain socket that ends its body some milliseconds after the last event, in a packet of its own. */
const vendorThatEndsLate = async (endsAfterMs: number) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const event = 'data: [DONE]\n\n'
  let connections = 0
  let closed = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined)
    socket.on('close', () => closed++)
    socket.on('data', () => {
      socket.write(`${head}${event.length.toString(16)}\r\n${event}\r\n`)
      setTimeout(() => socket.write('0\r\n\r\n'), endsAfterMs)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask = () =>
    exchange({
      fetch,
      url: `http://127.0.0.1:${port}`,
      headers: {},
      body: new Uint8Array(),
      timeouts: { firstByteMs: 1_000, idleMs: 1_000, totalMs: 5_000 },
    })
  return { ask, connections: () => connections, closed: () => closed, stop: () => server.close() }
}

test('a stream that said all leaves its connection to the next call, though its end comes late', async () => {
  const vendor = await vendorThatEndsLate(5)
  for (let calls = 0; calls < 3; calls++) {
    const stream = await vendor.ask()
    expect(new TextDecoder().decode(await stream.next())).toContain('[DONE]')
    stream.leave()
    expect(await stream.next()).toBeUndefined()
  }
  expect(vendor.connections()).toBe(1)
  vendor.stop()
})

test('a stream that said all and does not end is closed', async () => {
  const vendor = await vendorThatEndsLate(60_000)
  const stream = await vendor.ask()
  await stream.next()
  stream.leave()
  await until(() => vendor.closed() > 0)
  expect(vendor.closed()).toBe(1)
  vendor.stop()
})

test('an answer of declared length whose body ignores the signal is given up all the same', async () => {
  const body = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) })
  const open = await exchange({
    fetch: async () => new Response(body, { headers: { 'content-length': '10' } }),
    url: 'http://vendor.invalid',
    headers: {},
    body: new Uint8Array(),
    timeouts: { firstByteMs: 30, idleMs: 30, totalMs: 1_000 },
  })
  expect(await stageOf(open.all())).toBe('body')
})

test('a large answer of declared length may come slowly, as long as its pieces come', async () => {
  const [piece, pieces] = ['x'.repeat(100_000), 20]
  const slow = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', async () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${piece.length * pieces}\r\n\r\n`)
      for (let sent = 0; sent < pieces; sent++) {
        await Bun.sleep(100)
        socket.write(piece)
      }
    })
  })
  slow.listen(0, '127.0.0.1')
  await once(slow, 'listening')
  const open = await exchange({
    fetch,
    url: `http://127.0.0.1:${(slow.address() as AddressInfo).port}`,
    headers: {},
    body: new Uint8Array(1),
    timeouts: { firstByteMs: 1_000, idleMs: 1_000, totalMs: 60_000 },
  })
  expect((await open.all()).length).toBe(piece.length * pieces)
  slow.close()
})
