/** The router on a port, before gateways that only count: the directory changes while calls run, and readers are slow. */
import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { until } from '../../../test/until.ts'
import { readDirectory } from '../../cells/directory.ts'
import { Places } from '../../cells/places.ts'
import { listenAsRouter } from './listen-router.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const gateway = (answer: () => Response | Promise<Response>) => {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: answer })
  stops.push(() => server.stop(true))
  return `http://127.0.0.1:${server.port}`
}
const routing = (text: string) => {
  let now = readDirectory(text, 'cells.yaml')
  const router = listenAsRouter(
    { directory: { now: () => now }, places: new Places(() => performance.now()) },
    {
      ...{ hostname: '127.0.0.1', port: 0, tls: undefined, allowed: [], trusted: [] },
      ...{ connectionSeconds: 60, socketBytesMax: 1e6, socketIdleSeconds: 60 },
    },
  )
  stops.push(() => router.drain(0))
  const change = (changed: string) => {
    now = readDirectory(changed, 'cells.yaml')
  }
  return { port: router.port, url: `http://127.0.0.1:${router.port}`, change }
}

test('no call is lost or doubled while the directory changes', async () => {
  let taken = 0
  const slow = async () => {
    taken++
    await Bun.sleep(2)
    return new Response('ok')
  }
  const gateways = [gateway(slow), gateway(slow), gateway(slow)]
  const of = (urls: readonly string[]) =>
    `first: c1\ncells: { c1: { addresses: [${urls.map((url) => `'${url}'`).join(', ')}] } }`
  const router = routing(of(gateways))
  let running = true
  const change = async () => {
    for (let turn = 0; running; turn++) {
      router.change(of(gateways.filter((_, at) => at !== turn % 3)))
      await Bun.sleep(1)
    }
  }
  const changing = change()
  const caller = async () => {
    for (let call = 0; call < 50; call++)
      expect((await fetch(router.url, { method: 'POST', body: 'x' })).status).toBe(200)
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  running = false
  await changing
  expect(taken).toBe(400)
})

test('a reader that stops makes the gateway wait, and the router keeps no more than a few buffers', async () => {
  const piece = new Uint8Array(65_536)
  let sent = 0
  let ended = false
  const url = gateway(
    () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent += piece.length
            controller.enqueue(piece)
          },
          cancel: () => {
            ended = true
          },
        }),
      ),
  )
  const { port } = routing(`first: c1\ncells: { c1: { addresses: ['${url}'] } }`)
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
  socket.pause()
  let before = -1
  await until(async () => {
    const still = sent > 0 && sent === before
    before = sent
    await Bun.sleep(100)
    return still
  })
  expect(sent).toBeLessThan(64_000_000)
  socket.destroy()
  await until(async () => ended)
})

test('a socket whose reader stops is closed, and has missed nothing of what came before', async () => {
  const sent = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response(null, { status: 400 })),
    websocket: {
      backpressureLimit: 1e9,
      open: (socket) => {
        for (let at = 0; at < 60; at++) socket.send(`<${at}>${'x'.repeat(1_000_000)}`)
      },
      message: () => undefined,
      close: () => sent.resolve(),
    },
  })
  stops.push(() => server.stop(true))
  const { port } = routing(`first: c1\ncells: { c1: { addresses: ['http://127.0.0.1:${server.port}'] } }`)
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const head = ['GET / HTTP/1.1', 'Host: x', ...upgrade, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
  const socket = connect(port, '127.0.0.1', () => socket.write(`${head.join('\r\n')}\r\n\r\n`))
  socket.pause()
  // The router has given up a reader that kept it waiting.
  await sent.promise
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.resume()
  await closed
  const got = [...text.matchAll(/<(\d+)>/g)].map(([, at]) => Number(at))
  expect(got).toEqual(got.map((_number, at) => at))
  expect(text).toContain('The socket was not read.')
})
