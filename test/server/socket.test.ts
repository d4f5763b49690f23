/** WebSocket /v1/stream on a real port, with the runtime's own client. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listen } from '../../src/http/listen.ts'
import { chat, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'

type Frame = { id: unknown; type: string; chunk?: any; error?: any; canceled?: boolean }

let server: TestServer
let listening: ReturnType<typeof listen>
let token = ''

beforeAll(async () => {
  server = await startTestServer()
  listening = listen(server.gateway, { hostname: '127.0.0.1', port: 0, shared: false })
  token = (await server.newKey()).token
})
afterAll(async () => {
  await listening.stop(true)
  await server.stop()
})

const open = async (headers: Record<string, string> = { authorization: `Bearer ${token}` }) => {
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/v1/stream`, { headers } as never)
  const frames: Frame[] = []
  let wake: () => void = () => undefined
  socket.onmessage = ({ data }) => {
    frames.push(JSON.parse(String(data)))
    wake()
  }
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve()
    socket.onerror = () => reject(new Error('refused'))
  })
  const until = async (fits: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const found = frames.find(fits)
      if (found) return found
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { socket, frames, until, ask: (message: object) => socket.send(JSON.stringify(message)) }
}

const textFor = (frames: Frame[], id: unknown) =>
  frames
    .filter((frame) => frame.id === id && frame.type === 'chunk')
    .map((frame) => frame.chunk.choices[0]?.delta.content ?? '')
    .join('')

test('a request is answered in chunks and ends with its usage and cost', async () => {
  server.answerWith(() => streaming(streamEvents(['Hel', 'lo'])))
  const before = await server.balance()
  const { frames, until, ask, socket } = await open()
  ask({ ...chat(), id: 'a' })
  await until((frame) => frame.type === 'done')
  expect(textFor(frames, 'a')).toBe('Hello')
  const usage = frames.find((frame) => frame.chunk?.usage)?.chunk.usage
  expect(usage.cost).toBe(0.00006)
  expect(before - (await server.balance())).toBe(60_000n)
  socket.close()
})

test('several requests at once keep apart', async () => {
  server.answerWith(({ body }) => streaming(streamEvents([`to ${(body.messages as any)[0].content}`])))
  const { frames, until, ask, socket } = await open()
  for (const id of [1, 2, 3]) ask({ ...chat({ messages: [{ role: 'user', content: `n${id}` }] }), id })
  for (const id of [1, 2, 3]) await until((frame) => frame.id === id && frame.type === 'done')
  expect([1, 2, 3].map((id) => textFor(frames, id))).toEqual(['to n1', 'to n2', 'to n3'])
  socket.close()
})

test('cancel stops one request, which is charged for what was delivered', async () => {
  server.answerWith(() => streaming(streamEvents(['partly']).slice(0, 2), 'hang'))
  const before = await server.balance()
  const { until, ask, socket } = await open()
  ask({ ...chat(), id: 'long' })
  await until((frame) => frame.type === 'chunk' && frame.chunk.choices[0]?.delta.content === 'partly')
  ask({ type: 'cancel', id: 'long' })
  expect(await until((frame) => frame.type === 'done')).toMatchObject({ id: 'long', canceled: true })
  while (server.gateway.book.health().openCalls > 0) await Bun.sleep(5)
  expect(before - (await server.balance())).toBeGreaterThan(0n)
  socket.close()
})

test('a closed socket stops what runs on it', async () => {
  let stopped = false
  server.answerWith(({ signal }) => {
    signal?.addEventListener('abort', () => {
      stopped = true
    })
    return streaming(streamEvents(['x']).slice(0, 2), 'hang')
  })
  const { until, ask, socket } = await open()
  ask({ ...chat(), id: 1 })
  await until((frame) => frame.type === 'chunk')
  socket.close()
  while (!stopped || server.gateway.book.health().openCalls > 0) await Bun.sleep(5)
})

test('bad messages get an error frame and the socket lives on', async () => {
  server.answerWith(() => streaming(streamEvents(['ok'])))
  const { until, ask, socket } = await open()
  socket.send('not json')
  expect((await until((frame) => frame.type === 'error')).error.code).toBe('invalid_json')
  ask({ id: 'm', model: 'mock/none', messages: [{ role: 'user', content: 'x' }] })
  expect((await until((frame) => frame.id === 'm')).error.code).toBe('model_not_found')
  ask({ ...chat(), id: 'n' })
  await until((frame) => frame.id === 'n' && frame.type === 'done')
  socket.close()
})

test('without a valid key there is no socket', async () => {
  for (const headers of [{}, { authorization: 'Bearer sk-unknownunknownunknown' }])
    expect(open(headers as Record<string, string>)).rejects.toThrow('refused')
  const response = await fetch(`http://127.0.0.1:${listening.port}/v1/stream`, {
    headers: {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'sec-websocket-version': '13',
    },
  })
  expect([response.status, ((await response.json()) as any).error.code]).toEqual([
    401,
    'missing_authorization',
  ])
})

test('a browser sends its key as a protocol', async () => {
  server.answerWith(() => streaming(streamEvents(['hi'])))
  const { frames, until, ask, socket } = await open({ 'sec-websocket-protocol': `turnpike.key.${token}` })
  ask({ ...chat(), id: 1 })
  await until((frame) => frame.type === 'done')
  expect(textFor(frames, 1)).toBe('hi')
  socket.close()
})

test('the socket of a revoked key is closed with what runs on it, wherever the key was revoked; that of a capped one is not', async () => {
  const cases = {
    'disabled through this server': (id: string) =>
      server.gateway.book.changeKey(id, { disabledReason: 'operator', byCreator: true }),
    'disabled through the ledger': (id: string) =>
      server.store.changeKey(id, { disabledReason: 'self', byCreator: false }),
    'deleted through the ledger': (id: string) => server.store.deleteKey(id),
  }
  const { id: capped, token: cappedToken } = await server.newKey()
  const stays = await open({ authorization: `Bearer ${cappedToken}` })
  await server.gateway.book.changeKey(capped, { disabledReason: 'spend_cap', byCreator: true })
  for (const [name, revoke] of Object.entries(cases)) {
    const key = await server.newKey()
    const { socket, ask, until } = await open({ authorization: `Bearer ${key.token}` })
    server.answerWith(() => streaming(streamEvents(['x']).slice(0, 2), 'hang'))
    ask({ ...chat(), id: 'runs' })
    await until((frame) => frame.type === 'chunk')
    const closed = new Promise<[number, string]>((resolve) => {
      socket.onclose = ({ code, reason }) => resolve([code, reason])
    })
    await revoke(key.id)
    expect([name, await closed]).toEqual([name, [1008, 'key_disabled']])
    while (server.openCalls() > 0) await Bun.sleep(1)
  }
  expect(stays.socket.readyState).toBe(WebSocket.OPEN)
  stays.socket.close()
})
