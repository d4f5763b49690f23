/** What binds a key beside money and rates, and all keys below it: its end, its models, its addresses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import { until } from '../until.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const HOUR = 3_600_000
const models = [
  testModel('small'),
  testModel('smalll', { cheaper: { tier: 'flex', price: testModel('small').price } }),
  testModel('large'),
]

for (const kind of serverEngines) {
  describe(`bounds of a key, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: TestServer

    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({ url: database.url, models })
      server.answerWith(() => completion('x'))
    })
    afterAll(() => stopSound(server, database))

    const request = (token: string, path: string, body?: unknown) =>
      new Request(`http://turnpike.test${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const call = (token: string, model = 'mock/small', from?: string) =>
      server.fetchFrom(from, request(token, '/v1/chat/completions', chat({ model, max_tokens: 5 })))
    const outcome = async (answer: Response) => [answer.status, (await jsonOf(answer)).error?.code]
    const put = (token: string, body: object, whose = 'me') =>
      server.send('PUT', `/v1/key/wholesale/${whose}/limits`, body, token)
    const make = (token: string, body: object) =>
      server.send('POST', '/v1/key/wholesale', { label: 'below', ...body }, token)
    const listed = async (token: string) =>
      (await jsonOf(await server.get('/v1/models', token))).data.map(({ id }: { id: string }) => id)

    test('an expired key is unknown to everything, with the keys below it, until it gets more time', async () => {
      const maker = await server.newKey({ expiresAt: Date.now() + HOUR }, { canManage: true })
      const below = await server.newKey({}, { parentId: maker.id })
      expect([(await call(maker.token)).status, (await call(below.token)).status]).toEqual([200, 200])
      const soon = new Date(Date.now() + 30).toISOString()
      expect((await put(maker.token, { expires_at: soon })).status).toBe(200)
      await until(async () => (await call(maker.token)).status === 401)
      const refused = await jsonOf(await call(below.token))
      expect(refused.error).toMatchObject({ code: 'invalid_api_key', reason: 'expired' })
      expect(refused.error.message).toContain('above this one')
      expect((await server.get('/v1/models', below.token)).status).toBe(401)
      expect((await put(maker.token, { expires_at: null })).status).toBe(401)
      await server.gateway.book.changeKey(
        maker.id,
        { expiresAt: Date.now() + HOUR, byCreator: true },
        { kind: 'command', id: 'test', name: 'test' },
      )
      expect([(await call(maker.token)).status, (await call(below.token)).status]).toEqual([200, 200])
    })

    test('a key calls and lists only its models, and those below it only what both allow', async () => {
      const maker = await server.newKey({}, { canManage: true })
      const all = await listed(maker.token)
      expect(all).toContain('mock/large')
      expect(await outcome(await put(maker.token, { allowed_models: ['nothing/*'] }))).toEqual([
        400,
        'invalid_parameter',
      ])
      const set = await jsonOf(await put(maker.token, { allowed_models: ['mock/small*'] }))
      expect(set.data.allowed_models).toEqual(['mock/small*'])
      const below = await server.newKey({}, { parentId: maker.id })
      for (const { token } of [maker, below]) {
        expect(await outcome(await call(token, 'mock/large'))).toEqual([403, 'model_not_allowed'])
        expect((await call(token)).status).toBe(200)
        expect(await listed(token)).toEqual(['mock/small', 'mock/smalll'])
        expect((await server.get('/v1/models/mock/large', token)).status).toBe(403)
      }
      await put(maker.token, { allowed_models: ['mock/*'] }, below.id)
      expect(await outcome(await call(below.token, 'mock/large'))).toEqual([403, 'model_not_allowed'])
      expect((await put(maker.token, { allowed_models: null })).status).toBe(200)
      expect((await call(below.token, 'mock/large')).status).toBe(200)
      // The discounted model follows the rule of its twin.
      await put(maker.token, { allowed_models: ['mock/small'] })
      expect((await call(maker.token, 'mock/smalll')).status).toBe(200)
    })

    test('a key answers only to its addresses, whatever it is asked', async () => {
      const maker = await server.newKey({ allowedAddresses: ['10.1.0.0/16', '2001:db8::/32'] })
      const below = await server.newKey({}, { parentId: maker.id })
      for (const { token } of [maker, below]) {
        for (const from of ['10.1.2.3', '2001:db8::7', '::ffff:10.1.0.9'])
          expect([from, (await call(token, undefined, from)).status]).toEqual([from, 200])
        for (const from of ['10.2.0.1', '2001:db9::7', undefined])
          expect(await outcome(await call(token, undefined, from))).toEqual([403, 'forbidden'])
        const usage = request(token, '/v1/key/wholesale/me/usage')
        expect((await server.fetchFrom('10.2.0.1', usage.clone() as Request)).status).toBe(403)
        expect((await server.fetchFrom('10.1.0.1', usage)).status).toBe(200)
      }
    })

    test('a key only narrows itself, and gives at most its own', async () => {
      const expiresAt = Date.now() + HOUR
      const { token } = await server.newKey(
        { expiresAt, allowedModels: ['mock/small*'], allowedAddresses: ['0.0.0.0/1', '128.0.0.0/1', '::/1'] },
        { canManage: true },
      )
      const local = (method: string, path: string, body: object) =>
        server.fetchFrom(
          '10.0.0.1',
          new Request(`http://turnpike.test${path}`, {
            method,
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }),
        )
      const later = new Date(expiresAt + 1).toISOString()
      const wider = [
        { expires_at: later },
        { expires_at: null },
        { allowed_models: ['mock/*'] },
        { allowed_models: ['mock/small', 'mock/large'] },
        { allowed_models: null },
        { allowed_addresses: ['10.0.0.0/8', '8000::/1'] },
        { allowed_addresses: null },
      ]
      for (const body of wider)
        expect([body, (await local('PUT', '/v1/key/wholesale/me/limits', body)).status]).toEqual([body, 403])
      for (const body of wider.filter((one) => !Object.values(one).includes(null)))
        expect([body, (await local('POST', '/v1/key/wholesale', { label: 'b', ...body })).status]).toEqual([
          body,
          403,
        ])
      const narrower = {
        expires_at: new Date(expiresAt - 1_000).toISOString(),
        allowed_models: ['mock/small'],
        allowed_addresses: ['10.0.0.0/8'],
      }
      const made = await local('POST', '/v1/key/wholesale', { label: 'b', ...narrower })
      expect([made.status, (await jsonOf(made)).data]).toEqual([201, expect.objectContaining(narrower)])
      expect((await local('PUT', '/v1/key/wholesale/me/limits', narrower)).status).toBe(200)
    })

    test('what cannot be read is refused by its name', async () => {
      const { token } = await server.newKey({}, { canManage: true })
      for (const [member, values] of Object.entries({
        expires_at: ['soon', 5, '2026-02-30'],
        allowed_models: [[], 'mock/small', [1], ['']],
        allowed_addresses: [[], ['10.0.0.0/33'], ['here'], ['10.0.0.0/0']],
        daily_cap_usd: [-1, 'much'],
        weekly_cap_usd: [[], 1e10],
      }))
        for (const value of values) {
          const answer = await make(token, { [member]: value })
          const { error } = await jsonOf(answer)
          expect([member, value, answer.status, String(error.param).split('.')[0]]).toEqual([
            member,
            value,
            400,
            member,
          ])
        }
    })
  })
}
