/**
 * A call that fits in what its limits have left is admitted, in everyday use, whatever leases, other processes and the
 * last seconds say. It waits for money that open calls hold and then gets a 429; only spent money is a 402.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
  USD,
} from './harness.ts'

/** 64,000 tokens at 25 USD a million: an answer without a bound may cost 1.60 USD. */
const dear = testModel('dear', {
  maxOutputTokens: 64_000,
  contextTokens: 200_000,
  price: { rates: { input: 5_000_000, output: 25_000_000 }, tiers: [], version: 't' },
  capabilities: ['streaming', 'reasoning'],
})
const models = [testModel('small'), dear]
const CENT = USD / 100n

for (const kind of serverEngines) {
  describe(`a call that fits, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: TestServer

    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({
        url: database.url,
        fund: 100n * USD,
        models,
        // A vendor that is slower than calls wait for held money.
        options: { timeouts: { firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 } },
      })
    })
    afterAll(() => stopSound(server, database))

    const ask = (token: string, more: object = {}, at = server) =>
      at.post('/v1/chat/completions', chat({ model: 'mock/dear', ...more }), {}, token)

    test('is answered call after call by a key with a cap, without max_tokens', async () => {
      server.answerWith(() => completion('hello'))
      for (const limits of [{ spendCap: USD }, { monthlyCap: USD }]) {
        const { token } = await server.newKey(limits)
        const statuses: number[] = []
        for (let calls = 0; calls < 24; calls++) statuses.push((await ask(token)).status)
        expect(statuses).toEqual(statuses.map(() => 200))
      }
    })

    test('is answered ten at once under a cap that holds what they start with', async () => {
      server.answerWith(() => streaming(streamEvents(['a', 'b'])))
      const { token } = await server.newKey({ spendCap: 5n * USD })
      const answers = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const response = await ask(token, { stream: true })
          return [response.status, eventsOf(await response.text()).at(-1)]
        }),
      )
      expect(answers).toEqual(answers.map(() => [200, '[DONE]']))
    })

    test('is answered for the second key of a small wallet', async () => {
      const poor = await startTestServer({ url: database.url, fund: 3n * CENT, models })
      try {
        poor.answerWith(() => completion('hello'))
        const second = await poor.newKey()
        for (let calls = 0; calls < 6; calls++) {
          const token = calls % 2 === 0 ? undefined : second.token
          const response = await poor.post('/v1/chat/completions', chat({ max_tokens: 1_500 }), {}, token)
          expect(response.status).toBe(200)
        }
      } finally {
        await poor.stop()
      }
    })

    test('is answered though its long prompt is bounded far above what it costs, and the house pays little', async () => {
      const text = 'The quick brown fox jumps over the lazy dog. '.repeat(2_200)
      const long = { messages: [{ role: 'user', content: text }], max_tokens: 100 }
      const price = (tokens: number) => (tokens * 5_000_000 + 100 * 25_000_000) / 1e12
      // Some 100 KB hold 0.50 USD by their bytes and cost 0.11.
      const { token } = await server.newKey({ spendCap: USD / 4n })
      const counted = { prompt_tokens: 22_000, completion_tokens: 100, total_tokens: 22_100 }
      server.answerWith(() => completion('hello', counted))
      const answer = await ask(token, long)
      expect([answer.status, Number(answer.headers.get('x-cost-usd'))]).toEqual([200, price(22_000)])
      // Where the vendor counts more than that bound, the house pays the rest, and the estimate learns.
      server.answerWith(() => completion('hello', { ...counted, prompt_tokens: 60_000 }))
      const dense = await ask((await server.newKey({ spendCap: USD / 4n })).token, long)
      expect(dense.status).toBe(200)
      expect(Number(dense.headers.get('x-cost-usd'))).toBeLessThanOrEqual(0.25)
      expect((await ask((await server.newKey({ spendCap: USD / 4n })).token, long)).status).toBe(402)
    })

    test('waits for money that another call holds, and gets it', async () => {
      const { token } = await server.newKey({ spendCap: 2n * CENT })
      let finish: (response: Response) => void = () => undefined
      const held = new Promise<Response>((resolve) => {
        finish = resolve
      })
      const before = server.asked.length
      server.answerWith(() => (server.asked.length === before + 1 ? held : completion('hello')))
      const first = ask(token, { max_tokens: 700 })
      while (server.asked.length === before) await Bun.sleep(1)
      const second = ask(token, { max_tokens: 600 })
      await Bun.sleep(100)
      finish(completion('hello'))
      expect((await first).status).toBe(200)
      expect((await second).status).toBe(200)
    })

    test('is a 429 that says when to come back while the money is held, and a 402 once it is spent', async () => {
      const { token } = await server.newKey({ spendCap: 2n * CENT })
      let finish: (response: Response) => void = () => undefined
      const held = new Promise<Response>((resolve) => {
        finish = resolve
      })
      const before = server.asked.length
      server.answerWith(() => held)
      const first = ask(token, { max_tokens: 700 })
      while (server.asked.length === before) await Bun.sleep(1)
      const busy = await ask(token, { max_tokens: 600 })
      const { error } = await jsonOf(busy)
      expect([busy.status, error.type, error.code]).toEqual([429, 'rate_limit_error', 'balance_held'])
      expect([error.limit, error.limit_owner, error.retry_after]).toEqual(['spend_cap_usd', 'key', 2])
      expect(busy.headers.get('retry-after')).toBe('2')
      expect(error.held_credits).toBeGreaterThan(0)
      expect(server.asked.length).toBe(before + 1)
      finish(completion('hello', { prompt_tokens: 10, completion_tokens: 600, total_tokens: 610 }))
      expect((await first).status).toBe(200)
      const spent = await ask(token, { max_tokens: 600 })
      const shortage = (await jsonOf(spent)).error
      expect([spent.status, shortage.code, shortage.held_credits]).toEqual([402, 'insufficient_balance', 0])
      expect(shortage.required_credits).toBeGreaterThan(shortage.available_credits)
    })

    test('is a 429 as well where other keys of the sub-wallet hold its money', async () => {
      const { id } = await jsonOf(await server.send('POST', '/api/wallet/sub-wallets', { budget_usd: 0.02 }))
      const [one, other] = await Promise.all(
        [1, 2].map(() => server.newKey({ spendCap: USD }, { subWallet: id })),
      )
      let finish: (response: Response) => void = () => undefined
      const held = new Promise<Response>((resolve) => {
        finish = resolve
      })
      const before = server.asked.length
      server.answerWith(() => held)
      const first = ask(one!.token, { max_tokens: 700 })
      while (server.asked.length === before) await Bun.sleep(1)
      const busy = await ask(other!.token, { max_tokens: 600 })
      const { error } = await jsonOf(busy)
      expect([busy.status, error.code, error.limit]).toEqual([429, 'balance_held', 'sub_wallet'])
      finish(completion('hello'))
      expect((await first).status).toBe(200)
      server.answerWith(() => completion('hello'))
      expect((await ask(other!.token, { max_tokens: 600 })).status).toBe(200)
    })

    test('names the cap that binds and whose it is', async () => {
      server.answerWith(() => completion('hello'))
      const reseller = await server.newKey({ spendCap: CENT })
      const { token } = await server.newKey({ monthlyCap: 2n * CENT }, { parentId: reseller.id })
      const refused = await ask(token, { max_tokens: 600 })
      const { error } = await jsonOf(refused)
      expect([refused.status, error.limit, error.limit_owner]).toEqual([402, 'spend_cap_usd', 'parent'])
      expect(error.message).toContain('the lifetime cap of a key above this one has 1 available')
      expect(error.message).toContain('Only the operator or the reseller can raise the limit')
      expect(error.required_credits).toBeGreaterThan(error.available_credits)
    })

    if (kind.name === 'PostgreSQL')
      test('is answered by a second process, with the last cents that the first one leased', async () => {
        const other = await startTestServer({ url: database.url, fund: CENT, models })
        try {
          for (const one of [server, other]) one.answerWith(() => completion('hello'))
          const { token } = await server.newKey({ spendCap: 3n * CENT })
          for (let calls = 0; calls < 8; calls++) {
            const response = await ask(token, { max_tokens: 1_000 }, calls % 2 === 0 ? server : other)
            expect(response.status).toBe(200)
          }
        } finally {
          await other.stop()
        }
      })
  })
}
