/**
 * The writer of responses in the background: there is one, a ledger whose answers are lost loses no event, and what was
 * said before a cancellation is not called cancelled.
 */
import { expect, test } from 'bun:test'
import { StoreFault } from '../../src/store/faults.ts'
import { until } from '../until.ts'
import { completion, jsonOf, startTestServer, streamEvents, type TestServer } from './harness.ts'

const asked = { model: 'mock/small', input: 'hi', background: true }
const streamed = { ...asked, stream: true }
const lost = () => new StoreFault('the connection was lost')

type Background = {
  -readonly [Act in keyof TestServer['store']['background']]: TestServer['store']['background'][Act]
}
const started = async () => {
  const server = await startTestServer({ ledgerFails: true, options: { responsesKeptMs: 3_600_000 } })
  const background: Background = server.gateway.store.background
  return { server, background, real: { ...background } }
}
const slowly = (words: number, everyMs: number): Response => {
  const pieces = async function* () {
    for (const event of streamEvents(Array.from({ length: words }, (_word, at) => `w${at} `))) {
      await Bun.sleep(everyMs)
      yield new TextEncoder().encode(event)
    }
  }
  return new Response(pieces() as never, { headers: { 'content-type': 'text/event-stream' } })
}
const expectWhole = (text: string, words: number) => {
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, at]) => Number(at))
  expect(numbers).toEqual(numbers.map((_number, at) => at))
  expect(text.match(/"delta":"w\d+ "/g)).toHaveLength(words)
  expect(text.includes('event: response.completed')).toBe(true)
}

test('a response that begins while the writer of the last one looks for news is written by that one alone', async () => {
  const { server, background, real } = await started()
  try {
    // The first ends in the turn in which the writer looks for news: ten turns after the look before.
    const looks = Promise.withResolvers<void>()
    const news = Promise.withResolvers<void>()
    let looked = 0
    let tries = 0
    background.news = async (owner) => {
      if (++looked === 2) {
        looks.resolve()
        await news.promise
      }
      return real.news(owner)
    }
    background.end = async (it, lifeMs) => {
      if (looked === 0 || (looked === 1 && ++tries < 10)) throw lost()
      await real.end(it, lifeMs)
    }
    let writing = 0
    let most = 0
    background.append = async (all) => {
      most = Math.max(most, ++writing)
      await Bun.sleep(150)
      await real.append(all)
      writing--
    }
    server.answerWith(() => completion('hello'))
    await server.post('/v1/responses', asked)
    await looks.promise
    expect(server.gateway.memory.jobs.responses.size).toBe(0)
    server.answerWith(() => slowly(60, 10))
    const second = (await server.post('/v1/responses', streamed)).text()
    await until(() => server.gateway.memory.jobs.responses.size === 1)
    news.resolve()
    expectWhole(await second, 60)
    expect(most).toBe(1)
  } finally {
    await server.stop()
  }
})

test.each(['an append', 'every append before the end'])(
  'a ledger that does what it is told and does not say so, %s: no event is lost',
  async (which) => {
    const { server, background, real } = await started()
    try {
      let times = 0
      background.append = async (all) => {
        await real.append(all)
        if (++times === 2 || which !== 'an append') throw lost()
      }
      server.answerWith(() => slowly(30, 15))
      const first = await server.post('/v1/responses', streamed)
      expectWhole(await first.text(), 30)
    } finally {
      await server.stop()
    }
  },
)

test('a response whose beginning the ledger did not confirm ends as failed, and is not charged', async () => {
  const { server, background, real } = await started()
  try {
    background.begin = async (it, lifeMs) => {
      await real.begin(it, lifeMs)
      throw lost()
    }
    const before = await server.balance()
    const once = { 'idempotency-key': 'once' }
    expect((await server.post('/v1/responses', asked, once)).status).toBe(503)
    Object.assign(background, real)
    let repeat: Record<string, unknown> = {}
    await until(async () => {
      repeat = (await (await server.post('/v1/responses', asked, once)).json()) as typeof repeat
      return repeat.status === 'failed'
    })
    expect(repeat.error).toMatchObject({ message: 'The ledger did not confirm it, so it was not made.' })
    await until(() => server.gateway.memory.jobs.responses.size === 0)
    expect([server.asked.length, await server.balance(), server.openCalls()]).toEqual([0, before, 0])
  } finally {
    await server.stop()
  }
})

test('cancelled while its paid answer is being kept: it is complete, as its conversation says', async () => {
  const { server } = await started()
  const kept = Promise.withResolvers<void>()
  try {
    const { responses } = server.gateway.store
    const keeping = Promise.withResolvers<void>()
    const { addItems } = responses
    Object.assign(responses, {
      addItems: async (...items: Parameters<typeof addItems>) => {
        keeping.resolve()
        await kept.promise
        return addItems(...items)
      },
    })
    const { token } = await server.newKey()
    const conversation = (await jsonOf(await server.post('/v1/conversations', {}, {}, token))).id
    server.answerWith(() => completion('hello'))
    const { id } = await jsonOf(await server.post('/v1/responses', { ...asked, conversation }, {}, token))
    await keeping.promise
    const [open] = server.gateway.memory.jobs.responses.values()
    const cancelling = server.send('POST', `/v1/responses/${id}/cancel`, undefined, token)
    await until(() => open?.stop.signal.aborted === true)
    kept.resolve()
    const cancelled = await jsonOf(await cancelling)
    expect([cancelled.status, cancelled.output.length]).toEqual(['completed', 1])
    const items = await jsonOf(await server.get(`/v1/conversations/${conversation}/items`, token))
    expect(items.data).toHaveLength(2)
  } finally {
    kept.resolve()
    await server.stop()
  }
})
