/**
 * A PostgreSQL that is silent, or takes connections and closes them: every caller is refused within the promised time,
 * whatever the call, and told when to come back.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { listen } from '../../src/http/listen/listen.ts'
import { type Fault, type FaultProxy, startProxy } from '../chaos/proxy.ts'
import { startOwnTime } from '../own-time.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer, type TestServer } from './harness.ts'

/** We promise two seconds; a busy process gets four times that, of the time in which it runs. */
const BOUND_MS = 8_000

const ownTime = startOwnTime()
let database: TestDatabase
let proxy: FaultProxy
let server: TestServer
let listening: ReturnType<typeof listen>
let manager: { id: string; token: string }
let child: { id: string; token: string }

beforeAll(async () => {
  database = await postgresForTests()
  const url = new URL(database.url)
  proxy = await startProxy(Number(url.port || '5432'))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  // The product's own time-outs.
  url.search = ''
  server = await startTestServer({
    url: url.href,
    ledgerFails: true,
    options: { responsesKeptMs: 3_600_000 },
  })
  // A vendor that is slower than a commit, as all are.
  server.answerWith(async () => {
    await Bun.sleep(50)
    return completion('hello')
  })
  listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  manager = await server.newKey({}, { canManage: true })
  child = await server.newKey({}, { parentId: manager.id })
})
afterAll(async () => {
  ownTime.stop()
  listening.stop()
  await server.stop()
  proxy.stop()
  await database.stop()
})

const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`http://127.0.0.1:${listening.port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${manager.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
  }
}

let serial = 0
const once = () => ({ 'idempotency-key': `once-${++serial}` })

/** Every request that asks the ledger before it is answered. */
const asks: Record<string, () => ReturnType<typeof ask>> = {
  'a call': () => ask('POST', '/v1/chat/completions', chat()),
  'a call of a key not seen before': () =>
    ask('POST', '/v1/chat/completions', chat(), { authorization: `Bearer sk-${'n'.repeat(43)}${++serial}` }),
  'a call with an Idempotency-Key': () => ask('POST', '/v1/chat/completions', chat(), once()),
  'a stream with an Idempotency-Key': () =>
    ask('POST', '/v1/chat/completions', chat({ stream: true }), once()),
  'an idempotent run': () =>
    ask(
      'POST',
      '/api/idempotent-run',
      { model: 'mock/small', inputs: { messages: chat().messages } },
      once(),
    ),
  'a call that names an earlier one': () =>
    ask('POST', '/v1/responses', { model: 'mock/small', input: 'hi', previous_response_id: 'resp_1' }),
  usage: () => ask('GET', '/v1/usage'),
  'a key and its usage': () => ask('GET', '/v1/key/wholesale/me/usage'),
  'a change of a key': () => ask('PUT', `/v1/key/wholesale/${child.id}/limits`, { rpm_limit: 5 }),
  'a new key': () => ask('POST', '/v1/key/wholesale', { label: 'new' }),
  'an end of a key': () => ask('DELETE', `/v1/key/wholesale/${child.id}`),
  'the keys': () => ask('GET', '/v1/key/wholesale'),
  invoices: () => ask('GET', '/api/billing'),
  'rules of the wallet': () => ask('PUT', '/api/wallet/rules', {}),
}

const timed = async (one: () => ReturnType<typeof ask>) => {
  const startedMs = ownTime.nowMs()
  const { status, retryAfter, text } = await one().catch(() => ({ status: 0, retryAfter: null, text: '' }))
  return { status, retryAfter, text, tookMs: ownTime.nowMs() - startedMs }
}

const inTouch = async () => {
  await until(() => server.gateway.book.health().fresh, 10)
}

/** The first answer that is no 503: a ledger that is back has work waiting. */
const untilServed = async (one: () => ReturnType<typeof ask>) => {
  for (;;) {
    const answer = await one()
    if (answer.status !== 503) return answer
    await Bun.sleep(50)
  }
}

const all = () =>
  Promise.all(Object.entries(asks).map(async ([name, one]) => ({ name, ...(await timed(one)) })))

const summaryOf = (answers: Awaited<ReturnType<typeof all>>) =>
  answers.map(({ name, status, retryAfter, tookMs }) => ({
    name,
    status,
    retryAfter,
    late: tookMs > BOUND_MS ? tookMs : false,
  }))

const refused = Object.keys(asks).map((name) => ({ name, status: 503, retryAfter: '2', late: false }))

describe.each([
  ['says nothing', 'stall'],
  ['takes connections and closes them', 'reset'],
  ['hears what it is asked, and is not heard', 'one way'],
] as [string, Fault][])('a ledger that %s', (_what, fault) => {
  test('is told of within the promised time by whoever asks, at once and later', async () => {
    await inTouch()
    expect((await untilServed(() => ask('POST', '/v1/chat/completions', chat(), once()))).status).toBe(200)
    proxy.set(fault)
    const claimed = once()
    try {
      const early = ask('POST', '/v1/chat/completions', chat(), claimed)
      // The first callers find the ledger in touch, and lose it; the next find it lost.
      expect(summaryOf(await all())).toEqual(refused)
      expect(summaryOf(await all())).toEqual(refused)
      expect((await early).status).toBe(503)
    } finally {
      proxy.set('none')
    }
    // The claim of the refused call blocks nobody.
    const again = await untilServed(() => ask('POST', '/v1/chat/completions', chat(), claimed))
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('hello')])
  })
})
