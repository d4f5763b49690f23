/** Streams in the background under an Idempotency-Key: whoever repeats one reads it, and gives its place back. */
import { expect, test } from 'bun:test'
import { createApp } from '../../src/http/app.ts'
import { until } from '../until.ts'
import { completion, startTestServer, streamEvents, streaming } from './harness.ts'

const asked = { model: 'mock/small', input: 'hi', background: true, stream: true }
const once = { 'idempotency-key': 'once' }
const numbersOf = (text: string) => [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, at]) => Number(at))

test('a repeat after its end, and two at once, read the whole stream; their places are free then', async () => {
  const server = await startTestServer({ options: { responsesKeptMs: 3_600_000 } })
  try {
    server.answerWith(() => streaming(streamEvents(['a', 'b'])))
    const first = await (await server.post('/v1/responses', asked, once)).text()
    expect(first).toContain('response.completed')
    await until(() => server.gateway.memory.repeats.size === 0)
    for (const copies of [1, 2]) {
      const repeats = await Promise.all(
        Array.from({ length: copies }, () => server.post('/v1/responses', asked, once)),
      )
      for (const repeat of repeats) {
        expect(repeat.headers.get('idempotent-replayed')).toBe('true')
        expect(await repeat.text()).toBe(first)
      }
    }
    // One whose reader hangs up.
    await (await server.post('/v1/responses', asked, once)).body?.cancel()
    await until(() => server.gateway.capacity.calls.used() === 0)
    await until(() => server.gateway.memory.repeats.size === 0)
    expect(server.asked).toHaveLength(1)
  } finally {
    await server.stop()
  }
})

test('the connection of a request in the background is idle once its answer is sent, whatever its call does', async () => {
  const server = await startTestServer({ options: { responsesKeptMs: 3_600_000 } })
  const rest = Promise.withResolvers<void>()
  try {
    server.answerWith(async ({ body }) => {
      await rest.promise
      return body.stream === true ? streaming(streamEvents(['a'])) : completion('a')
    })
    const { token } = await server.newKey()
    const { fetch } = createApp(server)
    let ended = 0
    const ask = (body: object) =>
      fetch(
        new Request('http://turnpike.test/v1/responses', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
        { peer: () => undefined, ended: () => ended++ },
      )
    await ask({ ...asked, stream: false })
    expect(ended).toBe(1)
    const stream = await ask(asked)
    expect(ended).toBe(1)
    rest.resolve()
    expect(await stream.text()).toContain('response.completed')
    await until(() => server.openCalls() === 0)
    expect(ended).toBe(2)
  } finally {
    await server.stop()
  }
})

test('whoever reads a stream again and takes nothing of it for long is gone, and its place is free', async () => {
  const server = await startTestServer({ options: { responsesKeptMs: 3_600_000, readerMs: 100 } })
  try {
    server.answerWith(() => streaming(streamEvents(['a', 'b'])))
    const first = await (await server.post('/v1/responses', asked)).text()
    const [id] = /resp_\w+/.exec(first) ?? []
    await until(() => server.openCalls() === 0)
    const unread = await server.get(`/v1/responses/${id}?stream=true`)
    expect(server.gateway.capacity.calls.used()).toBe(1)
    await until(() => server.gateway.capacity.calls.used() === 0)
    // It can be taken up again.
    expect(await (await server.get(`/v1/responses/${id}?stream=true`)).text()).toBe(first)
    await unread.body?.cancel()
  } finally {
    await server.stop()
  }
})

test('where there is no room to record it, the stream ends, and the rest is read from the response', async () => {
  const events = streamEvents(Array.from({ length: 40 }, () => 'w'.repeat(10_000)))
  const server = await startTestServer({
    options: { responsesKeptMs: 3_600_000, bodyBytesMax: 100_000, bufferBytesMax: 400_000 },
  })
  const rest = Promise.withResolvers<void>()
  try {
    server.answerWith(() => {
      const pieces = async function* () {
        for (const [at, event] of events.entries()) {
          if (at === 38) await rest.promise
          yield new TextEncoder().encode(event)
        }
      }
      return new Response(pieces() as never, { headers: { 'content-type': 'text/event-stream' } })
    })
    const cut = await (await server.post('/v1/responses', asked, once)).text()
    rest.resolve()
    expect(cut.includes('response.completed')).toBe(false)
    const seen = numbersOf(cut)
    const [id] = /resp_\w+/.exec(cut) ?? []
    const after = await server.get(`/v1/responses/${id}?stream=true&starting_after=${seen.at(-1)}`)
    const text = await after.text()
    expect(text.includes('response.completed')).toBe(true)
    const all = [...seen, ...numbersOf(text)]
    expect(all).toEqual(all.map((_number, at) => at))
    await until(() => server.gateway.capacity.bytes.used() === 0)
  } finally {
    rest.resolve()
    await server.stop()
  }
})
