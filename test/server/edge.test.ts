/** The edge of a listener: TLS from files that are renewed under open streams, callers with certificates, allowed addresses. */
import { expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { readTls } from '../../src/cli/config/tls-files.ts'
import { watchTls } from '../../src/cli/serve/watch-tls.ts'
import { readBlock } from '../../src/core/address.ts'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { listenForMetrics } from '../../src/http/listen/listen-metrics.ts'
import { newAuthority } from '../certificates.ts'
import { freePort } from '../free-port.ts'
import { beginProgram, runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'
import { startTestServer } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-edge-'))
const here = { hostname: '127.0.0.1', port: 0, shared: false }
const blocks = (...texts: string[]) => texts.flatMap((text) => readBlock(text) ?? [])

const serialAt = (port: number, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.end()
    })
    socket.on('error', reject)
  })

test('a renewed certificate is shown to new connections, and a stream that is open goes on', async () => {
  const server = await startTestServer()
  const authority = newAuthority('house')
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const write = (one: { pem: string; key: string }) => {
    writeFileSync(files.cert, one.pem)
    writeFileSync(files.key, one.key)
  }
  write(authority.signFor('localhost'))
  const tls = readTls(files)
  if (tls === undefined) throw new Error('no certificate')
  const listening = listen({ gateway: server.gateway }, { ...here, tls })
  const sleep = async () => void (await Bun.sleep(5))
  const stop = watchTls(tls, {
    ...{ clock: { ...systemClock, sleep }, log: silentLog, renew: listening.renew },
    read: () => readTls(files),
  })
  let go: () => void = () => undefined
  const goes = new Promise<void>((resolve) => {
    go = resolve
  })
  const { token } = await server.newKey()
  server.answerWith(
    () =>
      new Response(
        new ReadableStream({
          async start(stream) {
            const event = (text: string) => stream.enqueue(new TextEncoder().encode(`data: ${text}\n\n`))
            event(
              '{"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"content":"one"}}]}',
            )
            await goes
            event(
              '{"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[{"index":0,"delta":{"content":" two"},"finish_reason":"stop"}]}',
            )
            event('[DONE]')
            stream.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  const before = await serialAt(listening.port, authority.pem)
  const stream = await fetch(`https://localhost:${listening.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/small', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
    tls: { ca: authority.pem },
  })
  const reader = stream.body?.getReader()
  const first = new TextDecoder().decode((await reader?.read())?.value)
  expect(first).toContain('one')
  // Between the two writes certificate and key do not belong together, and nothing is taken.
  write(authority.signFor('localhost'))
  // One that is about to be opened in that moment may be reset: the kernel had given it to the listener of before.
  const shown = () => serialAt(listening.port, authority.pem).catch(() => before)
  await until(async () => (await shown()) !== before, 1_000)
  go()
  let rest = ''
  for (let more = await reader?.read(); more?.done === false; more = await reader?.read())
    rest += new TextDecoder().decode(more.value)
  expect(rest).toContain(' two')
  expect(rest).toContain('[DONE]')
  stop()
  listening.stop()
  await server.stop()
})

test('with an authority of callers only its certificates connect', async () => {
  const server = await startTestServer()
  const [house, callers] = [newAuthority('house'), newAuthority('callers')]
  const { pem, key } = house.signFor('localhost')
  const tls = { cert: pem, key, clientCa: callers.pem }
  const listening = listen({ gateway: server.gateway }, { ...here, tls })
  const ask = (one?: { pem: string; key: string }) =>
    fetch(`https://localhost:${listening.port}/livez`, {
      tls: { ca: house.pem, ...(one === undefined ? {} : { cert: one.pem, key: one.key }) },
    }).then(
      ({ status }) => status,
      () => 'refused',
    )
  expect(await ask(callers.signFor('one'))).toBe(200)
  expect(await ask(newAuthority('others').signFor('one'))).toBe('refused')
  expect(await ask()).toBe('refused')
  listening.stop()
  await server.stop()
})

test('only allowed addresses are answered, at each port', async () => {
  const server = await startTestServer()
  for (const [allowed, status] of [
    [blocks('10.0.0.0/8', '127.0.0.0/8'), 200],
    [blocks('10.0.0.0/8'), 403],
  ] as const) {
    const listening = listen({ gateway: server.gateway }, { ...here, allowed })
    expect((await fetch(`http://127.0.0.1:${listening.port}/livez`)).status).toBe(status)
    listening.stop()
    const port = await freePort()
    const metrics = listenForMetrics({ gateway: server.gateway }, { ...here, port, allowed })
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(status === 200 ? 404 : 403)
    metrics()
  }
  await server.stop()
})

test('the program speaks HTTPS with those files, and commands that ask it do so', async () => {
  const [home, authority] = [mkdtempSync(join(tmpdir(), 'turnpike-edge-home-')), newAuthority('house')]
  const { pem, key } = authority.signFor('localhost')
  const files = { TLS_CERT: join(home, 'cert.pem'), TLS_KEY: join(home, 'key.pem') }
  writeFileSync(files.TLS_CERT, pem)
  writeFileSync(files.TLS_KEY, key)
  const settings = { DATABASE_URL: 'sqlite:./data/ledger.db', LISTEN_ADDRESSES: '127.0.0.1', ...files }
  const { child, address } = await startProgram(home, settings)
  const { protocol, port } = new URL(address)
  expect(protocol).toBe('https:')
  const livez = await fetch(`https://localhost:${port}/livez`, { tls: { ca: authority.pem } })
  expect(livez.status).toBe(200)
  const ready = await runProgram(home, { ...settings, PORT: port }, 'ready')
  expect(ready).toEqual({ code: 0, out: 'ready\n', errors: '' })
  // The certificate is for another name than the address of this machine; an address that is given is checked.
  for (const command of [
    ['config', 'status'],
    ['config', 'apply', '--dry-run'],
    ['top', '--once', '--every', '0.1'],
  ]) {
    const told = await runProgram(home, { ...settings, PORT: port }, ...command)
    expect([command.join(' '), told.code, told.errors]).toEqual([command.join(' '), 0, ''])
  }
  const metrics = await runProgram(home, { ...settings, METRICS: '[::1]:9' }, 'top', '--once')
  expect(metrics.errors).toContain('no server answers at http://[::1]:9: ')
  const elsewhere = await runProgram(
    home,
    { ...settings, PORT: port },
    'config',
    'status',
    '--address',
    address,
  )
  expect([elsewhere.code, elsewhere.errors]).toEqual([1, expect.stringContaining('certificate')])
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('files that do not fit are refused by name', () => {
  const [one, two] = [newAuthority('a').signFor('x'), newAuthority('a').signFor('x')]
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const [cert, key, other] = [at('c', one.pem), at('k', one.key), at('o', two.key)]
  expect(readTls({})).toBeUndefined()
  expect(readTls({ cert, key })).toEqual({ cert: one.pem, key: one.key })
  expect(() => readTls({ cert })).toThrow('TLS_CERT and TLS_KEY go together')
  expect(() => readTls({ cert, key: other })).toThrow('TLS_KEY is not the key of the certificate')
  expect(() => readTls({ cert, key: join(folder, 'none') })).toThrow('TLS_KEY names')
  expect(() => readTls({ cert, key: at('text', 'nonsense') })).toThrow('is no PEM of its kind')
})

/** The router of a folder's cells, on a port. */
const startRouter = async (settings: Readonly<Record<string, string>>) => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-edge-router-'))
  writeFileSync(join(home, 'cells.yaml'), "first: c1\ncells: { c1: { addresses: ['http://127.0.0.1:9'] } }\n")
  const child = beginProgram(home, { CELLS: 'cells.yaml', LOG: 'off', ...settings }, 'route')
  const { value } = await (child.stdout as ReadableStream<Uint8Array>).getReader().read()
  const address = /routes at (\S+)/.exec(new TextDecoder().decode(value))?.[1]
  if (address === undefined) throw new Error('the router did not start')
  return { child, address }
}

test('the router takes a renewed certificate too, and ends with all of its listeners', async () => {
  const authority = newAuthority('house')
  const files = { TLS_CERT: join(folder, 'router.pem'), TLS_KEY: join(folder, 'router.key') }
  const write = ({ pem, key }: { pem: string; key: string }) => {
    writeFileSync(files.TLS_CERT, pem)
    writeFileSync(files.TLS_KEY, key)
  }
  write(authority.signFor('localhost'))
  const { child, address } = await startRouter(files)
  const port = Number(new URL(address).port)
  const first = await serialAt(port, authority.pem)
  write(authority.signFor('localhost'))
  await until(async () => (await serialAt(port, authority.pem)) !== first)
  const livez = await fetch(`https://localhost:${port}/livez`, { tls: { ca: authority.pem } })
  expect(livez.status).toBe(200)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('only the addresses of METRICS_ADDRESSES read the figures of the router', async () => {
  for (const [allowed, status] of [
    ['127.0.0.0/8', 200],
    ['10.0.0.0/8', 403],
  ] as const) {
    const port = await freePort()
    const { child } = await startRouter({ METRICS: String(port), METRICS_ADDRESSES: allowed })
    const figures = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect([allowed, figures.status]).toEqual([allowed, status])
    expect((await figures.text()).includes('turnpike_router_gateways_ready{cell="c1"}')).toBe(status === 200)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  }
})
