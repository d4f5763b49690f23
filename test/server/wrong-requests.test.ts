/** Requests that are wrong in themselves, and writes, meet a rate too; every answer to a key tells its rates. */
import { afterAll, expect, test } from 'bun:test'
import { systemClock } from '../../src/core/time.ts'
import { chat, completion, jsonOf, startTestServer } from './harness.ts'

const MINUTE = 60_000
/** The wall's clock stands still, so that no window turns within a test. */
const now = Math.floor(Date.now() / MINUTE) * MINUTE
const server = await startTestServer({
  now: () => now,
  clock: { ...systemClock, now: () => now },
})
server.answerWith(() => completion('x'))
afterAll(() => server.stop())

const CALLS = '/v1/chat/completions'
const header = (response: Response, name: string) => response.headers.get(`x-ratelimit-${name}`)
const ratesOf = (response: Response) => ['limit', 'remaining', 'reset'].map((name) => header(response, name))

/** The statuses of so many requests, one after the other. */
const statusesOf = async (count: number, send: () => Promise<Response>) => {
  const statuses: number[] = []
  for (let sent = 0; sent < count; sent++) statuses.push((await send()).status)
  return statuses
}

const wrong = {
  'a body that is no JSON': (token: string) => server.post(CALLS, '{', {}, token),
  'a member of the wrong type': (token: string) => server.post(CALLS, chat({ max_tokens: 'x' }), {}, token),
  'a model that does not exist': (token: string) => server.post(CALLS, chat({ model: 'no' }), {}, token),
  'another type of body': (token: string) =>
    server.post(CALLS, chat(), { 'content-type': 'text/plain' }, token),
  'a run that does not exist': (token: string) => server.send('GET', '/v1/run/no', undefined, token),
  'a message without messages': (token: string) => server.post('/v1/messages', { model: 'small' }, {}, token),
}

test.each(Object.entries(wrong))('%s: the rate counts it', async (_, send) => {
  const { token } = await server.newKey({ rpm: 2 })
  const first = await send(token)
  expect(Math.floor(first.status / 100)).toBe(4)
  expect(ratesOf(first)).toEqual(['2', '1', String((now + MINUTE) / 1000)])
  const statuses = await statusesOf(5, () => send(token))
  expect(statuses.slice(1)).toEqual([429, 429, 429, 429])
  const refused = await send(token)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1)
  expect(ratesOf(refused).slice(0, 2)).toEqual(['2', '0'])
  // They have a count of their own: right calls go on.
  expect((await server.post(CALLS, chat(), {}, token)).status).toBe(200)
})

const writes = {
  reviews: (token: string) => server.post('/api/reviews', { skill: 'small', rating: 5 }, {}, token),
  'changes of limits': (token: string) =>
    server.send('PUT', '/v1/key/wholesale/me/limits', { spend_cap_usd: 5 }, token),
  'rules of a wallet': (token: string) =>
    server.send('PUT', '/api/wallet/rules', { per_call_max_usd: 1 }, token),
}

test.each(Object.entries(writes))('%s: the rate counts them before they are read', async (_, write) => {
  const { token } = await server.newKey({ rpm: 2 }, { canManage: true })
  const statuses = await statusesOf(6, () => write(token))
  expect(statuses.slice(0, 2).every((status) => status < 300)).toBe(true)
  expect(statuses.slice(2)).toEqual([429, 429, 429, 429])
})

test('keys below a key share its rates for what is wrong', async () => {
  const { token } = await server.newKey({ rpm: 5 }, { canManage: true })
  const childOf = async (label: string): Promise<string> => {
    const made = await server.post('/v1/key/wholesale', { label }, {}, token)
    expect(made.status).toBe(201)
    return (await jsonOf(made)).data.key
  }
  const children = [await childOf('a'), await childOf('b')]
  const statuses: number[] = []
  for (let sent = 0; sent < 6; sent++)
    statuses.push((await server.post(CALLS, chat({ model: 'no' }), {}, children[sent % 2]!)).status)
  expect(statuses).toEqual([400, 400, 400, 429, 429, 429])
})

test('answers that use up nothing tell the rates as well', async () => {
  const { token } = await server.newKey({ rpm: 4 })
  const fresh = await server.send('GET', '/api/wallet/rules', undefined, token)
  expect(ratesOf(fresh)).toEqual(['4', '4', String((now + MINUTE) / 1000)])
  const called = await server.post(CALLS, chat(), {}, token)
  expect(ratesOf(called).slice(0, 2)).toEqual(['4', '3'])
  for (const path of ['/api/wallet/rules', '/v1/models', '/v1/key/wholesale/me/usage', '/v1/usage'])
    expect([path, ...ratesOf(await server.send('GET', path, undefined, token))]).toEqual([
      path,
      ...ratesOf(called),
    ])
})
