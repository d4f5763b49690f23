/**
 * WebSocket /v1/responses on a real port: turns that bring only what is new, at vendors of every dialect, each a call with
 * its own charge. The last tests use the official client's socket.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { systemClock } from '../../src/core/time.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { byTest } from '../by-test.ts'
import { callItem, messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import {
  completion,
  jsonOf,
  pausedStream,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  USD,
} from './harness.ts'
import { openResponses } from './responses-socket.ts'

const user = (content: string) => ({ type: 'message', role: 'user', content })

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const onPort = async (setup: Parameters<typeof startTestServer>[0] = {}) => {
  const server = await startTestServer(setup)
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  ends.push(async () => {
    listening.stop()
    const broken = await brokenLaws(server.store)
    await server.stop()
    expect(broken).toEqual([])
  })
  server.answerWith(() => streaming(streamEvents(['hello'])))
  const { token, id } = await server.newKey()
  return { server, listening, token, id, base: `127.0.0.1:${listening.port}/v1` }
}

type Socketed = Awaited<ReturnType<typeof onPort>>

const open = async (at: Pick<Socketed, 'base' | 'token'>, headers: Readonly<Record<string, string>> = {}) => {
  const it = await openResponses(at, headers)
  ends.push(() => it.socket.close())
  return it
}

/** What the vendor was told in its last request, as role and text. */
const told = ({ asked }: TestServer) =>
  ((asked.at(-1)?.body.messages ?? []) as any[]).map(({ role, content }) => [
    role,
    typeof content === 'string' ? content : content?.map(({ text }: any) => text).join(''),
  ])

test('a turn brings what is new, and the vendor hears the whole conversation; each turn is charged', async () => {
  const it = await onPort()
  const { server } = it
  const { turn, events } = await open(it)
  const before = await server.balance()
  let words = 0
  server.answerWith(() => streaming(streamEvents([`word ${++words}`])))
  const first = await turn({ store: false, input: [user('one')] })
  expect(events.map(({ type }) => type).slice(0, 2)).toEqual(['response.created', 'response.in_progress'])
  expect(first.response.previous_response_id).toBeNull()
  const second = await turn({
    store: false,
    input: [user('two')],
    previous_response_id: first.response.id,
    instructions: 'Be short.',
  })
  expect(second.response.previous_response_id).toBe(first.response.id)
  expect(told(server)).toEqual([
    ['system', 'Be short.'],
    ['user', 'one'],
    ['assistant', 'word 1'],
    ['user', 'two'],
  ])
  expect(second.response.usage.cost).toBe(0.00006)
  expect(before - (await server.balance())).toBe(120_000n)
})

test('events of a vendor of the same style pass as they are, with the lane that was named', async () => {
  const it = await onPort({ vendor: { speaks: 'responses' }, options: { responsesKeptMs: 0 } })
  const { turn, events } = await open(it)
  it.server.answerWith(() => streaming(responseEvents(response([messageItem('Hello')]))))
  const ended = await turn({ input: 'hi', stream_id: 'main', store: true })
  expect(ended.response.output[0].content[0].text).toBe('Hello')
  expect(new Set(events.map((event) => event.stream_id))).toEqual(new Set(['main']))
  expect(events.map(({ headers }) => headers?.['x-request-id'] !== undefined)).toEqual(
    events.map((_event, at) => at === 0),
  )
  expect(events[0].headers['x-not-carried']).toBe('store')
  expect(it.server.asked.at(-1)?.body).toMatchObject({ stream: true, input: 'hi' })
  expect(JSON.stringify(it.server.asked.at(-1)?.body)).not.toContain('stream_id')
})

test('requests of a lane run one after the other, lanes side by side, and a lane forks from another', async () => {
  const it = await onPort()
  const { send, end, turn } = await open(it)
  const { server } = it
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const order: string[] = []
  server.answerWith(async ({ body }) => {
    const said = (body.messages as any[]).at(-1)?.content
    order.push(said)
    await gates.get(said)?.promise
    return streaming(streamEvents([`to ${said}`]))
  })
  gates.set('a1', Promise.withResolvers())
  const ask = (lane: string, input: string) =>
    send({ type: 'response.create', model: 'mock/small', stream_id: lane, input })
  ask('a', 'a1')
  ask('a', 'a2')
  ask('b', 'b1')
  const b1 = await end()
  expect([b1.stream_id, order.toSorted()]).toEqual(['b', ['a1', 'b1']])
  gates.get('a1')?.resolve()
  expect([(await end()).stream_id, (await end()).stream_id]).toEqual(['a', 'a'])
  expect(order.at(-1)).toBe('a2')
  await turn({ stream_id: 'c', input: 'fork', previous_response_id: b1.response.id })
  expect(told(server).map(([, text]) => text)).toEqual(['b1', 'to b1', 'fork'])
})

test('a turn that compacts: the next one brings the item alone, or continues by its id', async () => {
  const it = await onPort()
  const { turn, events } = await open(it)
  const first = await turn({ store: false, input: [user('one')] })
  it.server.answerWith(() => streaming(streamEvents(['what ', 'matters'])))
  const compacted = await turn({
    store: false,
    input: [{ type: 'compaction_trigger' }],
    previous_response_id: first.response.id,
  })
  expect(events.map(({ type }) => type)).toContain('response.compaction.compacting')
  const { output, id } = compacted.response
  expect(output.map(({ type }: any) => type)).toEqual(['compaction'])
  expect(compacted.response.usage.cost).toBe(0.00006)
  for (const asked of [
    { input: [user('two')], previous_response_id: id },
    { input: [...output, user('two')] },
  ]) {
    expect((await turn({ store: false, ...asked })).type).toBe('response.completed')
    expect(told(it.server)).toEqual([
      ['user', expect.stringMatching(/what matters$/)],
      ['user', 'two'],
    ])
  }
})

test('what the socket does not know is named by the code for which clients send all again', async () => {
  const it = await onPort()
  const { turn } = await open(it)
  const unknown = await turn({ input: 'hi', previous_response_id: 'resp_gone' })
  expect(unknown).toMatchObject({
    type: 'error',
    status: 400,
    error: { code: 'previous_response_not_found', param: 'previous_response_id' },
  })
  expect(it.server.asked).toEqual([])
  expect((await turn({ input: 'hi' })).type).toBe('response.completed')
})

test('a response that was stored over HTTP goes on over a socket, and the reverse', async () => {
  const it = await onPort({ options: { responsesKeptMs: 3_600_000 } })
  const { server } = it
  const { turn } = await open(it)
  server.answerWith(({ body }) =>
    body.stream === true ? streaming(streamEvents(['streamed'])) : completion('whole'),
  )
  const post = async (body: object): Promise<any> =>
    (await server.post('/v1/responses', { model: 'mock/small', ...body }, {}, it.token)).json()
  const first = await post({ input: 'one' })
  const second = await turn({ input: 'two', previous_response_id: first.id })
  await post({ input: 'three', previous_response_id: second.response.id })
  expect(told(server).map(([, text]) => text)).toEqual(['one', 'whole', 'two', 'streamed', 'three'])
  // A turn that is not stored leaves a gap, which the next one that is fills.
  const secret = await turn({ store: false, input: 'four', previous_response_id: second.response.id })
  const open4 = await turn({ input: 'five', previous_response_id: secret.response.id })
  await post({ input: 'six', previous_response_id: open4.response.id })
  expect(told(server).map(([, text]) => text)).toEqual([
    'one',
    'whole',
    'two',
    'streamed',
    'four',
    'streamed',
    'five',
    'streamed',
    'six',
  ])
})

test('a turn within a conversation that was made over HTTP; a turn in the background is refused by name', async () => {
  const it = await onPort()
  const { turn } = await open(it)
  const made = await it.server.post('/v1/conversations', { items: [user('one')] }, {}, it.token)
  const { id } = (await made.json()) as any
  const first = await turn({ input: 'two', conversation: id })
  expect(first.response.conversation).toEqual({ id })
  await turn({ input: 'three', conversation: { id } })
  const all = [
    ['user', 'one'],
    ['user', 'two'],
    ['assistant', 'hello'],
    ['user', 'three'],
  ]
  expect(told(it.server)).toEqual(all)
  // The latest turn of the lane is another one, and the ledger has this one's part alone.
  await turn({ input: 'four', previous_response_id: first.response.id }).then(({ error }) =>
    expect(error.code).toBe('previous_response_not_found'),
  )
  const { error } = await turn({ input: 'x', background: true })
  expect([error.param, error.message.includes('A socket keeps its own turns')]).toEqual(['background', true])
})

test('a warm-up is checked and remembered; no vendor is asked and nothing is charged', async () => {
  const it = await onPort()
  const { server } = it
  const { turn, events } = await open(it)
  const before = await server.balance()
  const warm = await turn({ generate: false, input: [user('context')], tools: [] })
  expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed'])
  expect(warm.response).toMatchObject({ output: [], usage: { total_tokens: 0 } })
  expect((await turn({ generate: false, model: 'mock/none', input: 'x' })).error.code).toBe('model_not_found')
  expect([server.asked.length, before - (await server.balance())]).toEqual([0, 0n])
  server.answerWith(() => streaming(streamEvents(['yes'])))
  await turn({ input: 'go', previous_response_id: warm.response.id })
  expect(told(server).map(([, text]) => text)).toEqual(['context', 'go'])
})

test('what is wrong is an event that names it, and the socket lives on', async () => {
  const it = await onPort()
  const { turn, send, end, socket } = await open(it)
  socket.send('nonsense')
  expect((await end()).error.code).toBe('invalid_json')
  send({ type: 'response.fly' })
  expect((await end()).error.param).toBe('type')
  expect((await turn({ input: 'hi', stream_id: '' })).error.param).toBe('stream_id')
  expect((await turn({ input: 'hi', background: true })).error.message).toContain("'background'")
  expect(await turn({ model: 'mock/none', input: 'hi' })).toMatchObject({
    status: 400,
    error: { code: 'model_not_found', param: 'model' },
  })
  expect((await turn({ input: 'hi' })).type).toBe('response.completed')
})

/** Answers that go on when they are told to, each with the words and calls of its turn. */
const steerable = async (more: Parameters<typeof onPort>[0] = {}) => {
  const it = await onPort(more)
  const socket = await open(it)
  const gates: PromiseWithResolvers<void>[] = []
  let items = [messageItem('Hello')]
  it.server.answerWith(() => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    const events = responseEvents(response(items, { id: `resp_${gates.length}` }))
    return pausedStream(events, 4, () => gate.promise)
  })
  /** Sends a turn and resolves with its response's id once its words come. */
  const begin = async (message: object): Promise<string> => {
    const seen = socket.events.length
    socket.send({ type: 'response.create', model: 'mock/small', store: false, ...message })
    await until(() => socket.events.length > seen + 2, 2)
    return socket.events[seen].response.id
  }
  const steer = async (message: object): Promise<any> => {
    const seen = socket.events.length
    socket.send({ type: 'response.steer', ...message })
    const isAnswer = ({ type }: any) => /^response.steer.(?:accepted|failed)$/.test(type)
    await until(() => socket.events.slice(seen).some(isAnswer), 2)
    return socket.events.slice(seen).find(isAnswer)
  }
  const goOn = (at: number) => gates[at]?.resolve()
  const calls = (...all: any[]) => {
    items = all
  }
  return { ...it, ...socket, begin, steer, goOn, calls, gates }
}
const ofResponses = { vendor: { speaks: 'responses' } } as const
const askedLast = ({ asked }: TestServer) => asked.at(-1)?.body as any

test('what steers a response goes on from it by itself, as a call of its own with the same settings', async () => {
  const it = await steerable(ofResponses)
  const before = await it.server.balance()
  const id = await it.begin({
    input: 'one',
    instructions: 'Be short.',
    stream_id: 'main',
    idempotency_key: 'k1',
  })
  const accepted = await it.steer({ previous_response_id: id, input: 'faster' })
  expect(accepted).toMatchObject({
    type: 'response.steer.accepted',
    stream_id: 'main',
    steer: { previous_response_id: id, id: expect.stringMatching(/^steer_/) },
  })
  await it.steer({ previous_response_id: id, input: [user('and better')] })
  it.goOn(0)
  expect((await it.end()).response.id).toBe(id)
  await until(() => it.gates.length === 2, 2)
  it.goOn(1)
  const next = await it.end()
  expect([next.type, next.stream_id, next.response.id]).toEqual(['response.completed', 'main', 'resp_2'])
  const sent = askedLast(it.server)
  expect(sent.instructions).toBe('Be short.')
  expect(sent.input.map(({ content }: any) => content[0].text ?? content)).toEqual([
    'one',
    'Hello',
    'faster',
    'and better',
  ])
  expect(JSON.stringify(sent)).not.toContain('idempotency_key')
  const costs = it.events.flatMap(({ response: one }) => one?.usage?.cost ?? [])
  expect(costs.length).toBe(2)
  expect(Number(before - (await it.server.balance()))).toBe(
    Math.round(costs[0] * 1e9) + Math.round(costs[1] * 1e9),
  )
  await until(() => it.server.gateway.capacity.calls.used() === 0)
})

test('what steers a response of a conversation goes on in that conversation', async () => {
  const it = await steerable({ ...ofResponses, options: { responsesKeptMs: 3_600_000 } })
  const made = await it.server.post('/v1/conversations', { items: [user('first')] }, {}, it.token)
  const { id: conversation } = await jsonOf(made)
  const id = await it.begin({ input: 'one', conversation })
  expect((await it.steer({ previous_response_id: id, input: 'faster' })).type).toBe('response.steer.accepted')
  it.goOn(0)
  await it.end()
  await until(() => it.gates.length === 2, 2)
  it.goOn(1)
  expect((await it.end()).type).toBe('response.completed')
  const texts = ['first', 'one', 'Hello', 'faster']
  expect(askedLast(it.server).input.map(({ content }: any) => content[0].text ?? content)).toEqual(texts)
  const listed = await jsonOf(
    await it.server.get(`/v1/conversations/${conversation}/items?order=asc`, it.token),
  )
  expect(listed.data.map(({ content }: any) => content[0].text)).toEqual([...texts, 'Hello'])
})

test('what waits in one lane of a conversation is not taken by another lane of it', async () => {
  const it = await steerable({ ...ofResponses, options: { responsesKeptMs: 3_600_000 } })
  const made = await it.server.post('/v1/conversations', { items: [user('first')] }, {}, it.token)
  const { id: conversation } = await jsonOf(made)
  const begun = async (lane: string, at: number) => {
    const id = await it.begin({ input: `one of ${lane}`, conversation, stream_id: lane })
    await it.steer({ previous_response_id: id, input: `steers ${lane}` })
    it.goOn(at)
    await it.end()
  }
  it.calls(callItem('look', '{}', 'call_7'))
  await begun('a', 0)
  await until(() => it.events.at(-1).type === 'response.steer.pending', 2)
  it.calls(messageItem('Hello'))
  await begun('b', 1)
  await until(() => it.gates.length === 3, 2)
  const texts = askedLast(it.server).input.map(({ content }: any) => content?.[0].text ?? content)
  expect([texts.includes('steers a'), texts.at(-1)]).toEqual([false, 'steers b'])
  it.goOn(2)
  await it.end()
})

test('steering takes a small turn of the rate', async () => {
  const it = await onPort()
  const { token } = await it.server.newKey({ rpm: 2 })
  const socket = await open({ ...it, token })
  for (let at = 0; at < 3; at++)
    socket.send({ type: 'response.steer', previous_response_id: 'resp_none', input: 'x' })
  await until(() => socket.events.length === 3, 2)
  // An error event would tell its client that a turn has ended.
  expect(socket.events.map(({ type, error }: any) => [type, error.code]).sort()).toEqual([
    ['response.steer.failed', 'rate_limit_exceeded'],
    ['response.steer.failed', 'response_not_found'],
    ['response.steer.failed', 'response_not_found'],
  ])
})

test('what steers a response that asks for a tool waits for its result', async () => {
  const it = await steerable(ofResponses)
  it.calls(callItem('look', '{}', 'call_7'))
  const id = await it.begin({ input: 'one' })
  const { steer } = await it.steer({ previous_response_id: id, input: 'mind the rain' })
  it.goOn(0)
  await it.end()
  await until(() => it.events.at(-1).type === 'response.steer.pending', 2)
  expect(it.events.at(-1)).toMatchObject({
    reason: 'waiting_for_required_input',
    required_input: [{ type: 'function_call_output', call_id: 'call_7', name: 'look' }],
    steer,
  })
  expect(it.gates.length).toBe(1)
  it.calls(messageItem('Done'))
  const result = { type: 'function_call_output', call_id: 'call_7', output: 'dry' }
  await it.begin({ input: [result], previous_response_id: id })
  it.goOn(1)
  expect((await it.end()).type).toBe('response.completed')
  expect(askedLast(it.server).input.map(({ type, role }: any) => type ?? role)).toEqual([
    'message',
    'function_call',
    'message',
    'function_call_output',
  ])
})

test('what cannot steer comes back with the reason, and nothing of it stays in memory', async () => {
  const it = await steerable(ofResponses)
  const refusal = async (message: object) => {
    const { type, error, steer } = await it.steer(message)
    return [type, error.code, error.type, steer.input]
  }
  const failed = (code: string, input: unknown) => [
    'response.steer.failed',
    code,
    'invalid_request_error',
    input,
  ]
  const id = await it.begin({ input: 'one' })
  const wrong = [{ type: 'message', role: 'system', content: 'obey' }]
  expect(await refusal({ previous_response_id: id, input: wrong })).toEqual(failed('invalid_input', wrong))
  expect(await refusal({ previous_response_id: id, input: [] })).toEqual(failed('invalid_input', []))
  expect(await refusal({ previous_response_id: 'resp_none', input: 'x' })).toEqual(
    failed('response_not_found', 'x'),
  )
  for (let at = 0; at < 32; at++) await it.steer({ previous_response_id: id, input: `${at}` })
  expect(await refusal({ previous_response_id: id, input: 'x' })).toEqual(
    failed('too_many_pending_steers', 'x'),
  )
  // The server takes no new requests by then.
  it.listening.goAway()
  it.goOn(0)
  const isBack = ({ type, error }: any) =>
    type === 'response.steer.failed' && error.code === 'successor_creation_failed'
  await it.closed
  expect(it.events.filter(isBack).map(({ steer }) => steer.input)).toEqual(
    Array.from({ length: 32 }, (_none, at) => `${at}`),
  )
  await until(() => it.server.gateway.capacity.bytes.used() === 0)
})

test('a rule binds between two turns, and a key that is deleted closes its socket', async () => {
  const it = await onPort()
  const { turn, closed } = await open(it)
  expect((await turn({ input: 'hi' })).type).toBe('response.completed')
  await it.server.store.wallets.changeWalletRules(it.server.wallet, { allowedModels: ['other/*'] }, byTest)
  await until(async () => (await turn({ input: 'hi' })).type === 'error')
  await it.server.gateway.book
    .changeKey(it.id, { disabled: 'person' } as never, byTest)
    .catch(() => undefined)
  await it.server.gateway.book.deleteKey(it.id, false, byTest)
  expect(await closed).toBe(1008)
})

test('without a key no socket opens; without an upgrade the address says what it is', async () => {
  const it = await onPort()
  expect(open({ base: it.base, token: 'sk-wrong' })).rejects.toThrow()
  const answer = await fetch(`http://${it.base}/responses`, {
    headers: { authorization: `Bearer ${it.token}` },
  })
  expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'websocket'])
})

test('a client that leaves in the middle of a turn pays for what it got, and leaves no memory behind', async () => {
  const it = await onPort()
  const { server } = it
  const { turn, send, events, socket } = await open(it)
  server.answerWith(() => streaming(streamEvents(['one'])))
  await turn({ input: 'x'.repeat(1000) })
  expect(server.gateway.capacity.bytes.used()).toBeGreaterThan(1000)
  const before = await server.balance()
  server.answerWith(() => streaming(streamEvents(['partly', 'never']).slice(0, 2), 'hang'))
  const seen = events.length
  send({ type: 'response.create', model: 'mock/small', input: 'hi' })
  await until(() => events.slice(seen).some(({ type }) => type === 'response.output_text.delta'), 2)
  socket.close()
  await until(async () => before - (await server.balance()) > 0n)
  await until(() => server.gateway.capacity.bytes.used() === 0)
  expect(server.gateway.capacity.sockets.used()).toBe(0)
})

test('the upgrade may name the conversation; where it comes from names none', async () => {
  const it = await onPort({ secrets: Array.from({ length: 8 }, (_key, at) => `key-${at}`) })
  const keysOf = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const { turn } = await open(it, headers)
    const before = it.server.asked.length
    for (let at = 0; at < 12; at++) await turn({ input: `conversation ${at}` })
    return new Set(it.server.asked.slice(before).map((one) => one.headers.get('authorization'))).size
  }
  expect(await keysOf({ 'x-forwarded-for': '203.0.113.7' })).toBeGreaterThan(2)
  expect(await keysOf({ 'x-session-id': 'one', 'x-forwarded-for': '203.0.113.7' })).toBe(1)
})

test('after an hour a socket takes no more turns, and a new one does', async () => {
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const it = await onPort({ clock })
  const { turn } = await open(it)
  expect((await turn({ input: 'hi' })).type).toBe('response.completed')
  laterMs = 3_600_001
  expect((await turn({ input: 'hi' })).error.code).toBe('websocket_connection_limit_reached')
  const next = await open(it)
  // The ledger's heartbeat saw the clock jump, so the first answers may be that it is late.
  await until(async () => (await next.turn({ input: 'hi' })).type === 'response.completed')
})

test('of 33 lanes the one that was quiet for longest is forgotten', async () => {
  const it = await onPort()
  const { turn } = await open(it)
  const ids: string[] = []
  for (let lane = 0; lane < 33; lane++)
    ids.push((await turn({ store: false, stream_id: `${lane}`, input: 'hi' })).response.id)
  const after = (at: number) => turn({ input: 'more', previous_response_id: ids[at] })
  expect((await after(0)).error.code).toBe('previous_response_not_found')
  expect((await after(32)).type).toBe('response.completed')
})

test('a server that drains ends running turns, takes no others, and closes', async () => {
  const it = await onPort()
  const { send, end, events, closed } = await open(it)
  const gate = Promise.withResolvers<void>()
  it.server.answerWith(async () => {
    await gate.promise
    return streaming(streamEvents(['late']))
  })
  send({ type: 'response.create', model: 'mock/small', stream_id: 'a', input: 'hi' })
  await until(() => it.server.asked.length === 1, 2)
  it.listening.goAway()
  send({ type: 'response.create', model: 'mock/small', stream_id: 'b', input: 'hi' })
  const refused = await end()
  expect([refused.stream_id, refused.error.code]).toEqual(['b', 'websocket_connection_limit_reached'])
  gate.resolve()
  expect((await end()).response.status).toBe('completed')
  expect(await closed).toBe(1001)
  expect(events.filter(({ type }) => type === 'error').length).toBe(1)
})

test('the official client holds a conversation on its socket', async () => {
  const it = await onPort()
  it.server.answerWith(() => streaming(streamEvents(['Hel', 'lo'])))
  const client = new OpenAI({ apiKey: it.token, baseURL: `http://${it.base}` })
  const socket = new ResponsesWS(client)
  ends.push(() => socket.close())
  const texts: string[] = []
  let previous: string | undefined
  for (const input of ['one', 'two', 'three']) {
    const ended = Promise.withResolvers<string>()
    socket.once('response.completed', ({ response: { id } }) => ended.resolve(id))
    socket.once('response.output_text.done', ({ text }) => texts.push(text))
    socket.once('error', ended.reject)
    socket.send({
      type: 'response.create',
      model: 'mock/small',
      store: false,
      input,
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    })
    previous = await ended.promise
  }
  expect(new Set(texts)).toEqual(new Set(['Hello']))
  expect(
    told(it.server)
      .filter(([role]) => role === 'user')
      .map(([, text]) => text),
  ).toEqual(['one', 'two', 'three'])
})

/** `TURNS=1000 npx bun test test/server/responses-socket.test.ts -t turns` plays as many. */
const TURNS = Number(process.env.TURNS ?? 300)
/** Nano-USD. */
const CREDIT = 1e7

for (const engine of serverEngines)
  describe(engine.name, () => {
    test('many turns of one socket under a cap: none falsely refused, none beyond it, the sum is the ledger’s', async () => {
      const database = await engine.fresh()
      ends.push(() => database.stop())
      const it = await onPort({ url: database.url })
      const { server } = it
      const each = 60_000n
      const cap = each * BigInt(TURNS - 10) + 1n
      const capped = await server.newKey({ spendCap: cap })
      const { turn } = await open({ base: it.base, token: capped.token })
      server.answerWith(() => streaming(streamEvents(['ok'])))
      const before = await server.balance()
      let previous: string | undefined
      let charged = 0n
      let refused = 0
      for (let at = 0; at < TURNS; at++) {
        const ended = await turn({
          store: false,
          max_output_tokens: 16,
          input: `${at}`,
          // A long conversation begins anew now and then, as those that are compacted do.
          ...(previous === undefined || at % 50 === 0 ? {} : { previous_response_id: previous }),
        })
        if (ended.type === 'response.completed') {
          charged += BigInt(Math.round(ended.response.usage.cost * Number(USD)))
          previous = ended.response.id
        } else {
          expect(ended.status).toBe(402)
          const { required_credits: needed, available_credits: available } = ended.error
          // It did not fit: all of the cap that is not charged was there to hold.
          expect(BigInt(Math.round(available * CREDIT))).toBe(cap - charged)
          expect(needed).toBeGreaterThan(available)
          refused++
        }
      }
      expect(before - (await server.balance())).toBe(charged)
      expect(charged).toBeLessThanOrEqual(cap)
      expect(refused).toBeGreaterThanOrEqual(10)
    })
  })
