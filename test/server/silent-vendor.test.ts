/**
 * A vendor that takes calls and never answers: it has its share of the open calls, and callers of other vendors notice
 * nothing.
 */
import { expect, test } from 'bun:test'
import { until } from '../until.ts'
import { chat, completion, jsonOf, mockSetup, startTestServer, testModel } from './harness.ts'

const MOST = 20
const SHARE = 15

const start = async (failover: Readonly<Record<string, readonly string[]>> = {}, more: object = {}) => {
  const finish = Promise.withResolvers<void>()
  const server = await startTestServer({
    models: [testModel('silent'), testModel('quick', { id: 'other/quick', vendor: 'other' })],
    more: [mockSetup({ id: 'other' }, async () => completion('from the other'))],
    failover,
    options: { openCallsMax: MOST, vendorSharePercent: (100 * SHARE) / MOST, ...more },
  })
  server.answerWith(async () => {
    await finish.promise
    return completion('at last')
  })
  const ask = (model: string, token?: string) =>
    server.post('/v1/chat/completions', chat({ model }), {}, token)
  return { server, ask, finish: finish.resolve }
}

test('calls of other vendors are answered while one is silent, for the same key and for others', async () => {
  const { server, ask, finish } = await start()
  const { token } = await server.newKey()
  const waiting = Array.from({ length: SHARE }, () => ask('mock/silent'))
  await until(() => server.asked.length === SHARE, 1)
  const more = await Promise.all(Array.from({ length: 10 }, () => ask('mock/silent', token)))
  expect(more.map(({ status }) => status)).toEqual(more.map(() => 503))
  expect((await jsonOf(more[0]!)).error.message).toContain(
    'Too many calls are already waiting for the vendor mock',
  )
  expect(server.asked.length).toBe(SHARE)
  for (const key of [undefined, token]) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask('other/quick', key)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  }
  finish()
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true)
  expect((await ask('mock/silent')).status).toBe(200)
  await until(() => server.gateway.capacity.vendors.used() === 0, 1)
  expect(server.openCalls()).toBe(0)
  await server.stop()
})

test('one key does not fill all that it may have open with calls of the silent vendor', async () => {
  const { server, ask, finish } = await start({}, { keySharePercent: 50 })
  const [one, two] = [await server.newKey(), await server.newKey()]
  // Three quarters of the ten that a key may have open.
  const waiting = Array.from({ length: 7 }, () => ask('mock/silent', one.token))
  await until(() => server.asked.length === 7, 1)
  const refused = await ask('mock/silent', one.token)
  expect([refused.status, (await jsonOf(refused)).error.message]).toEqual([
    429,
    expect.stringContaining('open calls at mock'),
  ])
  expect((await ask('other/quick', one.token)).status).toBe(200)
  waiting.push(ask('mock/silent', two.token))
  await until(() => server.asked.length === 8, 1)
  finish()
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true)
  await server.stop()
})

test('what finds no room at the vendor is answered by an equal of another', async () => {
  const { server, ask, finish } = await start({ 'mock/silent': ['other/quick'] })
  const waiting = Array.from({ length: SHARE }, () => ask('mock/silent'))
  await until(() => server.asked.length === SHARE, 1)
  const answer = await ask('mock/silent')
  expect([answer.status, (await jsonOf(answer)).choices[0].message.content]).toEqual([200, 'from the other'])
  finish()
  await Promise.all(waiting)
  await server.stop()
})

test('a vendor that is the only one has all the places', async () => {
  const finish = Promise.withResolvers<void>()
  const server = await startTestServer({ options: { openCallsMax: 4, vendorSharePercent: 50 } })
  server.answerWith(async () => {
    await finish.promise
    return completion('at last')
  })
  const waiting = Array.from({ length: 4 }, () => server.post('/v1/chat/completions', chat()))
  await until(() => server.asked.length === 4, 1)
  finish.resolve()
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true)
  await server.stop()
})

test('counts of tokens wait for it no more than calls may, and are estimated beyond that', async () => {
  const finish = Promise.withResolvers<void>()
  const server = await startTestServer({
    models: [testModel('silent'), testModel('quick', { id: 'other/quick', vendor: 'other' })],
    more: [mockSetup({ id: 'other' }, async () => completion('from the other'))],
    vendor: { speaks: 'messages' },
    options: { openCallsMax: MOST, vendorSharePercent: (100 * SHARE) / MOST },
  })
  server.answerWith(async () => {
    await finish.promise
    return Response.json({ input_tokens: 3 })
  })
  const count = () => server.post('/v1/messages/count_tokens', chat({ model: 'mock/silent' }))
  const waiting = Array.from({ length: SHARE }, count)
  await until(() => server.asked.length === SHARE, 1)
  const more = await count()
  expect([more.status, more.headers.get('x-estimated'), server.asked.length]).toEqual([200, 'true', SHARE])
  const waits = Array.from({ length: MOST - SHARE }, () => count())
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(waits.map(() => 200))
  finish.resolve()
  for (const answer of await Promise.all(waiting)) expect(await jsonOf(answer)).toEqual({ input_tokens: 3 })
  await until(() => server.gateway.capacity.calls.used() === 0, 1)
  await server.stop()
})

test('counts of tokens have no more places than calls', async () => {
  const finish = Promise.withResolvers<void>()
  const server = await startTestServer({ vendor: { speaks: 'messages' }, options: { openCallsMax: 2 } })
  server.answerWith(async () => {
    await finish.promise
    return Response.json({ input_tokens: 3 })
  })
  const count = () => server.post('/v1/messages/count_tokens', chat())
  const waiting = [count(), count()]
  await until(() => server.asked.length === 2, 1)
  expect((await count()).status).toBe(503)
  finish.resolve()
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200])
  await server.stop()
})
