/** Refused and failed calls leave one row with the reason and nothing of the request; the list of calls tells all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CallShown } from '../../src/control/reports/calls.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import {
  chat,
  completion,
  jsonOf,
  mockSetup,
  startTestServer,
  type TestServer,
  testModel,
  USD,
} from './harness.ts'

type Shown = Omit<CallShown, 'cost_usd'> & { readonly cost_usd: number }
type Page = { readonly data: readonly Shown[]; readonly has_more: boolean; readonly next: string | null }

const DAY = 86_400_000
const MARK = 'secretmark'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let server: TestServer
    let database: Awaited<ReturnType<typeof engine.fresh>>
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({
        url: database.url,
        models: [
          testModel('small'),
          testModel('spare'),
          testModel('far'),
          testModel('near', { id: 'other/near', vendor: 'other' }),
        ],
        failover: { 'mock/small': ['mock/spare'], 'mock/far': ['other/near'] },
        more: [mockSetup({ id: 'other' }, async () => completion('from the other'))],
        options: { failuresPerDay: 20 },
      })
    })
    afterAll(() => stopSound(server, database))

    const list = async (token: string, query = ''): Promise<Page> => {
      await server.gateway.memory.failures.end()
      return jsonOf(await server.get(`/v1/calls${query}`, token)) as Promise<Page>
    }
    const ask = async (token: string, body: unknown = chat({ max_tokens: 5 })) => {
      const response = await server.post('/v1/chat/completions', body, {}, token)
      await response.text()
      return { status: response.status, id: response.headers.get('x-request-id') ?? '' }
    }
    const answers = () => server.answerWith(() => completion('hello'))

    test('each refusal of a known key is a row that names what bound, and what was sent is nowhere', async () => {
      answers()
      const { token } = await server.newKey({ spendCap: 1_000n })
      const [json, field, model, short] = [
        await ask(token, `{"model": "mock/small", "messages": "${MARK}`),
        await ask(token, chat({ max_tokens: 5, temperature: MARK })),
        await ask(token, { ...chat(), model: `mock/${MARK}` }),
        await ask(token),
      ]
      const { data } = await list(token)
      expect(data.map(({ id, code, http_status, status }) => [id, code, http_status, status])).toEqual([
        [short.id, 'insufficient_balance', 402, 'refused'],
        [model.id, 'model_not_found', 400, 'refused'],
        [field.id, 'invalid_parameter', 400, 'refused'],
        [json.id, 'invalid_json', 400, 'refused'],
      ])
      expect(data.map(({ limit, param }) => limit ?? param)).toEqual([
        'spend_cap_usd',
        'model',
        'temperature',
        null,
      ])
      expect(data[0]).toMatchObject({
        limit_owner: 'key',
        model: 'mock/small',
        vendor: null,
        endpoint: '/v1/chat/completions',
        cost_usd: 0,
        attempts: [],
        reason: expect.stringContaining('does not fit'),
      })
      expect(JSON.stringify(data)).not.toContain(MARK)
    })

    test('a call with an unknown key is no row', async () => {
      const before = (await server.store.reports.calls({ orgs: 'all', most: 500 })).lines.length
      expect((await ask('sk-unknown000000000000000000')).status).toBe(401)
      await server.gateway.memory.failures.end()
      expect((await server.store.reports.calls({ orgs: 'all', most: 500 })).lines.length).toBe(before)
    })

    test('attempts at vendors are told with their status, of calls that failed and of those that were saved', async () => {
      const { token } = await server.newKey()
      server.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 500 }))
      const lost = await ask(token)
      expect(lost.status).toBeGreaterThanOrEqual(500)
      let first = true
      server.answerWith(() => {
        const failed = first
        first = false
        return failed ? new Response('{}', { status: 503 }) : completion('hello')
      })
      const saved = await ask(token)
      expect(saved.status).toBe(200)
      const { data } = await list(token)
      expect(data.map(({ id }) => id)).toEqual([saved.id, lost.id])
      expect(data[0]).toMatchObject({
        status: 'ok',
        code: null,
        attempts: [{ vendor: 'mock', http_status: 503 }],
      })
      expect(data[1]).toMatchObject({ status: 'failed', vendor: 'mock' })
      expect(data[1]?.attempts.length).toBeGreaterThan(1)
      expect(new Set(data[1]?.attempts.map((one) => one.http_status))).toEqual(new Set([500]))
      answers()
    })

    test('a call that another vendor answered is found by both', async () => {
      server.answerWith(() => new Response('{}', { status: 500 }))
      const { token } = await server.newKey()
      const { id, status } = await ask(token, { ...chat({ max_tokens: 5 }), model: 'mock/far' })
      expect(status).toBe(200)
      const found = async (vendor: string) =>
        (await list(token, `?vendor=${vendor}`)).data.map((call) => [call.id, call.vendor, call.status])
      expect(await found('mock')).toEqual([[id, 'other', 'ok']])
      expect(await found('other')).toEqual([[id, 'other', 'ok']])
      expect(await found('third')).toEqual([])
      answers()
    })

    test('a call that is repeated under its Idempotency-Key failed as often as it was refused', async () => {
      answers()
      const { token } = await server.newKey()
      const send = (body: object, key: string) =>
        server.post('/v1/chat/completions', body, { 'idempotency-key': key }, token)
      const first = await send(chat({ max_tokens: 5 }), 'one')
      await first.text()
      const [again, together] = await Promise.all([
        send(chat({ max_tokens: 5 }), 'one'),
        send(chat({ max_tokens: 5 }), 'one'),
      ])
      expect([again.status, together.status]).toEqual([200, 200])
      await Promise.all([again.text(), together.text()])
      expect((await send(chat({ max_tokens: 6 }), 'one')).status).toBe(409)
      const { data } = await list(token)
      expect(data.map(({ code, status }) => [code, status])).toEqual([
        ['idempotency_key_reused', 'refused'],
        [null, 'ok'],
      ])
    })

    test('a caller who leaves before the answer is a row of its own', async () => {
      const { token } = await server.newKey()
      const asked = Promise.withResolvers<void>()
      server.answerWith(() => {
        asked.resolve()
        return new Promise(() => undefined)
      })
      const leaving = new AbortController()
      const left = server.fetch(
        new Request('http://turnpike.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify(chat({ max_tokens: 5 })),
          signal: leaving.signal,
        }),
      )
      await asked.promise
      leaving.abort()
      await left.catch(() => undefined)
      answers()
      // A vendor that may bill for it makes it a charged call that ended so.
      await until(async () => (await list(token)).data[0]?.status === 'client_gone')
      expect((await list(token)).data).toHaveLength(1)
    })

    test('filters, search and pages: each call stands on one page, whichever way it ended', async () => {
      answers()
      const parent = await server.newKey({}, { canManage: true })
      const made = await server.send('POST', '/v1/key/wholesale', { label: 'child' }, parent.token)
      const { id: childId, key: childToken } = (await jsonOf(made)).data
      const child = { id: String(childId), token: String(childToken) }
      const other = await server.newKey()
      const ids: string[] = []
      for (let n = 0; n < 12; n++) {
        const token = n % 3 === 0 ? child.token : parent.token
        const body = n % 2 === 0 ? chat({ max_tokens: 5 }) : chat({ max_tokens: -n })
        ids.unshift((await ask(token, body)).id)
      }
      await ask(other.token)
      const seen: string[] = []
      for (let next: string | null = ''; next !== null; ) {
        const page = await list(parent.token, `?limit=5${next === '' ? '' : `&before=${next}`}`)
        seen.push(...page.data.map(({ id }) => id))
        expect(page.has_more).toBe(page.next !== null)
        next = page.next
      }
      // Charged and refused within one millisecond, two may change places.
      expect(seen.toSorted()).toEqual(ids.toSorted())
      const count = async (query: string, token = parent.token) => (await list(token, query)).data.length
      expect(await count('?status=refused')).toBe(6)
      expect(await count('?status=ok')).toBe(6)
      expect(await count('?status=not_ok')).toBe(6)
      expect(await count('?code=400')).toBe(6)
      expect(await count('?code=invalid_parameter')).toBe(6)
      expect(await count('?code=insufficient_balance')).toBe(0)
      expect(await count('?model=mock/small')).toBe(6)
      expect(await count('?vendor=mock')).toBe(6)
      expect(await count('?vendor=other')).toBe(0)
      expect(await count('?cost_from_usd=0.00001')).toBe(6)
      expect(await count('?cost_from_usd=5')).toBe(0)
      expect(await count('?cost_to_usd=0')).toBe(6)
      expect(await count('?own=true')).toBe(8)
      expect(await count(`?key=${child.id}`)).toBe(4)
      expect(await count('', child.token)).toBe(4)
      expect(await count(`?id=${ids[3]}`)).toBe(1)
      expect(await count(`?id=${ids[3]}`, other.token)).toBe(0)
      // Before the one that is listed first: two of one moment may have changed places.
      expect(await count(`?before=${seen[0]}&limit=500`)).toBe(11)
      const tomorrow = new Date(Date.now() + DAY).toISOString()
      expect(await count(`?from=${tomorrow}`)).toBe(0)
      expect(await count(`?to=${tomorrow}`)).toBe(12)
      const one = await server.get(`/v1/calls/${ids[0]}`, parent.token)
      expect(await jsonOf(one)).toMatchObject({ id: ids[0], code: 'invalid_parameter' })
      expect((await server.get(`/v1/calls/${ids[0]}`, other.token)).status).toBe(404)
      const wrong = await server.get('/v1/calls?limit=0', parent.token)
      expect([wrong.status, (await jsonOf(wrong)).error?.param]).toEqual([400, 'limit'])
      const span = await server.get('/v1/calls?from=2026-02-02&to=2026-02-01', parent.token)
      expect([span.status, (await jsonOf(span)).error?.param]).toEqual([400, 'from'])
    })

    test('rows of a key, day and code are bounded, over processes; the rest is counted', async () => {
      const second = await startTestServer({ url: database.url, options: { failuresPerDay: 20 } })
      const servers = engine.name === 'PostgreSQL' ? [server, second] : [server, server]
      const { id, token } = await server.newKey()
      for (let n = 0; n < 40; n++) {
        const at = servers[n % 2] ?? server
        await (await at.post('/v1/chat/completions', chat({ max_tokens: -1 }), {}, token)).text()
        if (n % 13 === 0) for (const one of servers) await one.gateway.memory.failures.end()
      }
      await ask(token, '{')
      for (const one of servers) await one.gateway.memory.failures.end()
      const { data } = await list(token, '?limit=500')
      expect(data.filter(({ code }) => code === 'invalid_parameter')).toHaveLength(20)
      // Another reason has room of its own.
      expect(data[0]?.code).toBe('invalid_json')
      const counts = await server.store.reports.failures({ orgs: 'all', from: Date.now() - DAY, most: 1_000 })
      expect(counts.filter(({ keyId }) => keyId === id).map(({ code, calls }) => [code, calls])).toEqual([
        ['invalid_parameter', 40],
        ['invalid_json', 1],
      ])
      await second.stop()
    })

    test('they are deleted after their days', async () => {
      const { token } = await server.newKey()
      await ask(token, '{')
      expect((await list(token)).data).toHaveLength(1)
      await server.store.prune.pruneRest(0, 1, 10_000)
      expect((await list(token)).data).toHaveLength(1)
      // As if it were two days later.
      await server.store.prune.pruneRest(0, -2, 10_000)
      expect((await list(token)).data).toHaveLength(0)
    })
  })

test('with KEEP_FAILURES=0 none are noted', async () => {
  const server = await startTestServer({ options: { keepFailuresDays: 0 }, fund: USD })
  const { token } = await server.newKey()
  await (await server.post('/v1/chat/completions', '{', {}, token)).text()
  await server.gateway.memory.failures.end()
  expect((await jsonOf(await server.get('/v1/calls', token))).data).toEqual([])
  await server.stop()
})
