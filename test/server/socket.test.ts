/** WebSocket /v1/stream on a real port, with the runtime's own client. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listen } from '../../src/http/listen/listen.ts'
import { byTest } from '../by-test.ts'
import { chat, startTestServer, streamEvents, streaming, type TestServer, USD } from './harness.ts'

type Frame = { id: unknown; type: string; chunk?: any; error?: any; canceled?: boolean }

let server: TestServer
let listening: ReturnType<typeof listen>
let token = ''

beforeAll(async () => {
  server = await startTestServer()
  listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  token = (await server.newKey({}, { canManage: true })).token
})
afterAll(async () => {
  listening.stop()
  await server.stop()
})

const open = async (headers: Record<string, string> = { authorization: `Bearer ${token}` }) => {
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/v1/stream`, { headers } as never)
  const frames: Frame[] = []
  let wake: () => void = () => undefined
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason })
  })
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
  return { socket, frames, until, closed, ask: (message: object) => socket.send(JSON.stringify(message)) }
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

test('what a vendor sends between its chunks and is no object makes no frame', async () => {
  server.answerWith(() => streaming(['data: nonsense\n\n', 'data: [1]\n\n', ...streamEvents(['ok'])]))
  const { frames, until, ask, socket } = await open()
  ask({ ...chat(), id: 'odd' })
  await until((frame) => frame.type === 'done')
  expect(textFor(frames, 'odd')).toBe('ok')
  expect(frames.filter(({ type, chunk }) => type === 'chunk' && !Array.isArray(chunk?.choices))).toEqual([])
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

/** Opens a socket with more headers beside the key. */
const openWith = (headers: Record<string, string>, own = token) =>
  open({ authorization: `Bearer ${own}`, ...headers })
const ended = (frame: Frame) => frame.type !== 'chunk'
/** Members and headers of ours; no vendor sees them. */
const ours = /max_cost|sub_wallet|payment_protocol|idempotency|x-sub-wallet|x-max-cost|x-payment/

for (const via of ['header', 'member'] as const) {
  /** The same setting by the upgrade's header, or by the message's member. */
  const wishes = async (header: string, member: string, value: string, own = token) => {
    const it = await openWith(via === 'header' ? { [header]: value } : {}, own)
    const ask = (message: object) => it.ask({ ...message, ...(via === 'member' ? { [member]: value } : {}) })
    return { ...it, ask }
  }

  test(`a ceiling by ${via} bounds each message and is not forwarded`, async () => {
    server.answerWith(() => streaming(streamEvents(['ok'])))
    const { until, ask, socket } = await wishes('x-max-cost-usd', 'max_cost_usd', '0.0002')
    const asked = server.asked.length
    ask({ ...chat({ max_tokens: 5_000 }), id: 1 })
    expect(await until((frame) => frame.id === 1 && ended(frame))).toMatchObject({
      type: 'error',
      error: { code: 'max_cost_exceeded', limit: 'max_cost' },
    })
    expect(server.asked.length).toBe(asked)
    ask({ ...chat(), id: 2 })
    expect(await until((frame) => frame.id === 2 && ended(frame))).toMatchObject({ type: 'done' })
    expect(Number(server.asked.at(-1)?.body.max_tokens)).toBeLessThan(20)
    socket.close()
  })

  test(`a sub-wallet by ${via} is charged and is not forwarded`, async () => {
    server.answerWith(() => streaming(streamEvents(['ok'])))
    const made = await (await server.send('POST', '/api/wallet/sub-wallets', { budget_usd: 2 }, token)).json()
    const { id } = made as { id: string }
    const { until, ask, socket } = await wishes('x-sub-wallet', 'sub_wallet', id)
    ask({ ...chat(), id: 1 })
    expect(await until(ended)).toMatchObject({ type: 'done' })
    const shown = await (await server.get(`/api/wallet/sub-wallets/${id}`, token)).json()
    expect(shown).toMatchObject({ spent_usd: 0.00006 })
    const { text, headers } = server.asked.at(-1) ?? { text: '', headers: new Headers() }
    expect(`${text} ${JSON.stringify(headers)}`).not.toMatch(ours)
    socket.close()
  })

  test(`a payment mode by ${via} decides what is charged and is not forwarded`, async () => {
    server.answerWith(() => streaming(streamEvents(['ok'])))
    await server.store.credit.grantCredit({ walletId: server.wallet, limit: USD, netDays: 14 }, byTest)
    const before = await server.balance()
    const owed = async () => (await server.store.credit.creditLine(server.wallet))?.owed ?? 0n
    const owedBefore = await owed()
    const { until, ask, socket } = await wishes('x-payment-protocol', 'payment_protocol', 'mpp')
    ask({ ...chat(), id: 1 })
    expect(await until(ended)).toMatchObject({ type: 'done' })
    expect([before - (await server.balance()), (await owed()) - owedBefore]).toEqual([0n, 60_000n])
    expect(server.asked.at(-1)?.text).not.toMatch(ours)
    socket.close()
  })

  test(`an idempotency key by ${via} runs a message once, and refuses another under it`, async () => {
    server.answerWith(() => streaming(streamEvents(['once'])))
    const key = `once-${via}-${crypto.randomUUID()}`
    const { frames, until, ask, socket } = await wishes('idempotency-key', 'idempotency_key', key)
    const [asked, before] = [server.asked.length, await server.balance()]
    for (const id of [1, 2]) {
      ask({ ...chat(), id })
      await until((frame) => frame.id === id && ended(frame))
      expect(textFor(frames, id)).toBe('once')
    }
    expect([server.asked.length - asked, before - (await server.balance())]).toEqual([1, 60_000n])
    expect(server.asked.at(-1)?.text).not.toMatch(ours)
    ask({ ...chat({ max_tokens: 9 }), id: 3 })
    expect(await until((frame) => frame.id === 3 && ended(frame))).toMatchObject({
      error: { code: 'idempotency_key_reused' },
    })
    socket.close()
  })
}

test('a member takes the place of the header, and null takes it away', async () => {
  server.answerWith(() => streaming(streamEvents(['ok'])))
  const { until, ask, socket } = await openWith({
    'x-max-cost-usd': '0.0002',
    'idempotency-key': 'of-the-socket',
  })
  const asked = server.asked.length
  ask({ ...chat({ max_tokens: 500 }), id: 1, max_cost_usd: 1, idempotency_key: null })
  expect(await until((frame) => frame.id === 1 && ended(frame))).toMatchObject({ type: 'done' })
  ask({ ...chat({ max_tokens: 500 }), id: 2, max_cost_usd: null, idempotency_key: null })
  expect(await until((frame) => frame.id === 2 && ended(frame))).toMatchObject({ type: 'done' })
  expect(server.asked.length - asked).toBe(2)
  socket.close()
})

test('a member of another type, or one that cannot be honoured, is an error of its message', async () => {
  const { until, ask, socket } = await openWith({})
  const asked = server.asked.length
  const wrong: [object, string, string | undefined][] = [
    [{ max_cost_usd: true }, 'invalid_parameter', 'max_cost_usd'],
    [{ max_cost_usd: -1 }, 'invalid_parameter', 'max_cost_usd'],
    [{ max_cost_usd: '0.0000000001' }, 'invalid_parameter', 'max_cost_usd'],
    [{ sub_wallet: 5 }, 'invalid_parameter', 'sub_wallet'],
    [{ sub_wallet: 'sub_nobody' }, 'not_found', undefined],
    [{ sub_wallet: 'not printable \u0001' }, 'not_found', undefined],
    [{ idempotency_key: ['x'] }, 'invalid_parameter', 'idempotency_key'],
    [{ idempotency_key: '' }, 'invalid_parameter', 'idempotency_key'],
    [{ payment_protocol: 'cash' }, 'invalid_parameter', 'payment_protocol'],
    [{ payment_protocol: 1 }, 'invalid_parameter', 'payment_protocol'],
    [{ payment_protocol: 'x402' }, 'payment_mode_unavailable', undefined],
  ]
  for (const [index, [members, code, param]] of wrong.entries()) {
    ask({ ...chat(), ...members, id: index })
    const frame = await until((one) => one.id === index)
    expect([index, frame.error?.code, frame.error?.param]).toEqual([index, code, param])
  }
  expect(server.asked.length).toBe(asked)
  socket.close()
})

test('an upgrade whose headers cannot be honoured is closed with a named error', async () => {
  const wrong: [Record<string, string>, string][] = [
    [{ 'x-max-cost-usd': 'much' }, 'invalid_parameter'],
    [{ 'x-max-cost-usd': '1, 2' }, 'invalid_parameter'],
    [{ 'x-sub-wallet': 'sub_nobody' }, 'not_found'],
    [{ 'x-payment-protocol': 'cash' }, 'invalid_parameter'],
    [{ 'x-payment-protocol': 'x402' }, 'payment_mode_unavailable'],
    [{ 'payment-signature': 'e30=' }, 'payment_mode_unavailable'],
    [{ 'x-payment': 'e30=' }, 'payment_mode_unavailable'],
    [{ 'idempotency-key': 'x'.repeat(300) }, 'invalid_parameter'],
  ]
  for (const [headers, code] of wrong) {
    const { frames, closed } = await openWith(headers)
    expect([headers, await closed]).toEqual([headers, { code: 1008, reason: code }])
    expect(frames[0]).toMatchObject({ id: null, type: 'error', error: { code } })
    expect(frames[0]?.error.request_id).toMatch(/^[0-9a-f-]{13}[0-9a-z]{12}$/)
  }
})

test('without an upgrade the address is 426 and says what to upgrade to; other methods are 405', async () => {
  const address = `http://127.0.0.1:${listening.port}/v1/stream`
  const plain = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
  expect([plain.status, plain.headers.get('upgrade'), ((await plain.json()) as any).error.code]).toEqual([
    426,
    'websocket',
    'upgrade_required',
  ])
  expect((await fetch(address, { method: 'POST' })).status).toBe(405)
})

test('the socket of a revoked key is closed with what runs on it, wherever the key was revoked; that of a capped one is not', async () => {
  const cases = {
    'disabled through this server': (id: string) =>
      server.gateway.book.changeKey(id, { disabledReason: 'operator', byCreator: true }, byTest),
    'disabled through the ledger': (id: string) =>
      server.store.keys.changeKey(id, { disabledReason: 'self', byCreator: false }, byTest),
    'deleted through the ledger': (id: string) => server.store.keys.deleteKey(id, false, byTest),
  }
  const { id: capped, token: cappedToken } = await server.newKey()
  const stays = await open({ authorization: `Bearer ${cappedToken}` })
  await server.gateway.book.changeKey(capped, { disabledReason: 'spend_cap', byCreator: true }, byTest)
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
