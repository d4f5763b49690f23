/** Idempotency over HTTP: one run, one charge, the same answer, stream or not. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { createApp } from '../../src/http/app.ts'
import { StoreFault } from '../../src/store/faults.ts'
import { byTest } from '../by-test.ts'
import { tempFolder } from '../temp-folder.ts'
import {
  chat,
  completion,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
} from './harness.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.stop())

const startFailing = async () => {
  const failing = await startTestServer({ ledgerFails: true })
  return { ...failing, [Symbol.asyncDispose]: failing.stop }
}

const key = () => ({ 'idempotency-key': crypto.randomUUID() })

test('a repeat gets the stored answer, the same to the byte, and is not charged', async () => {
  server.answerWith(() => completion(`answer ${server.asked.length}`))
  const header = key()
  const before = await server.balance()
  const first = await server.post('/v1/chat/completions', chat(), header)
  const again = await server.post('/v1/chat/completions', chat(), header)
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
  expect(again.headers.get('x-cost-usd')).toBe(first.headers.get('x-cost-usd'))
  expect(await again.text()).toBe(await first.text())
  expect(before - (await server.balance())).toBe(60_000n)
})

test('the order of members does not make another body; another body under the same key is refused', async () => {
  const header = key()
  const one = await server.post(
    '/v1/chat/completions',
    '{"model":"mock/small","messages":[{"role":"user","content":"hi"}]}',
    header,
  )
  expect(one.status).toBe(200)
  const same = await server.post(
    '/v1/chat/completions',
    '{"messages":[{"content":"hi","role":"user"}], "model":"mock/small"}',
    header,
  )
  expect(same.headers.get('idempotent-replayed')).toBe('true')
  const other = await server.post('/v1/chat/completions', chat({ temperature: 1 }), header)
  expect(other.status).toBe(409)
  expect((await jsonOf(other)).error.code).toBe('idempotency_key_reused')
})

test('copies that arrive together join one run', async () => {
  const asked = server.asked.length
  const before = await server.balance()
  server.answerWith(async () => {
    await Bun.sleep(20)
    return completion('joined')
  })
  const header = key()
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => server.post('/v1/chat/completions', chat(), header)),
  )
  const texts = await Promise.all(answers.map((answer) => answer.text()))
  expect(new Set(texts).size).toBe(1)
  expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true').length).toBe(4)
  expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(1)
  expect(server.asked.length - asked).toBe(1)
  expect(before - (await server.balance())).toBe(60_000n)
})

test('a stream is joined while it runs and replayed after, byte for byte, and runs on when its caller leaves', async () => {
  const before = await server.balance()
  server.answerWith(() => streaming(streamEvents(['a ', 'b ', 'c'])))
  const header = key()
  const body = chat({ stream: true, stream_options: { include_usage: true } })
  const first = await server.post('/v1/chat/completions', body, header)
  const joined = await server.post('/v1/chat/completions', body, header)
  await first.body?.cancel()
  const text = await joined.text()
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  const replayed = await server.post('/v1/chat/completions', body, header)
  expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  expect(await replayed.text()).toBe(text)
  expect(before - (await server.balance())).toBe(60_000n)
})

test('while a joined stream is silent, its connection is not one that says nothing', async () => {
  const rest = Promise.withResolvers<void>()
  server.answerWith(() => {
    const pieces = async function* () {
      for (const [at, event] of streamEvents(['a ', 'b ']).entries()) {
        if (at === 2) await rest.promise
        yield new TextEncoder().encode(event)
      }
    }
    return new Response(pieces() as never, { headers: { 'content-type': 'text/event-stream' } })
  })
  const { token } = await server.newKey()
  const headers = { ...key(), authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify(chat({ stream: true })) }
  const ended: string[] = []
  const { fetch } = createApp(server)
  const [first, joined] = await Promise.all(
    ['first', 'joined'].map((name) =>
      fetch(new Request('http://turnpike.test/v1/chat/completions', sent), {
        peer: () => undefined,
        ended: () => ended.push(name),
      }),
    ),
  )
  expect([joined?.headers.get('idempotent-replayed'), ended]).toEqual(['true', []])
  rest.resolve()
  expect(await joined?.text()).toBe((await first?.text()) ?? '')
  expect(ended.sort()).toEqual(['first', 'joined'])
})

test('a failure that charged nothing is not stored: the repeat runs', async () => {
  const header = key()
  server.answerWith(() => new Response('', { status: 500 }))
  expect((await server.post('/v1/chat/completions', chat(), header)).status).toBe(503)
  server.answerWith(() => completion('now'))
  const again = await server.post('/v1/chat/completions', chat(), header)
  expect(again.status).toBe(200)
  expect(again.headers.get('idempotent-replayed')).toBeNull()
})

test("a claim whose answer was lost is in nobody's way, be it new or taken over from an attempt before", async () => {
  const [fresh, failed] = [key(), key()]
  // Its callers take the first answer, even one about the ledger.
  await using server = await startFailing()
  server.answerWith(() => new Response('', { status: 500 }))
  expect((await server.post('/v1/chat/completions', chat(), failed)).status).toBe(503)
  server.answerWith(() => completion('now'))
  const { begin } = server.store.idempotency
  const unheard: typeof begin = async (entry) => {
    await begin(entry)
    throw new StoreFault('no answer')
  }
  Object.assign(server.store.idempotency, { begin: unheard })
  try {
    for (const header of [fresh, failed])
      expect((await server.post('/v1/chat/completions', chat(), header)).status).toBe(503)
  } finally {
    Object.assign(server.store.idempotency, { begin })
  }
  for (const header of [fresh, failed])
    expect((await server.post('/v1/chat/completions', chat(), header)).status).toBe(200)
})

test('the scope of a key is its owner and its endpoint', async () => {
  const header = key()
  const other = await server.newKey()
  server.answerWith(() => completion('mine'))
  expect(
    (await server.post('/v1/chat/completions', chat(), header)).headers.get('idempotent-replayed'),
  ).toBeNull()
  expect(
    (await server.post('/v1/chat/completions', chat(), header, other.token)).headers.get(
      'idempotent-replayed',
    ),
  ).toBeNull()
  const run = { model: 'mock/small', inputs: { messages: chat().messages } }
  expect((await server.post('/v1/run', run, header)).headers.get('idempotent-replayed')).toBeNull()
})

test('a disabled key gets 403, not the stored answer', async () => {
  const own = await server.newKey()
  const header = key()
  expect((await server.post('/v1/chat/completions', chat(), header, own.token)).status).toBe(200)
  await server.store.keys.changeKey(own.id, { disabledReason: 'operator', byCreator: true }, byTest)
  while ((await server.post('/v1/chat/completions', chat(), {}, own.token)).status === 200) await Bun.sleep(5)
  expect((await server.post('/v1/chat/completions', chat(), header, own.token)).status).toBe(403)
})

test('/api/idempotent-run needs the header, and is /v1/run otherwise', async () => {
  const run = { model: 'mock/small', inputs: { messages: chat().messages } }
  const without = await server.post('/api/idempotent-run', run)
  expect(without.status).toBe(400)
  expect((await jsonOf(without)).error).toBe('missing_idempotency_key')
  server.answerWith(() => completion('ran'))
  const header = key()
  const first = await server.post('/api/idempotent-run', run, header)
  expect((await jsonOf(first)).choices[0].message.content).toBe('ran')
  expect((await server.post('/api/idempotent-run', run, header)).headers.get('idempotent-replayed')).toBe(
    'true',
  )
  const wrong = await server.post('/api/idempotent-run', { model: 'mock/none', inputs: {} }, key())
  expect([wrong.status, (await jsonOf(wrong)).error.code]).toEqual([400, 'model_not_found'])
})

test.each(['', ' ', 'a,b', 'x'.repeat(256), 'ü'])('an Idempotency-Key of %j is refused', async (bad) => {
  const response = await server.post('/v1/chat/completions', chat(), { 'idempotency-key': bad })
  if (bad.trim() === '') expect([200, 400]).toContain(response.status)
  else expect(response.status).toBe(400)
})

test('calls that a rate refuses leave no claims behind, however many come', async () => {
  const folder = await tempFolder('turnpike-claims-')
  const limited = await startTestServer({ url: `sqlite:${folder}/ledger.db` })
  try {
    const { token } = await limited.newKey({ rpm: 1 })
    const status = async () => (await limited.post('/v1/chat/completions', chat(), key(), token)).status
    expect(await status()).toBe(200)
    const refused = await Promise.all(Array.from({ length: 20 }, status))
    expect(new Set(refused)).toEqual(new Set([429]))
    const claims = new Database(`${folder}/ledger.db`, { readonly: true })
    expect(claims.query('select count(*) as n from idempotency').get()).toEqual({ n: 1 })
    claims.close()
  } finally {
    await limited.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
