/**
 * Turns of a client's socket that go over a socket of the vendor (VENDOR_SOCKETS): the vendor hears only what is new, the
 * client gets what it gets over HTTP, and each turn is charged as one call. The vendor is a strict one on a real port.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { systemClock } from '../../src/core/time.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { callItem, messageItem } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { mockVendor, startTestServer, streamEvents, streaming, testModel } from './harness.ts'
import { openResponses } from './responses-socket.ts'
import { forgotten, startSocketVendor, type VendorTurn } from './socket-vendor.ts'

const user = (content: string) => ({ type: 'message', role: 'user', content })
const model = 'real/word'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

type Setup = Parameters<typeof startTestServer>[0] & { readonly keys?: readonly string[] }

/** A server whose clients reach the vendor; at the end the books balance and the vendor saw nothing wrong. */
const start = async ({ keys = ['key-a'], options, ...setup }: Setup = {}) => {
  const vendor = startSocketVendor()
  ends.push(vendor.stop)
  const server = await startTestServer({
    models: [testModel('word', { id: model, vendor: 'real' })],
    more: [
      {
        vendor: { ...mockVendor, id: 'real', speaks: 'responses', socket: { minutes: 60 } },
        baseUrl: vendor.baseUrl,
        secrets: keys.map((key) => new Secret(key)),
      },
    ],
    options: { vendorSockets: 10, ...options },
    ...setup,
  })
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  ends.push(async () => {
    listening.stop()
    await until(() => server.gateway.memory.vendorSockets.size === 0)
    await until(() => server.gateway.capacity.bytes.used() === 0)
    const broken = await brokenLaws(server.store)
    await server.stop()
    expect([broken, vendor.wrong]).toEqual([[], []])
  })
  const { token } = await server.newKey()
  const open = async (headers: Readonly<Record<string, string>> = {}) => {
    const it = await openResponses({ base: `127.0.0.1:${listening.port}/v1`, token }, headers)
    ends.push(() => it.socket.close())
    const turn = (more: object) => it.turn({ model, store: false, ...more })
    return { ...it, turn, ask: (more: object) => it.send({ type: 'response.create', model, ...more }) }
  }
  return { server, vendor, token, open, sockets: server.gateway.memory.vendorSockets }
}

/** The last words that the vendor was told, and how many items it got for that. */
const told = ({ heard, message }: VendorTurn) => [
  heard.map(({ content }: any) => (typeof content === 'string' ? content : content?.[0]?.text)),
  message.input.length,
]
const lastOf = <T>(all: readonly T[]): T => all.at(-1) as T
const nanoOf = (events: readonly any[]): number =>
  events.reduce((sum, { response }) => sum + Math.round((response?.usage?.cost ?? 0) * 1e9), 0)

describe.each(serverEngines)('on $name', ({ fresh }) => {
  test('the vendor hears what is new, the client sees what it sees over HTTP, charges are the ledger', async () => {
    const played = async (vendorSockets: number | undefined) => {
      const database = await fresh()
      ends.push(database.stop)
      const it = await start({ url: database.url, options: { vendorSockets } })
      const { turn, events } = await it.open()
      const before = await it.server.balance()
      const first = await turn({ input: 'one', instructions: 'Be short.' })
      const second = await turn({ input: [user('two')], previous_response_id: first.response.id })
      await turn({ input: [user('three')], previous_response_id: second.response.id })
      await until(async () => Number(before - (await it.server.balance())) === nanoOf(events))
      expect(nanoOf(events)).toBe(180_000)
      return { ...it, events }
    }
    const http = await played(undefined)
    const socket = await played(10)
    expect([http.vendor.posts.length, http.vendor.upgrades()]).toEqual([3, 0])
    expect([socket.vendor.posts.length, socket.vendor.upgrades()]).toEqual([0, 1])
    const plain = ({ headers: _of, response: one, ...event }: any) => {
      const { receipt: _own, ...rest } = one ?? {}
      return { ...event, response: rest }
    }
    expect(socket.events.map(plain)).toEqual(http.events.map(plain))
    const { turns } = socket.vendor
    expect(turns.map(told)).toEqual([
      [['one'], 3],
      [['one', 'word 1', 'two'], 1],
      [['one', 'word 1', 'two', 'word 2', 'three'], 1],
    ])
    expect(turns.map(({ message }) => message.previous_response_id)).toEqual([undefined, 'resp_1', 'resp_2'])
    expect(turns[0]?.message.instructions).toBe('Be short.')
    expect(turns.map(({ key }) => key)).toEqual(['Bearer key-a', 'Bearer key-a', 'Bearer key-a'])
  })

  test('an answer that breaks off in the middle is charged once, as over HTTP', async () => {
    const played = async (vendorSockets: number | undefined) => {
      const database = await fresh()
      ends.push(database.stop)
      const it = await start({ url: database.url, options: { vendorSockets } })
      const { server, vendor } = it
      const { turn, end } = await it.open()
      const first = await turn({ input: 'one' })
      const before = await server.balance()
      vendor.cutPosts(5)
      vendor.behaveAs((one) => {
        for (const event of one.events.slice(0, 5)) one.send(event)
        one.close(1011)
      })
      const more = { input: 'two', previous_response_id: first.response.id }
      expect([(await turn(more)).type, (await end()).type]).toEqual(['error', 'response.failed'])
      await until(() => server.openCalls() === 0)
      return { ...it, turn, more, before, charged: before - (await server.balance()) }
    }
    const [http, socket] = [await played(undefined), await played(10)]
    expect([http.charged > 0n, socket.charged]).toEqual([true, http.charged])
    const { vendor, server, turn, more, before } = socket
    expect([vendor.turns.length, vendor.posts.length]).toEqual([2, 0])
    vendor.behaveAs((one) => one.answer())
    await turn(more)
    const { socket: number, message } = lastOf(vendor.turns)
    expect([number, message.input.length]).toEqual([2, 3])
    expect(before - (await server.balance())).toBe(http.charged + 60_000n)
  })
})

test('a client that sends all again is heard in part, unless it changes what was said', async () => {
  const { vendor, open } = await start()
  const { turn } = await open()
  const first = await turn({ input: [user('one')] })
  await turn({ input: [user('one'), ...first.response.output, user('two')] })
  const second = lastOf(vendor.turns)
  expect([told(second), second.message.previous_response_id]).toEqual([
    [['one', 'word 1', 'two'], 1],
    'resp_1',
  ])
  const words = told(second)[0].map(String)
  const changed = [...second.heard, messageItem('word 2', 'msg_2'), user('three')]
  await turn({ input: [user('ONE'), ...changed.slice(1)] })
  const third = lastOf(vendor.turns)
  expect(told(third)).toEqual([['ONE', ...words.slice(1), 'word 2', 'three'], 5])
  expect([third.message.previous_response_id, vendor.upgrades()]).toEqual([undefined, 1])
})

test('results of tools go alone; an incomplete answer is not continued at the vendor', async () => {
  const { vendor, open } = await start()
  const { turn } = await open()
  vendor.behaveAs((one) => {
    const { response } = lastOf(one.events)
    one.send(one.events[0])
    one.send({ type: 'response.output_item.added', output_index: 0, item: callItem('look', '') })
    one.send({
      type: 'response.completed',
      response: { ...response, output: [callItem('look', '{}', 'call_7')] },
    })
  })
  const first = await turn({ input: 'one' })
  const result = { type: 'function_call_output', call_id: 'call_7', output: 'dry' }
  vendor.behaveAs((one) => {
    for (const event of one.events.slice(0, -1)) one.send(event)
    const { response } = lastOf(one.events)
    one.send({ type: 'response.incomplete', response: { ...response, status: 'incomplete' } })
  })
  const second = await turn({ input: [result], previous_response_id: first.response.id })
  expect([second.type, lastOf(vendor.turns).message.input]).toEqual(['response.incomplete', [result]])
  vendor.behaveAs((one) => one.answer())
  await turn({ input: 'three', previous_response_id: second.response.id })
  expect(lastOf(vendor.turns).message.input.length).toBe(5)
  expect([vendor.upgrades(), vendor.posts.length]).toEqual([1, 0])
})

test('lanes have sockets of their own, and a fork begins with the whole conversation', async () => {
  const { vendor, open } = await start()
  const { ask, end, turn } = await open()
  const waiting: VendorTurn[] = []
  vendor.behaveAs((one) => waiting.push(one))
  for (const input of ['a1', 'a2', 'b1']) ask({ stream_id: input[0], input })
  await until(() => waiting.length === 2, 2)
  vendor.behaveAs((one) => one.answer())
  for (const one of waiting) one.answer()
  const all = [await end(), await end(), await end()]
  expect(vendor.upgrades()).toBe(2)
  const b1 = all.find(({ stream_id }) => stream_id === 'b')
  await turn({ stream_id: 'c', input: 'fork', previous_response_id: b1.response.id })
  expect([vendor.upgrades(), lastOf(vendor.turns).message.input.length]).toEqual([3, 3])
  const word = b1.response.output[0].content[0].text
  expect(told(lastOf(vendor.turns))[0]).toEqual(['b1', word, 'fork'])
})

test('a socket is replaced before it is too old, and when the vendor wants that or has forgotten', async () => {
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const { vendor, open } = await start({ clock })
  const { turn } = await open()
  const first = await turn({ input: 'one' })
  laterMs = 59 * 60_000
  // The ledger's heartbeat saw the clock jump, so the first answers may be that it is late.
  let second: any
  await until(async () => {
    second = await turn({ input: 'two', previous_response_id: first.response.id })
    return second.type === 'response.completed'
  })
  expect([lastOf(vendor.turns).socket, lastOf(vendor.turns).message.input.length]).toEqual([2, 3])
  const limit = { type: 'invalid_request_error', code: 'websocket_connection_limit_reached', message: 'Old.' }
  const refusals = [{ type: 'error', status: 400, error: limit }, forgotten('resp_2')]
  let before = second
  for (const [at, refusal] of refusals.entries()) {
    vendor.behaveAs((one) => {
      vendor.behaveAs((again) => again.answer())
      one.send(refusal)
    })
    const next = await turn({ input: 'more', previous_response_id: before.response.id })
    expect(next.type).toBe('response.completed')
    const { socket, message } = lastOf(vendor.turns)
    expect([socket, message.previous_response_id, message.input.length]).toEqual([
      3 + at,
      undefined,
      5 + 2 * at,
    ])
    before = next
  }
  expect(vendor.posts).toEqual([])
})

test('a refused upgrade means HTTP, for this turn and for a while', async () => {
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const { vendor, open, server } = await start({ clock })
  vendor.refuseUpgrades()
  const { turn } = await open()
  const before = await server.balance()
  const first = await turn({ input: 'one' })
  const second = await turn({ input: 'two', previous_response_id: first.response.id })
  expect([first.type, second.type]).toEqual(['response.completed', 'response.completed'])
  expect([vendor.upgrades(), vendor.posts.map(({ input }) => input.length)]).toEqual([1, [3, 3]])
  expect(Number(before - (await server.balance()))).toBe(120_000)
  laterMs = 61_000
  await until(async () => (await turn({ input: 'again' })).type === 'response.completed')
  expect(vendor.upgrades()).toBe(2)
})

test('a socket that closes before the answer begins: the turn goes over HTTP once, and is charged once', async () => {
  const { vendor, open, server } = await start()
  const { turn, events } = await open()
  const first = await turn({ input: 'one' })
  vendor.behaveAs((one) => one.close(1001))
  const second = await turn({ input: 'two', previous_response_id: first.response.id })
  expect([second.type, vendor.posts.length, vendor.posts[0].input.length]).toEqual([
    'response.completed',
    1,
    3,
  ])
  expect(vendor.posts[0]).toMatchObject({ stream: true, store: false })
  expect(vendor.posts[0].previous_response_id).toBeUndefined()
  await until(() => server.openCalls() === 0)
  expect(nanoOf(events)).toBe(120_000)
  expect(100_000_000_000 - Number(await server.balance())).toBe(120_000)
})

test('a vendor that refuses a turn is heard as over HTTP; the next turn begins with all', async () => {
  const { vendor, open, server } = await start()
  const { turn } = await open()
  const first = await turn({ input: 'one' })
  const before = await server.balance()
  const error = { type: 'invalid_request_error', code: 'unsupported', message: 'Not so.' }
  vendor.behaveAs((one) => one.send({ type: 'error', status: 400, error }))
  const refused = await turn({ input: 'two', previous_response_id: first.response.id })
  expect(refused).toMatchObject({ type: 'error', status: 400, error: { code: 'invalid_parameter' } })
  expect(refused.error.message).toContain('Not so.')
  expect([vendor.posts.length, before - (await server.balance())]).toEqual([0, 0n])
  vendor.behaveAs((one) => one.answer())
  await turn({ input: 'two', previous_response_id: first.response.id })
  expect([lastOf(vendor.turns).socket, lastOf(vendor.turns).message.input.length]).toEqual([2, 3])
})

test('an error in the middle of an answer ends the turn, and its socket', async () => {
  const { vendor, open, server } = await start()
  const { turn, events } = await open()
  vendor.behaveAs((one) => {
    for (const event of one.events.slice(0, 5)) one.send(event)
    one.send({ type: 'error', status: 500, error: { code: 'server_error', message: 'Broken.' } })
  })
  const before = await server.balance()
  const ended = await turn({ input: 'one' })
  expect(ended.type).toBe('error')
  expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true)
  await until(() => server.openCalls() === 0)
  expect(before - (await server.balance())).toBeGreaterThan(0n)
  await until(() => vendor.closed.length === 1)
})

test('what the vendor says outside of an answer closes its socket', async () => {
  const { vendor, open } = await start()
  const { turn } = await open()
  vendor.behaveAs((one) => {
    one.answer()
    one.send({ type: 'response.in_progress' })
  })
  const first = await turn({ input: 'one' })
  await until(() => vendor.closed.length === 1)
  vendor.behaveAs((one) => one.answer())
  await turn({ input: 'two', previous_response_id: first.response.id })
  expect([lastOf(vendor.turns).socket, lastOf(vendor.turns).message.input.length]).toEqual([2, 3])
})

test('a client that leaves in the middle stops the vendor by closing its socket, and pays for what it got', async () => {
  const { vendor, open, server, sockets } = await start()
  const { ask, events, socket } = await open()
  const before = await server.balance()
  vendor.behaveAs((one) => {
    for (const event of one.events.slice(0, 5)) one.send(event)
  })
  ask({ input: 'one' })
  await until(() => events.some(({ type }) => type === 'response.output_text.delta'), 2)
  socket.close()
  await until(() => vendor.closed.length === 1)
  await until(async () => before - (await server.balance()) > 0n)
  expect([sockets.size, vendor.posts.length]).toEqual([0, 0])
})

test('a vendor that takes a turn and is silent fails as over HTTP, and is not asked twice', async () => {
  // Long enough to open the vendor's socket within it, however busy the machine is.
  const timeouts = { firstByteMs: 3_000, idleMs: 60_000, totalMs: 120_000 }
  const { vendor, open, server } = await start({ options: { timeouts } })
  const { turn } = await open()
  vendor.behaveAs(() => undefined)
  expect((await turn({ input: 'one' })).type).toBe('error')
  await until(() => server.openCalls() === 0)
  expect([vendor.turns.length, vendor.posts.length]).toEqual([1, 0])
  await until(() => vendor.closed.length === 1)
})

test('an answer that outgrows its hold is stopped, and so is the vendor', async () => {
  const { vendor, open, server } = await start()
  const { turn } = await open()
  vendor.behaveAs((one) => {
    for (const event of one.events.slice(0, 4)) one.send(event)
    const delta = one.events.find(({ type }) => type === 'response.output_text.delta')
    for (let at = 0; at < 200; at++) one.send({ ...delta, delta: 'many words more than were asked for ' })
  })
  const before = await server.balance()
  const ended = await turn({ input: 'one', max_output_tokens: 16, max_cost_usd: '0.001' })
  expect(ended.type).toBe('response.incomplete')
  await until(() => vendor.closed.length === 1)
  expect(before - (await server.balance())).toBeLessThanOrEqual(1_000_000n)
})

test('another key of the vendor has a socket of its own, and is told all', async () => {
  const { vendor, open } = await start({ keys: ['key-a', 'key-b'] })
  const { turn } = await open({ 'x-session-id': 'one' })
  const first = await turn({ input: 'one' })
  const used = lastOf(vendor.turns).key
  vendor.behaveAs((one) => {
    if (one.key !== used) one.answer()
    else one.send({ type: 'error', status: 429, error: { code: 'rate_limit_exceeded', message: 'Slow.' } })
  })
  const second = await turn({ input: 'two', previous_response_id: first.response.id })
  expect(second.type).toBe('response.completed')
  const { key, message, socket } = lastOf(vendor.turns)
  expect([key === used, message.input.length, socket, vendor.posts.length]).toEqual([false, 3, 2, 0])
})

test('a lane whose turns are for two keys has a socket for each', async () => {
  const { vendor, open } = await start({ keys: ['key-a', 'key-b'] })
  const { turn } = await open()
  for (let at = 0; at < 12; at++) await turn({ input: 'one', prompt_cache_key: `cache ${at}` })
  const used = new Map(vendor.turns.map(({ socket, key }) => [socket, key]))
  expect([vendor.turns.length, used.size, new Set(used.values()).size]).toEqual([12, 2, 2])
})

test('of no more sockets than may be open, an idle one gives way, and one in use does not', async () => {
  const { vendor, open, sockets } = await start({ options: { vendorSockets: 1 } })
  const { turn, ask, end } = await open()
  await turn({ stream_id: 'a', input: 'a1' })
  const b1 = await turn({ stream_id: 'b', input: 'b1' })
  expect([vendor.upgrades(), sockets.size]).toEqual([2, 1])
  let running: VendorTurn | undefined
  vendor.behaveAs((one) => {
    running = one
  })
  ask({ stream_id: 'b', input: 'b2', previous_response_id: b1.response.id })
  await until(() => running !== undefined, 2)
  ask({ stream_id: 'a', input: 'a2' })
  expect((await end()).stream_id).toBe('a')
  expect([vendor.upgrades(), vendor.posts.length]).toEqual([2, 1])
  running?.answer()
  expect((await end()).stream_id).toBe('b')
})

test('calls over HTTP are asked over HTTP, and a client that leaves takes its sockets along', async () => {
  const { vendor, open, server, token, sockets } = await start()
  const body = { model, input: 'one', stream: true }
  await (await server.post('/v1/responses', body, {}, token)).text()
  expect([vendor.upgrades(), vendor.posts.length]).toEqual([0, 1])
  const { turn, socket } = await open()
  await turn({ input: 'one' })
  expect(sockets.size).toBe(1)
  socket.close()
  await until(() => vendor.closed.length === 1)
  expect(sockets.size).toBe(0)
})

test('a client that leaves while a model thinks: the vendor is read to its usage, and then its socket closes', async () => {
  const capabilities = ['streaming', 'reasoning'] as const
  const { vendor, open, server } = await start({
    models: [testModel('word', { id: model, vendor: 'real', capabilities: [...capabilities] })],
  })
  const { ask, events, socket } = await open()
  const before = await server.balance()
  let running: VendorTurn | undefined
  vendor.behaveAs((one) => {
    running = one
    for (const event of one.events.slice(0, 5)) one.send(event)
  })
  ask({ input: 'one' })
  await until(() => events.some(({ type }) => type === 'response.output_text.delta'), 2)
  socket.close()
  await until(() => server.gateway.capacity.sockets.used() === 0, 2)
  expect(vendor.closed).toEqual([])
  running?.answer(5)
  await until(() => vendor.closed.length === 1)
  await until(() => server.openCalls() === 0)
  expect(before - (await server.balance())).toBe(60_000n)
})

test('a vendor that is this server itself: its socket takes each turn, and its own vendor hears all', async () => {
  const inner = await startTestServer()
  ends.push(inner.stop)
  const listening = listen(inner, { hostname: '127.0.0.1', port: 0, shared: false })
  ends.push(() => listening.stop())
  let words = 0
  inner.answerWith(() => streaming(streamEvents([`word ${++words}`])))
  const { token } = await inner.newKey()
  const { open, server } = await start({
    models: [testModel('word', { id: model, vendor: 'real', upstreamName: 'mock/small' })],
    more: [
      {
        vendor: { ...mockVendor, id: 'real', speaks: 'responses', socket: { minutes: 60 } },
        baseUrl: `http://127.0.0.1:${listening.port}/v1`,
        secrets: [new Secret(token)],
      },
    ],
  })
  const { turn } = await open()
  const balances = async () => [await server.balance(), await inner.balance()] as const
  const before = await balances()
  const first = await turn({ input: 'one' })
  const second = await turn({ input: 'two', previous_response_id: first.response.id })
  expect(second.type).toBe('response.completed')
  expect(inner.gateway.capacity.sockets.used()).toBe(1)
  const { messages } = lastOf(inner.asked).body
  expect((messages as any[]).map(({ content }) => content)).toEqual(['one', 'word 1', 'two'])
  const after = await balances()
  expect([before[0] - after[0], before[1] - after[1]]).toEqual([120_000n, 120_000n])
})
