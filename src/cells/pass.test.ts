/** A request passes to a gateway of its cell and its answer back, byte for byte. */
import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { freePort } from '../../test/free-port.ts'
import '../../test/seed.ts'
import { pass } from './pass.ts'
import { Places } from './places.ts'

const servers: { stop(force: boolean): unknown }[] = []
afterAll(() => {
  for (const server of servers) server.stop(true)
})
const serve = (fetch: (request: Request) => Response | Promise<Response>): string => {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, maxRequestBodySize: 1e9, fetch })
  servers.push(server)
  return `http://127.0.0.1:${server.port}`
}
/** A server that passes all that it gets to these gateways. */
const passing = (...urls: string[]) => {
  const places = new Places(() => performance.now())
  const cell = {
    name: 'c1',
    host: undefined,
    console: undefined,
    addresses: urls.map((url) => ({ url, weight: 1 })),
  }
  const tried: string[] = []
  const url = serve((request) =>
    pass(request, { cell, places, peer: '192.0.2.7' }).catch((error) => {
      tried.push(error.code)
      return new Response(error.message, { status: error.status ?? 500, headers: error.headers })
    }),
  )
  return { url, tried, places }
}

test('bytes out are bytes in, however bodies are cut, both ways', async () => {
  const echo = serve((request) => new Response(request.body, { headers: { 'content-type': 'x/y' } }))
  const { url } = passing(echo)
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 70_000 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (cut, isWhole) => {
      const all = Buffer.concat(cut)
      const body = isWhole
        ? all
        : (async function* () {
            for (const piece of cut) {
              yield piece
              await Bun.sleep(0)
            }
          })()
      const answer = await fetch(url, { method: 'POST', body: body as never })
      expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), all)).toBe(0)
      expect(answer.headers.get('content-type')).toBe('x/y')
    }),
    { numRuns: 40 },
  )
})

test('address, method and headers arrive as they came, without those of the connection', async () => {
  let asked: unknown[] = []
  let headers: Record<string, string> = {}
  const { url } = passing(
    serve((request) => {
      asked = [request.method, request.url.slice(request.url.indexOf('/v1'))]
      headers = Object.fromEntries(request.headers)
      const back = new Headers({
        'x-a': '1',
        'content-encoding': 'gzip',
        connection: 'close, x-mine',
        'x-mine': '2',
      })
      back.append('set-cookie', 'a=1')
      back.append('set-cookie', 'b=2')
      return new Response(Bun.gzipSync('packed'), { status: 418, headers: back })
    }),
  )
  const answer = await fetch(`${url}/v1/x%2Fy?q=a%20b&key=k`, {
    method: 'PATCH',
    body: '{}',
    decompress: false,
    headers: {
      host: 'gate.example:99',
      connection: 'x-hop',
      'x-hop': '1',
      te: 'trailers',
      'proxy-authorization': 'no',
      'x-forwarded-for': '198.51.100.1',
      'x-turnpike-passed-by': 'c9',
      'x-mine': 'kept',
    },
  } as RequestInit)
  expect(asked).toEqual(['PATCH', '/v1/x%2Fy?q=a%20b&key=k'])
  expect(headers).toMatchObject({
    host: 'gate.example:99',
    'x-forwarded-for': '198.51.100.1, 192.0.2.7',
    'x-mine': 'kept',
    'content-length': '2',
  })
  for (const name of ['x-hop', 'te', 'proxy-authorization', 'x-turnpike-passed-by'])
    expect(headers[name]).toBeUndefined()
  expect(answer.status).toBe(418)
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(answer.headers.get('x-a')).toBe('1')
  expect(answer.headers.get('x-mine')).toBeNull()
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(Bun.gzipSync('packed')))
})

test('what an address refuses to take goes to the next one, whole; it rests meanwhile', async () => {
  const body = Buffer.alloc(20_000_000, 'ab')
  const lengths: number[] = []
  const alive = serve(async (request) => {
    lengths.push((await request.bytes()).length)
    return new Response('ok')
  })
  const dead = `http://127.0.0.1:${await freePort()}`
  const { url, places, tried } = passing(dead, alive)
  for (let call = 0; call < 4; call++)
    expect(await (await fetch(url, { method: 'POST', body })).text()).toBe('ok')
  expect(lengths).toEqual(Array.from({ length: 4 }, () => body.length))
  expect(tried).toEqual([])
  expect(places.at({ url: dead }).restsUntilMs).toBeGreaterThan(0)
})

test('a request that a gateway had is never sent again; a cell without a gateway is named at once', async () => {
  let taken = 0
  const dies = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket) => {
        taken++
        socket.terminate()
      },
    },
  })
  servers.push(dies)
  const alive = serve(() => new Response('ok'))
  const { url } = passing(`http://127.0.0.1:${dies.port}`, alive)
  const broken = await fetch(url, { method: 'POST', body: 'x' })
  expect([broken.status, taken]).toEqual([503, 1])
  expect(await broken.text()).toContain('may have been charged')
  const none = passing(`http://127.0.0.1:${await freePort()}`)
  const answer = await fetch(none.url)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('x-turnpike-cell')).toBe('c1')
  expect(answer.headers.get('retry-after')).toBe('2')
})

test('an answer that breaks off breaks off for the caller, and a caller that hangs up ends it at the gateway', async () => {
  const gone = Promise.withResolvers<void>()
  const { url } = passing(
    serve((request) => {
      request.signal.addEventListener('abort', () => gone.resolve())
      return new Response(
        (async function* () {
          yield 'first'
          await new Promise(() => undefined)
        })() as never,
      )
    }),
  )
  for (const sent of ['transfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n', 'content-length: 9\r\n\r\nfirst']) {
    const breaks = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data: (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${sent}`)
          setTimeout(() => socket.terminate(), 20)
        },
      },
    })
    servers.push(breaks)
    const broken = passing(`http://127.0.0.1:${breaks.port}`)
    await expect(fetch(broken.url).then((answer) => answer.text())).rejects.toThrow()
  }
  const leaving = new AbortController()
  const answer = await fetch(url, { signal: leaving.signal })
  const { value } = (await answer.body?.getReader().read()) ?? {}
  expect(new TextDecoder().decode(value)).toBe('first')
  leaving.abort()
  await gone.promise
})

test('calls alternate by weight, late gateways come last, resting ones get none', () => {
  let nowMs = 0
  const places = new Places(() => nowMs)
  const addresses = [
    { url: 'a', weight: 3 },
    { url: 'b', weight: 1 },
    { url: 'c', weight: 0 },
  ]
  const cell = { name: 'c1', host: undefined, console: undefined, addresses }
  const next = (calls: number) =>
    Array.from({ length: calls }, () => places.choose(cell)?.url ?? '-').join('')
  expect(next(8)).toBe('aabaaaba')
  places.at({ url: 'a' }).late = true
  expect(next(3)).toBe('bbb')
  places.rest(places.at({ url: 'b' }))
  expect(next(2)).toBe('aa')
  places.rest(places.at({ url: 'a' }))
  expect(next(1)).toBe('-')
  nowMs = 1_000
  places.at({ url: 'a' }).late = false
  expect(next(4)).toBe('aaba')
})
