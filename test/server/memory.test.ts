/** Memory and places that callers and vendors take: counted, bounded, and given back. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { createApp } from '../../src/http/app.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { exchange } from '../../src/transport/exchange.ts'
import { byTest } from '../by-test.ts'
import { until } from '../until.ts'
import { chat, completion, startTestServer, streamEvents, streaming, type TestServer } from './harness.ts'
import { startJobServer } from './job-rig.ts'

const idle = async ({ gateway }: TestServer) => {
  while (gateway.capacity.bytes.used() > 0 || gateway.capacity.calls.used() > 0) await Bun.sleep(1)
}

describe('bodies', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({
      options: { bufferBytesMax: 200_000, keySharePercent: 50, bodyMs: 150 },
    })
  })
  afterAll(() => server.stop())

  /** A request whose body does not end before `until`. */
  const slow = (path: string, token: string, first: string, until: Promise<void>) =>
    server.fetch(
      new Request(`http://turnpike.test${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: new ReadableStream({
          start: async (controller) => {
            controller.enqueue(new TextEncoder().encode(first))
            await until
            controller.close()
          },
        }),
      }),
    )

  test('a body that does not come is a 408 that ends its connection, at every endpoint', async () => {
    const { token } = await server.newKey()
    const never = new Promise<void>(() => undefined)
    for (const path of ['/v1/chat/completions', '/v1/embeddings', '/api/receipts/verify']) {
      const response = await slow(path, token, '{"model":', never)
      expect([response.status, response.headers.get('connection')]).toEqual([408, 'close'])
      expect(await response.text()).toContain('"code":"request_timeout"')
    }
    await idle(server)
  })

  test('one key takes its share of the bytes, all take no more than there are, and all is given back', async () => {
    const [one, two, three] = await Promise.all([server.newKey(), server.newKey(), server.newKey()])
    const big = JSON.stringify(chat({ messages: [{ role: 'user', content: 'x'.repeat(40_000) }] }))
    const finish = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await finish.promise
      return completion('hello')
    })
    const first = server.post('/v1/chat/completions', big, {}, one.token)
    while (server.asked.length < 1) await Bun.sleep(1)
    const more = await server.post('/v1/chat/completions', big, {}, one.token)
    expect([more.status, more.headers.get('retry-after')]).toEqual([429, '1'])
    const second = server.post('/v1/chat/completions', big, {}, two.token)
    while (server.asked.length < 2) await Bun.sleep(1)
    const none = await server.post('/v1/chat/completions', big, {}, three.token)
    expect([none.status, none.headers.get('retry-after')]).toEqual([503, '2'])
    finish.resolve()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    await idle(server)
    expect((await server.post('/v1/chat/completions', big, {}, three.token)).status).toBe(200)
  })

  test('what a body is parsed to counts too, and is not made when it does not fit', async () => {
    const { token } = await server.newKey()
    server.answerWith(() => completion('hello'))
    const of = (unknown: unknown) => server.post('/v1/chat/completions', chat({ unknown }), {}, token)
    // The same length, once as one text and once as values that take many times as much.
    const lists = Array.from({ length: 1_000 }, () => [])
    expect((await of('x'.repeat(JSON.stringify(lists).length))).status).toBe(200)
    const refused = await of(lists)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.text()).toContain('memory for requests')
    await idle(server)
  })
})

test('one key has its share of the open calls, and others have room', async () => {
  const server = await startTestServer({ options: { openCallsMax: 4, keySharePercent: 50 } })
  const finish = Promise.withResolvers<void>()
  server.answerWith(async () => {
    await finish.promise
    return completion('hello')
  })
  const [one, two] = await Promise.all([server.newKey(), server.newKey()])
  const call = (token: string) => server.post('/v1/chat/completions', chat(), {}, token)
  const open = [call(one.token), call(one.token)]
  while (server.asked.length < 2) await Bun.sleep(1)
  const third = await call(one.token)
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1'])
  open.push(call(two.token))
  while (server.asked.length < 3) await Bun.sleep(1)
  finish.resolve()
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200])
  await idle(server)
  await server.stop()
})

describe('vendors', () => {
  const MIB = 1024 * 1024
  const packers: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
    identity: (bytes) => bytes,
    gzip: (bytes) => gzipSync(bytes),
    br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  }
  let sent = 0
  async function* endless() {
    for (const mib = new Uint8Array(MIB); sent < 2_000; sent++) yield mib
  }

  test.each(Object.entries(packers))(
    'an endless answer is given up after its bound, and a small one is read (%s)',
    async (encoding, pack) => {
      sent = 0
      const headers = { 'content-encoding': encoding }
      const small = pack(new TextEncoder().encode('{"small":true}'))
      const large = encoding === 'identity' ? undefined : pack(new Uint8Array(300 * MIB))
      const vendor = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: ({ url }) =>
          new Response(url.endsWith('/small') ? (small as never) : ((large ?? endless()) as never), {
            headers,
          }),
      })
      const ask = (path: string) =>
        exchange({
          fetch,
          url: `http://127.0.0.1:${vendor.port}${path}`,
          headers: {},
          body: new Uint8Array(),
          timeouts: { firstByteMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
        })
      expect(new TextDecoder().decode(await (await ask('/small')).all())).toBe('{"small":true}')
      Bun.gc(true)
      const before = process.memoryUsage.rss()
      await expect((await ask('/')).all()).rejects.toThrow('an answer of more than')
      expect(process.memoryUsage.rss() - before).toBeLessThan(250 * MIB)
      expect(sent).toBeLessThan(200)
      void vendor.stop(true)
    },
  )
})

describe('answers of vendors', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ options: { bufferBytesMax: 1_000_000, keySharePercent: 100 } })
  })
  afterAll(() => server.stop())
  const answered = async (extra: unknown) => {
    const { asked } = server
    const before = asked.length
    server.answerWith(async () => Response.json({ ...((await completion('hello').json()) as object), extra }))
    const response = await server.post('/v1/chat/completions', chat())
    const text = await response.text()
    expect(asked.length).toBe(before + 1)
    await idle(server)
    return [response.status, text.includes('hello')]
  }

  test('what they are parsed to counts too, and is not made when it does not fit', async () => {
    expect(await answered('x'.repeat(100_000))).toEqual([200, true])
    // Three bytes each, and a hundred when they are parsed.
    expect(await answered(Array.from({ length: 33_000 }, () => []))).toEqual([503, false])
    expect(await answered('x'.repeat(100_000))).toEqual([200, true])
  })
})

describe('answers of jobs and counts', () => {
  // Three bytes each, and a hundred when they are parsed.
  const lists = Array.from({ length: 33_000 }, () => [])

  test('what the vendor says of a job is counted while it is read, and is not read when it does not fit', async () => {
    const server = await startJobServer({
      server: { options: { bufferBytesMax: 1_000_000, keySharePercent: 100 } },
    })
    const { bytes } = server.gateway.capacity
    let [extra, polls, counted]: [unknown, number, number] = ['x'.repeat(100_000), 0, 0]
    server.answerWith(({ method = 'POST' }) => {
      if (method === 'POST') return Response.json({ id: 'job-1' })
      const pieces = [JSON.stringify({ is: 'pending', progress: ++polls / 1000, extra }).slice(0, -1), '}']
      return new Response(
        new ReadableStream({
          pull: (controller) => {
            // When it asks for more, it holds what came before.
            if (pieces.length < 2) counted = Math.max(counted, bytes.used())
            const piece = pieces.shift()
            if (piece === undefined) controller.close()
            else controller.enqueue(new TextEncoder().encode(piece))
          },
        }),
        { headers: { 'content-type': 'application/json' } },
      )
    })
    const response = await server.post(
      '/v1/run',
      { model: 'mock/film', inputs: { prompt: 'a fox' } },
      { prefer: 'respond-async' },
    )
    const { id } = (await response.json()) as { id: string }
    const job = () => server.gateway.memory.jobs.open.get(id)
    await until(() => (job()?.progress ?? 0) > 0)
    expect(counted).toBeGreaterThan(100_000)
    extra = lists
    const seen = polls
    await until(() => polls > seen + 2)
    const stood = job()?.progress ?? 0
    await until(() => polls > seen + 4)
    expect(job()?.progress).toBe(stood)
    extra = ''
    await until(() => (job()?.progress ?? 0) > stood)
    server.answerWith(({ method = 'POST' }) =>
      method === 'POST' ? Response.json({ id: 'job-1' }) : Response.json({ is: 'failed' }),
    )
    await until(() => job() === undefined)
    expect(bytes.used()).toBe(0)
    await server.stop()
  })

  test('a job that is over its time ends, also when no answer fits', async () => {
    const server = await startJobServer({
      server: { options: { bufferBytesMax: 1_000_000, keySharePercent: 100 } },
    })
    server.answerWith(({ method = 'POST' }) =>
      Response.json(method === 'POST' ? { id: 'job-1' } : { is: 'pending', extra: lists }),
    )
    const response = await server.post('/v1/run', { model: 'mock/hasty', inputs: { prompt: 'a fox' } })
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringContaining('did not end in time'),
    ])
    expect(server.gateway.capacity.bytes.used()).toBe(0)
    await server.stop()
  })

  test('what the vendor says of the number of tokens counts too', async () => {
    const server = await startTestServer({
      options: { bufferBytesMax: 1_000_000, keySharePercent: 100 },
      vendor: { speaks: 'messages' },
    })
    const count = async (extra: unknown) => {
      server.answerWith(() => Response.json({ input_tokens: 7, extra }))
      const response = await server.post('/v1/messages/count_tokens', chat())
      const { status } = response
      await response.text()
      await idle(server)
      return status
    }
    expect(await count('x'.repeat(100_000))).toBe(200)
    expect(await count(lists)).toBe(503)
    expect(await count('')).toBe(200)
    await server.stop()
  })
})

describe('readers', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ options: { readerMs: 100, bufferBytesMax: 200_000 } })
  })
  afterAll(() => server.stop())

  /** A stream of the vendor that reports how much of it was read. */
  const long = (words: number) => {
    let taken = 0
    const pieces = streamEvents(Array.from({ length: words }, () => 'x'.repeat(1_000)))
    server.answerWith(
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => {
              const piece = pieces[taken++]
              if (piece === undefined) controller.close()
              else controller.enqueue(new TextEncoder().encode(piece))
            },
          }),
        ),
    )
    return () => taken
  }

  test('a reader that takes nothing is gone: its call ends and is charged what was delivered', async () => {
    long(500)
    const before = await server.balance()
    const response = await server.post('/v1/chat/completions', chat({ stream: true }))
    const reader = response.body?.getReader()
    await reader?.read()
    await idle(server)
    while (server.openCalls() > 0) await Bun.sleep(1)
    const paid = before - (await server.balance())
    expect(paid).toBeGreaterThan(0n)
    expect(paid).toBeLessThan(500n * 250n * 10_000n)
  })

  test('a slow reader that takes something now and then is served to the end', async () => {
    long(20)
    const response = await server.post('/v1/chat/completions', chat({ stream: true }))
    let text = ''
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(piece)
      await Bun.sleep(20)
    }
    expect(text).toContain('[DONE]')
  })

  test('a recording that nobody reads ends where its room does, and its bytes come back', async () => {
    const taken = long(2_000)
    const response = await server.post(
      '/v1/chat/completions',
      { ...chat({ stream: true }), max_tokens: 8_000 },
      { 'idempotency-key': 'stalled' },
    )
    await idle(server)
    expect(taken()).toBeLessThan(400)
    const again = await server.post(
      '/v1/chat/completions',
      { ...chat({ stream: true }), max_tokens: 8_000 },
      { 'idempotency-key': 'stalled' },
    )
    // The answer says that it was cut, and every repeat gets the same.
    expect(await again.text()).toContain('"finish_reason":"length"')
    await response.body?.cancel()
  })
})

test('an overloaded process turns calls away before it looks at key or body, and nothing else', async () => {
  const server = await startTestServer()
  const { overload } = server.gateway.capacity
  for (let call = 0; call < 100; call++) overload.enter('Bearer busy')
  for (let note = 0; note < 200; note++) overload.note(10, 4)
  const { fetch, turnAway } = createApp(server)
  const asked = (path: string, authorization: string, method = 'POST') =>
    new Request(`http://turnpike.test${path}`, {
      method,
      headers: { authorization },
      ...(method === 'POST' ? { body: 'no JSON' } : {}),
    })
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/embeddings']) {
    const [quick, slow] = [turnAway(asked(path, 'Bearer busy')), await fetch(asked(path, 'Bearer busy'))]
    expect([quick?.status, quick?.headers.get('retry-after')]).toEqual([503, '2'])
    // The quick answer equals every other refusal, except for the request's own id.
    const [told, other] = [await alike(quick), await alike(slow)]
    expect(told).toEqual(other)
  }
  // A caller with few open calls is still let in, and only calls of models are refused.
  expect(turnAway(asked('/v1/chat/completions', 'Bearer another'))).toBeUndefined()
  expect((await fetch(asked('/v1/chat/completions', 'Bearer another'))).status).toBe(401)
  for (const path of ['/readyz', '/v1/usage', '/v1/models'])
    expect(turnAway(asked(path, 'Bearer busy', 'GET'))).toBeUndefined()
  expect((await fetch(asked('/v1/usage', 'Bearer busy', 'GET'))).status).toBe(401)
  expect(await (await server.get('/api/status', '')).text()).toContain('The server is overloaded')
  await server.stop()
})

/** An answer without the id that it carries at several places. */
const alike = async (response: Response | undefined) => {
  const id = response?.headers.get('x-request-id') ?? ''
  const text = JSON.stringify([...(response?.headers ?? [])].sort()) + (await response?.text())
  expect(id).not.toBe('')
  return text.replaceAll(id, 'its id')
}

test('a call is in hand until its answer has ended, whatever it is', async () => {
  const server = await startTestServer()
  const { overload } = server.gateway.capacity
  server.answerWith(({ body }) => {
    expect(overload.inHand()).toBe(1)
    return body.stream === true ? streaming(streamEvents(['x'])) : completion('x')
  })
  for (const body of [chat(), chat({ stream: true }), 'no JSON'])
    await (await server.post('/v1/chat/completions', body)).text()
  expect((await server.post('/v1/chat/completions', chat(), {}, 'sk-unknown')).status).toBe(401)
  expect(overload.inHand()).toBe(0)
  await server.stop()
})

test('a key keeps so many bytes of answers a day; what is kept is still repeated, and other calls go on', async () => {
  const server = await startTestServer({ options: { keptBytesMax: 1_000 } })
  server.answerWith(() => completion('x'.repeat(2_000)))
  const [one, two] = await Promise.all([server.newKey(), server.newKey()])
  const call = (name: string | undefined, token: string) =>
    server.post('/v1/chat/completions', chat(), name === undefined ? {} : { 'idempotency-key': name }, token)
  const first = await call('a', one.token)
  const again = await call('b', one.token)
  expect([first.status, again.status]).toEqual([200, 429])
  expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(80_000)
  expect(await (await call('a', one.token)).text()).toBe(await first.text())
  expect([(await call(undefined, one.token)).status, (await call('b', two.token)).status]).toEqual([200, 200])
  await idle(server)
  await server.stop()
})

test('all keys of a wallet together keep so many bytes a day; another wallet has its own', async () => {
  const server = await startTestServer({ options: { keptBytesMax: 10_000, keptWalletBytesMax: 3_000 } })
  server.answerWith(() => completion('x'.repeat(2_000)))
  await server.store.wallets.createWallet({ id: 'w_other', orgId: 'org_test', name: 'other' }, byTest)
  const call = async ({ token }: { token: string }) =>
    (await server.post('/v1/chat/completions', chat(), { 'idempotency-key': 'a' }, token)).status
  const statuses: number[] = []
  for (let made = 0; made < 3; made++) statuses.push(await call(await server.newKey()))
  expect(statuses).toEqual([200, 200, 429])
  // Its wallet is empty, which is found out later.
  expect(await call(await server.newKey({}, { walletId: 'w_other' }))).toBe(402)
  await idle(server)
  await server.stop()
})

test('a key may ask for so many reports a minute; another one has its own', async () => {
  const server = await startTestServer({ options: { reportRpm: 2 } })
  const [one, two] = await Promise.all([server.newKey(), server.newKey()])
  const statuses: number[] = []
  for (let asked = 0; asked < 3; asked++) statuses.push((await server.get('/v1/usage', one.token)).status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await server.get('/v1/usage', two.token)).status).toBe(200)
  await server.stop()
})

test('connections that say nothing are closed, and lock nobody out', async () => {
  const server = await startTestServer({ options: { connectionSeconds: 1 } })
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const { token } = await server.newKey()
  const { promise: allClosed, resolve } = Promise.withResolvers<void>()
  let closed = 0
  const count = 500
  for (let index = 0; index < count; index++)
    await Bun.connect({
      hostname: '127.0.0.1',
      port: listening.port,
      socket: {
        open: (socket) => void socket.write('GET /livez HTTP/1.1\r\nHost: turnpike.test\r\n\r\n'),
        data: () => undefined,
        close: () => {
          if (++closed === count) resolve()
        },
      },
    })
  const response = await fetch(`http://127.0.0.1:${listening.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(chat()),
  })
  expect(response.status).toBe(200)
  await allClosed
  listening.stop()
  await server.stop()
})
