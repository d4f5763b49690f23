/**
 * Requests per hour and day, and tokens per minute, over HTTP: what is admitted, what the headers say, and who may
 * change them.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import {
  chat,
  completion,
  jsonOf,
  pausedStream,
  startTestServer,
  streamEvents,
  type TestServer,
  testModel,
} from './harness.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const header = (response: Response, name: string) => response.headers.get(`x-ratelimit-${name}`)

for (const kind of serverEngines)
  describe(`rates, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.fresh>>
    let server: TestServer
    // A whole hour, so that no window turns within a test.
    const start = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR
    let now = start

    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({
        url: database.url,
        now: () => now,
        models: [testModel('small'), testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 })],
      })
    })
    afterAll(() => stopSound(server, database))
    beforeEach(() => {
      server.answerWith(() => completion('x'))
      now += 2 * MINUTE
    })

    const call = (token: string, more: object = {}, headers: Record<string, string> = {}) =>
      server.post('/v1/chat/completions', chat({ max_tokens: 5, ...more }), headers, token)
    const limitsOf = (token: string, body: object) =>
      server.send('PUT', '/v1/key/wholesale/me/limits', body, token)

    test('an hour and a day admit their number, a refusal counts nowhere, and the answer names the window', async () => {
      const { token } = await server.newKey({ rpm: 50, rph: 3, rpd: 4 })
      const answers = await Promise.all(Array.from({ length: 10 }, () => call(token)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
      const admitted = answers.find(({ status }) => status === 200)!
      expect([header(admitted, 'limit'), header(admitted, 'window')]).toEqual(['3', 'rph_limit'])
      const refused = answers.find(({ status }) => status === 429)!
      const { error } = await jsonOf(refused)
      expect(error).toMatchObject({ code: 'rate_limit_exceeded', limit: 'rph_limit' })
      expect([header(refused, 'limit'), header(refused, 'remaining'), header(refused, 'window')]).toEqual([
        '3',
        '0',
        'rph_limit',
      ])
      const left = Math.ceil((HOUR - (now % HOUR)) / 1000)
      expect(error.retry_after).toBe(left)
      expect(Number(header(refused, 'reset')) * 1000).toBe(now - (now % HOUR) + HOUR)
    })

    test('the day binds when the hour has turned, since refusals did not use it up', async () => {
      const { token } = await server.newKey({ rpd: 2 })
      expect([(await call(token)).status, (await call(token)).status]).toEqual([200, 200])
      const { error } = await jsonOf(await call(token))
      expect(error.limit).toBe('rpd_limit')
      expect(error.retry_after).toBe(Math.ceil((start + 24 * HOUR - now) / 1000))
    })

    test('a plan’s rate that is used up is named too', async () => {
      const { token } = await server.newKey({ rpm: 1 })
      await call(token)
      const refused = await call(token)
      expect((await jsonOf(refused)).error.limit).toBe('rpm_limit')
      expect(header(refused, 'window')).toBeNull()
    })

    test('tokens are reserved by the bound of a call and corrected by its usage', async () => {
      const { token } = await server.newKey({ tpm: 1_000 })
      const [gate, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      server.answerWith(async () => {
        waiting.resolve()
        await gate.promise
        return completion('x')
      })
      const first = call(token, { max_tokens: 600 })
      await waiting.promise
      const refused = await call(token, { max_tokens: 600 })
      const { error } = await jsonOf(refused)
      expect([refused.status, error.limit]).toEqual([429, 'tpm_limit'])
      expect(error.retry_after).toBeGreaterThan(0)
      expect(error.retry_after).toBeLessThanOrEqual(60)
      gate.resolve()
      const answered = await first
      expect(answered.status).toBe(200)
      expect(header(answered, 'limit-tokens')).toBe('1000')
      expect(Number(header(answered, 'remaining-tokens'))).toBeLessThanOrEqual(400)
      expect(Number(header(answered, 'reset-tokens')) * 1000).toBe(now - (now % MINUTE) + MINUTE)
      // It used 15, and so there is room for another large one.
      const next = await call(token, { max_tokens: 600 })
      expect([next.status, (await jsonOf(next)).usage.total_tokens]).toEqual([200, 15])
    })

    test('a call that fails or does not fit its money uses no tokens', async () => {
      const { token } = await server.newKey({ tpm: 900 })
      server.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 400 }))
      expect((await call(token, { max_tokens: 700 })).status).toBe(400)
      server.answerWith(() => completion('x'))
      expect((await call(token, { max_tokens: 700 })).status).toBe(200)
      const poor = await server.newKey({ tpm: 900, spendCap: 1_000_000n })
      expect((await call(poor.token, { max_tokens: 700 })).status).toBe(402)
      expect((await call(poor.token, { max_tokens: 5 })).status).toBe(200)
    })

    test('a stream that is given up is corrected by what it delivered', async () => {
      const { token } = await server.newKey({ tpm: 1_000 })
      const gone = new AbortController()
      server.answerWith(() =>
        pausedStream(streamEvents(['a ', 'b ']), 2, async () => {
          gone.abort()
          await new Promise<void>(() => undefined)
        }),
      )
      const response = await server.fetch(
        new Request('http://turnpike.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify(chat({ max_tokens: 600, stream: true })),
          signal: gone.signal,
        }),
      )
      await response.text().catch(() => undefined)
      server.answerWith(() => completion('x'))
      let status = 429
      await until(async () => {
        status = (await call(token, { max_tokens: 600 })).status
        return status !== 429
      })
      expect(status).toBe(200)
    })

    test('without max_tokens a call takes what the minute has left, and a header says so', async () => {
      const { token } = await server.newKey({ tpm: 3_000 })
      const lowered = await call(token, { max_tokens: undefined })
      expect(lowered.status).toBe(200)
      const bound = Number(lowered.headers.get('x-max-tokens-lowered'))
      expect(bound).toBeGreaterThan(2_000)
      expect(bound).toBeLessThan(3_000)
      expect(server.asked.at(-1)?.body.max_tokens).toBe(bound)
      // With fewer tokens than are useful, the call waits for the next minute.
      expect((await call(token, { max_tokens: 2_800 })).status).toBe(200)
      const full = await server.newKey({ tpm: 400 })
      server.answerWith(() =>
        completion('x', { prompt_tokens: 300, completion_tokens: 90, total_tokens: 390 }),
      )
      expect((await call(full.token, { max_tokens: undefined })).status).toBe(200)
      const { error } = await jsonOf(await call(full.token, { max_tokens: undefined }))
      expect(error.limit).toBe('tpm_limit')
    })

    test('what no minute has room for is a 400 that names the limit, and is not counted', async () => {
      const { token } = await server.newKey({ tpm: 500, rpd: 1 })
      const { error } = await jsonOf(await call(token, { max_tokens: 600 }))
      expect([error.code, error.param]).toEqual(['invalid_parameter', 'max_tokens'])
      expect(error.message).toContain('tpm_limit')
      expect((await call(token)).status).toBe(200)
    })

    test('embeddings count their input', async () => {
      const { token } = await server.newKey({ tpm: 500 })
      server.answerWith(() =>
        Response.json({
          object: 'list',
          model: 'embed',
          data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
          usage: { prompt_tokens: 400, total_tokens: 400 },
        }),
      )
      const embed = () =>
        server.post('/v1/embeddings', { model: 'mock/embed', input: 'x'.repeat(300) }, {}, token)
      expect([(await embed()).status, (await embed()).status]).toEqual([200, 429])
    })

    test('limits are set, shown, narrowed by the key and not raised', async () => {
      const { token, id } = await server.newKey({ rph: 100, tpm: 5_000 })
      const set = await limitsOf(token, { rph_limit: 50, rpd_limit: 70, tpm_limit: 5_000 })
      expect((await jsonOf(set)).data).toMatchObject({ rph_limit: 50, rpd_limit: 70, tpm_limit: 5_000 })
      const usage = await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))
      expect(usage.data).toMatchObject({ rpm_limit: null, rph_limit: 50, rpd_limit: 70, tpm_limit: 5_000 })
      for (const body of [{ rph_limit: 101 }, { rph_limit: null }, { tpm_limit: 5_001 }]) {
        const refused = await limitsOf(token, body)
        expect(refused.status).toBe(403)
        expect((await jsonOf(refused)).error.message).toContain(Object.keys(body)[0]!)
      }
      // The key set that one itself.
      expect((await limitsOf(token, { rpd_limit: null })).status).toBe(200)
      for (const body of [{ rpd_limit: 0 }, { tpm_limit: 1.5 }, { rph_limit: 'many' }]) {
        const { error } = await jsonOf(await limitsOf(token, body))
        expect([error.code, error.param]).toEqual(['invalid_parameter', Object.keys(body)[0]])
      }
      expect((await server.store.keys.key(id))?.granted).toEqual({ rph: 100, tpm: 5_000 })
    })

    test('a lowered rate binds at once', async () => {
      const { token } = await server.newKey({ rph: 100 })
      for (let calls = 0; calls < 3; calls++) expect((await call(token)).status).toBe(200)
      expect((await limitsOf(token, { rph_limit: 4 })).status).toBe(200)
      expect([(await call(token)).status, (await call(token)).status]).toEqual([200, 429])
    })
  })
