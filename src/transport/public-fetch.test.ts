/**
 * Results are fetched from public servers only, whatever redirects and names say, within bounds that apply while they
 * are read.
 */
import { afterAll, expect, test } from 'bun:test'
import type { PublicParts } from './public-address.ts'
import { FetchFault, fetchPublic, type PublicFetch } from './public-fetch.ts'

type Seen = { readonly url: string; readonly host: string | undefined; readonly headers: Headers }
const seen: Seen[] = []
let closed = 0

/** The Internet of these tests: one server, whatever address is connected to. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: (request) => {
    const { pathname, search } = new URL(request.url)
    const to = decodeURIComponent(search.slice(1))
    if (pathname === '/to') return new Response(null, { status: 302, headers: { location: to } })
    if (pathname === '/loop')
      return new Response(null, { status: 307, headers: { location: `/loop?${Number(to) + 1}` } })
    if (pathname === '/lost') return new Response(null, { status: 302, headers: { location: 'https://' } })
    if (pathname === '/gone') return new Response('gone', { status: 410 })
    if (pathname === '/gzip')
      return new Response(Bun.gzipSync(new Uint8Array(1_000_000)), {
        headers: { 'content-encoding': 'gzip' },
      })
    if (pathname === '/long') return new Response(new Uint8Array(5_000))
    if (pathname === '/endless') return new Response(endless())
    if (pathname === '/silent') return new Response(silent())
    return new Response('a result')
  },
})
afterAll(() => server.stop(true))

const endless = () =>
  new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      closed++
    },
  })

const silent = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) })

const names: Record<string, readonly string[]> = {
  'cdn.example.com': ['1.1.1.1'],
  'two.example.com': ['2606:4700::1111', '1.1.1.1'],
  'api.vendor.com': ['1.1.1.2'],
  'inside.example.com': ['10.0.0.5'],
  'half.example.com': ['1.1.1.1', '127.0.0.1'],
}

const parts = (resolve = async (host: string) => names[host] ?? []): PublicParts => ({
  resolve,
  fetch: (url, { tls, ...init }) => {
    const host = tls !== undefined && 'serverName' in tls ? tls.serverName : undefined
    seen.push({ url, host, headers: new Headers(init.headers as Record<string, string>) })
    const to = new URL(url)
    return fetch(`http://127.0.0.1:${server.port}${to.pathname}${to.search}`, init)
  },
})

const ask = async (url: string, more: Partial<PublicFetch> = {}, on = parts()): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  const it = { url, bytesMax: 1_000, idleMs: 5_000, totalMs: 60_000, ...more }
  for await (const piece of fetchPublic(on, it)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const fault = async (fetching: Promise<unknown>): Promise<FetchFault> => {
  const error = await fetching.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof FetchFault) return error
  throw new Error(`no FetchFault but ${error}`)
}

const to = (path: string, location = '') =>
  `https://cdn.example.com${path}${location === '' ? '' : `?${encodeURIComponent(location)}`}`

test('the connection goes to the checked address, for the certificate of the name, and asks for plain bytes', async () => {
  seen.length = 0
  expect((await ask(to('/a?b=1'))).toString()).toBe('a result')
  await ask('https://two.example.com/a')
  expect(seen.map(({ url, host }) => [url, host])).toEqual([
    ['https://1.1.1.1/a?b=1', 'cdn.example.com'],
    ['https://[2606:4700::1111]/a', 'two.example.com'],
  ])
  expect(seen[0]?.headers.get('host')).toBe('cdn.example.com')
  expect(seen[0]?.headers.get('accept-encoding')).toBe('identity')
})

test.each([
  'http://cdn.example.com/a',
  'file:///etc/passwd',
  'ftp://cdn.example.com/a',
  'data:text/plain,hello',
  'https://cdn.example.com:8443/a',
  'https://me:you@cdn.example.com/a',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://169.254.169.254/latest/meta-data/',
  'https://metadata.google.internal/',
  'https://localhost/',
  'https://printer/',
  'https://inside.example.com/',
  'https://half.example.com/',
  'https://nowhere.example.com/',
  'https://a b/',
])('%s is not asked, neither first nor behind a redirect', async (url) => {
  seen.length = 0
  expect((await fault(ask(url))).kind).toBe('refused')
  expect(seen).toEqual([])
  expect((await fault(ask(to('/to', url)))).kind).toBe('refused')
  expect(seen).toHaveLength(1)
})

test('a redirect is followed three times, a fourth one is not', async () => {
  const twice = to('/to', to('/to', to('/a')))
  expect((await ask(to('/to', twice))).toString()).toBe('a result')
  expect((await fault(ask(to('/to', to('/to', twice))))).message).toContain('redirects more than 3 times')
  expect((await fault(ask(to('/loop', '0')))).message).toContain('redirects more than 3 times')
  expect((await fault(ask(to('/lost')))).kind).toBe('refused')
})

test('a name that changes its address between two requests is checked each time', async () => {
  let requests = 0
  const changing = parts(async () => (++requests === 1 ? ['1.1.1.1'] : ['127.0.0.1']))
  seen.length = 0
  expect((await fault(ask(to('/to', to('/a')), {}, changing))).kind).toBe('refused')
  expect(seen).toHaveLength(1)
})

test("the vendor's key goes to the hosts that are named, and to no other", async () => {
  const credential = { headers: { authorization: 'Bearer secret' }, hosts: ['api.vendor.com'] }
  seen.length = 0
  const viaVendor = `https://api.vendor.com/to?${encodeURIComponent('https://cdn.example.com/a')}`
  await ask(viaVendor, { credential })
  await ask(to('/to', 'https://api.vendor.com/a'), { credential })
  expect(seen.map(({ host, headers }) => [host, headers.get('authorization')])).toEqual([
    ['api.vendor.com', 'Bearer secret'],
    ['cdn.example.com', null],
    ['cdn.example.com', null],
    ['api.vendor.com', 'Bearer secret'],
  ])
})

test('a result is bounded by what it declares and by what is read', async () => {
  expect((await fault(ask(to('/long')))).kind).toBe('too large')
  expect((await ask(to('/long'), { bytesMax: 5_000 })).length).toBe(5_000)
  expect((await fault(ask(to('/endless'), { bytesMax: 1_000_000 }))).kind).toBe('too large')
  while (closed === 0) await Bun.sleep(5)
})

test('a reader that stops early ends the connection', async () => {
  const before = closed
  const it = { url: to('/endless'), bytesMax: 1e12, idleMs: 5_000, totalMs: 60_000 }
  for await (const piece of fetchPublic(parts(), it)) if (piece.length > 0) break
  while (closed === before) await Bun.sleep(5)
})

test('what comes compressed is not unpacked', async () => {
  expect((await fault(ask(to('/gzip'), { bytesMax: 1e9 }))).message).toContain('compressed')
})

test('silence and slowness end', async () => {
  expect((await fault(ask(to('/silent'), { idleMs: 50 }))).message).toContain('nothing came')
  const slow = { bytesMax: 1e15, totalMs: 100 }
  expect((await fault(ask(to('/endless'), slow))).message).toContain('more than')
  const unresolved = parts(() => new Promise<string[]>(() => undefined))
  expect((await fault(ask(to('/a'), { idleMs: 50 }, unresolved))).kind).toBe('failed')
})

test('an answer that is no result gives its status', async () => {
  expect(await fault(ask(to('/gone')))).toMatchObject({ kind: 'failed', status: 410 })
})

test.each(['content-length: 100\r\n\r\nonly this', 'transfer-encoding: chunked\r\n\r\n9\r\nonly this\r\n'])(
  'a result that is cut is no result: %j',
  async (answer) => {
    const cut = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data: (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${answer}`)
          socket.end()
        },
      },
    })
    const on: PublicParts = {
      resolve: async () => ['1.1.1.1'],
      fetch: (_url, { tls: _, ...init }) => fetch(`http://127.0.0.1:${cut.port}/`, init),
    }
    expect((await fault(ask(to('/a'), {}, on))).kind).toBe('failed')
    cut.stop(true)
  },
)
