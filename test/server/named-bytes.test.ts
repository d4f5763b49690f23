/** What a small request names is counted like what is sent: before it is loaded, and as often as it is named. */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test'
import { until } from '../until.ts'
import { completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

const BIG = 300_000

let server: TestServer
let token: string
let most = 0

beforeAll(async () => {
  server = await startTestServer({ options: { responsesKeptMs: 3_600_000, bodyBytesMax: 1_000_000 } })
  token = (await server.newKey()).token
  server.answerWith(() => {
    most = server.gateway.capacity.bytes.used()
    return completion('hello')
  })
})
afterAll(() => server.stop())
// All of it was given back.
afterEach(() => until(() => server.gateway.capacity.bytes.used() === 0))

const said = (content: string, id?: string) => ({
  type: 'message',
  role: 'user',
  content,
  ...(id === undefined ? {} : { id }),
})
const references = (count: number, id: string) =>
  Array.from({ length: count }, () => ({ type: 'item_reference', id }))
const post = async (path: string, body: object) => {
  const answer = await server.post(path, body, {}, token)
  return { status: answer.status, body: await jsonOf(answer) }
}
const get = async (path: string) => {
  const answer = await server.get(path, token)
  return { status: answer.status, body: await jsonOf(answer) }
}
const conversationOf = async (...items: object[]): Promise<string> =>
  (await post('/v1/conversations', { items })).body.id

/** The ids of what is loaded meanwhile, one list for each time. */
const loadedBy = async (work: () => Promise<unknown>): Promise<readonly string[][]> => {
  const spy = spyOn(server.store.responses, 'keptItems')
  try {
    await work()
    return spy.mock.calls.map(([, sizes]) => [...sizes.keys()])
  } finally {
    spy.mockRestore()
  }
}

test('many references to one item are refused by their sum before it is loaded', async () => {
  await conversationOf(said('x'.repeat(BIG), 'msg_often'))
  const asked = { model: 'mock/small', input: references(200, 'msg_often') }
  const loaded = await loadedBy(async () => {
    for (const path of ['/v1/responses', '/v1/responses/input_tokens'])
      expect((await post(path, asked)).status).toBe(413)
  })
  expect(loaded).toEqual([])
})

test('an item that is named twice is loaded once, and counted twice', async () => {
  await conversationOf(said('x'.repeat(BIG), 'msg_twice'))
  const loaded = await loadedBy(() =>
    post('/v1/responses', { model: 'mock/small', input: references(2, 'msg_twice') }),
  )
  expect(loaded).toEqual([['msg_twice']])
  expect(server.asked.at(-1)?.body.messages).toEqual(
    Array.from({ length: 2 }, () => ({ role: 'user', content: 'x'.repeat(BIG) })),
  )
  expect(most).toBeGreaterThan(4 * BIG)
})

test('what a conversation or a response before brings is counted as if it had been sent', async () => {
  const text = 'x'.repeat(BIG)
  await post('/v1/responses', { model: 'mock/small', input: [said(text), said('hi')] })
  const sent = most
  const conversation = await conversationOf(said(text))
  await post('/v1/responses', { model: 'mock/small', input: 'hi', conversation, store: false })
  expect(most).toBeGreaterThan(sent * 0.9)
  const first = await post('/v1/responses', { model: 'mock/small', input: [said(text)] })
  await post('/v1/responses', { model: 'mock/small', input: 'hi', previous_response_id: first.body.id })
  expect(most).toBeGreaterThan(sent * 0.9)
})

test('a list of inputs loads what its page names, and no more than a request may have', async () => {
  await conversationOf(said('x', 'msg_grows'))
  const { body } = await post('/v1/responses', {
    model: 'mock/small',
    input: [...references(60, 'msg_grows'), said('last')],
  })
  await conversationOf(said('x'.repeat(BIG), 'msg_grows'))
  const path = `/v1/responses/${body.id}/input_items`
  expect(await loadedBy(() => get(`${path}?limit=1`))).toEqual([])
  const page = await get(`${path}?limit=3`)
  expect(page.body.data.map(({ content }: any) => content[0].text.length)).toEqual([4, BIG, BIG])
  const loaded = await loadedBy(async () => expect((await get(`${path}?limit=100`)).status).toBe(413))
  expect(loaded).toEqual([])
})

test('a response that is read is counted before it is loaded', async () => {
  const { body } = await post('/v1/responses', { model: 'mock/small', input: [said('x'.repeat(BIG))] })
  const { responses } = server.store
  const load = responses.keptResponse
  const counted: number[] = []
  const spy = spyOn(responses, 'keptResponse').mockImplementation((...ref) => {
    counted.push(server.gateway.capacity.bytes.used())
    return load(...ref)
  })
  expect((await get(`/v1/responses/${body.id}`)).status).toBe(200)
  spy.mockRestore()
  expect(counted).toEqual([expect.any(Number)])
  expect(counted[0]).toBeGreaterThan(BIG)
})

test('reading a list of inputs takes a small turn of the rate', async () => {
  const slow = await server.newKey({ rpm: 2 })
  const made = await server.post('/v1/responses', { model: 'mock/small', input: 'hi' }, {}, slow.token)
  const { id } = await jsonOf(made)
  const statuses: number[] = []
  for (let at = 0; at < 3; at++)
    statuses.push((await server.get(`/v1/responses/${id}/input_items`, slow.token)).status)
  expect(statuses).toEqual([200, 200, 429])
})
