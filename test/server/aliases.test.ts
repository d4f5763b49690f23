/**
 * A key's own names for models: who sets them, what they stand for in every kind of call, and that no other key has
 * them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { listen } from '../../src/http/listen/listen.ts'
import { buildCatalogue, type Catalogue } from '../../src/pricing/catalogue.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from './harness.ts'

const LAST_DAY = Date.parse('2026-12-11')

for (const engine of serverEngines)
  describe(`aliases of a key on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    let now = LAST_DAY - 1

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
      const catalogue = buildCatalogue({
        vendors: [{ id: 'mock' }],
        extra: [
          testModel('small'),
          testModel('large'),
          testModel('ending', { endsAt: LAST_DAY }),
          testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 }),
        ],
        overrides: {},
        aliases: { fast: 'mock/small', best: 'mock/large' },
        markup: '1',
        discount: '0.5',
        now: () => now,
      })
      ;(server.gateway.offering as { catalogue: Catalogue }).catalogue = catalogue
    })
    afterAll(async () => {
      await stopSound(server, database)
    })

    const keyWith = async (aliases?: Record<string, string>) =>
      (await server.newKey({}, { canManage: true, ...(aliases === undefined ? {} : { aliases }) })).token
    const put = (token: string, body: object, id = 'me') =>
      server.send('PUT', `/v1/key/wholesale/${id}/limits`, body, token)
    const call = (token: string, model: string) =>
      server.post('/v1/chat/completions', chat({ model }), {}, token)
    const askedLast = () => server.asked.at(-1)?.body.model

    test('are set by the key, shown, replaced as a whole, and removed by null or by none', async () => {
      const token = await keyWith()
      const shown = async () =>
        (await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))).data.aliases
      expect(await shown()).toBeNull()
      expect((await call(token, 'mine')).status).toBe(400)
      const first = { mine: 'mock/small', 'my große ☂': 'best', __proto__x: 'mock/small' }
      const answer = await put(token, { aliases: first })
      expect([answer.status, (await jsonOf(answer)).data.aliases]).toEqual([200, first])
      expect(await shown()).toEqual(first)
      expect([(await call(token, 'my große ☂')).status, askedLast()]).toEqual([200, 'large'])
      // Another limit leaves them.
      expect((await jsonOf(await put(token, { spend_cap_usd: 5 }))).data.aliases).toEqual(first)
      expect((await jsonOf(await put(token, { aliases: { other: 'fast' } }))).data.aliases).toEqual({
        other: 'fast',
      })
      expect([(await call(token, 'mine')).status, (await call(token, 'other')).status]).toEqual([400, 200])
      for (const none of [null, {}]) {
        await put(token, { aliases: { other: 'fast' } })
        expect((await jsonOf(await put(token, { aliases: none }))).data.aliases).toBeNull()
        expect((await call(token, 'other')).status).toBe(400)
      }
    })

    test('that stand for nothing on sale are a 400 that names them and changes nothing', async () => {
      const token = await keyWith({ mine: 'mock/small' })
      for (const send of [
        () => put(token, { aliases: { good: 'mock/small', bad: 'mock/larg' } }),
        () => server.post('/v1/key/wholesale', { label: 'x', aliases: { bad: 'mock/larg' } }, {}, token),
      ]) {
        const answer = await send()
        const { error } = await jsonOf(answer)
        expect([answer.status, error.code, error.param]).toEqual([400, 'invalid_parameter', 'aliases'])
        expect(error.message).toContain("'bad' stands for no model")
        expect(error.message).toContain("'mock/larg'; did you mean 'mock/large'?")
      }
      // Only the catalogue's names count: an alias of an alias could run in a circle.
      expect((await put(token, { aliases: { other: 'mine' } })).status).toBe(400)
      expect((await call(token, 'mine')).status).toBe(200)
      expect((await jsonOf(await server.get('/v1/key/wholesale', token))).data).toEqual([])
    })

    test('belong to one key: those below do not have them, and whoever made a key gives it its own', async () => {
      const token = await keyWith({ mine: 'mock/small' })
      const made = await server.post(
        '/v1/key/wholesale',
        { label: 'child', aliases: { theirs: 'mock/large' } },
        {},
        token,
      )
      const { key, id, aliases } = (await jsonOf(made)).data
      expect([made.status, aliases]).toEqual([201, { theirs: 'mock/large' }])
      expect([(await call(key, 'theirs')).status, askedLast()]).toEqual([200, 'large'])
      expect([(await call(key, 'mine')).status, (await call(token, 'theirs')).status]).toEqual([400, 400])
      expect((await put(token, { aliases: { theirs: 'mock/small' } }, id)).status).toBe(200)
      expect([(await call(key, 'theirs')).status, askedLast()]).toEqual([200, 'small'])
    })

    test('come before names of the catalogue, are billed as the model, and answers name it as the caller did', async () => {
      const token = await keyWith({ fast: 'mock/large', 'mock/small': 'mock/large' })
      server.answerWith(() => completion('hello'))
      for (const model of ['fast', 'mock/small']) {
        expect([(await call(token, model)).status, askedLast()]).toEqual([200, 'large'])
      }
      const { rows } = (await jsonOf(await server.get('/v1/usage?group_by=model&own=true', token))).data
      expect(rows.map((row: { model: string; requests: number }) => [row.model, row.requests])).toEqual([
        ['mock/large', 2],
      ])
      const answer = await server.post(
        '/v1/messages',
        { ...chat({ model: 'fast' }), max_tokens: 10 },
        {},
        token,
      )
      expect((await jsonOf(answer)).model).toBe('fast')
    })

    test('work in every way of calling', async () => {
      const token = await keyWith({ mine: 'mock/large', numbers: 'mock/embed' })
      const body = chat({ model: 'mine' })
      const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
      const ways: readonly [string, object][] = [
        ['/v1/chat/completions', body],
        ['/v1/messages', { ...body, max_tokens: 10 }],
        ['/v1/responses', { model: 'mine', input: 'Hello' }],
        ['/v1/run', { model: 'mine', inputs: { messages: body.messages } }],
        ['/v1beta/models/mine:generateContent', { contents }],
      ]
      for (const [path, asked] of ways) {
        server.answerWith(() => completion('hello'))
        const before = server.asked.length
        const answer = await server.post(path, asked, {}, token)
        expect([path, answer.status, server.asked.length - before, askedLast()]).toEqual([
          path,
          200,
          1,
          'large',
        ])
      }
      server.answerWith(() =>
        Response.json({
          object: 'list',
          model: 'embed',
          data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
          usage: { prompt_tokens: 4, total_tokens: 4 },
        }),
      )
      const embedded = await server.post('/v1/embeddings', { model: 'numbers', input: 'x' }, {}, token)
      expect([embedded.status, askedLast()]).toEqual([200, 'embed'])
      const counts = [
        await server.post('/v1/messages/count_tokens', { ...body }, {}, token),
        await server.post('/v1beta/models/mine:countTokens', { contents }, {}, token),
      ]
      expect(counts.map(({ status }) => status)).toEqual([200, 200])
    })

    test('work over a WebSocket', async () => {
      const token = await keyWith({ mine: 'mock/large' })
      server.answerWith(() => streaming(streamEvents(['Hello'])))
      const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
      const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/v1/stream`, {
        headers: { authorization: `Bearer ${token}` },
      } as never)
      const last = await new Promise<{ type: string }>((resolve, reject) => {
        socket.onerror = () => reject(new Error('refused'))
        socket.onopen = () => socket.send(JSON.stringify({ ...chat({ model: 'mine' }), id: 'a' }))
        socket.onmessage = ({ data }) => {
          const frame = JSON.parse(String(data))
          if (frame.type === 'done' || frame.type === 'error') resolve(frame)
        }
      })
      socket.close()
      listening.stop()
      expect([last.type, askedLast()]).toEqual(['done', 'large'])
      server.answerWith(() => completion('hello'))
    })

    test("the wallet's rules bind the model that is meant", async () => {
      const token = await keyWith({ fast: 'mock/large', mine: 'mock/small' })
      const rules = (allowed_models: readonly string[] | null) =>
        server.send('PUT', '/api/wallet/rules', { allowed_models }, token)
      expect((await rules(['mock/small'])).status).toBe(200)
      const refused = await call(token, 'fast')
      expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'model_not_allowed'])
      expect((await server.get('/v1/models/fast', token)).status).toBe(403)
      expect((await call(token, 'mine')).status).toBe(200)
      expect((await rules(null)).status).toBe(200)
    })

    test('are listed beside those of the operator, which they hide', async () => {
      const token = await keyWith({ best: 'mock/small', mine: 'mock/large', more: 'best' })
      const aliasesOf = async (who?: string): Promise<Record<string, string[]>> =>
        Object.fromEntries(
          (await jsonOf(await server.get('/v1/models', who))).data.flatMap(
            ({ id, aliases }: { id: string; aliases?: string[] }) => (aliases ? [[id, aliases]] : []),
          ),
        )
      expect(await aliasesOf(token)).toEqual({
        'mock/large': ['mine', 'more'],
        'mock/small': ['fast', 'best'],
      })
      expect(await aliasesOf()).toEqual({ 'mock/large': ['best'], 'mock/small': ['fast'] })
      const one = await jsonOf(await server.get('/v1/models/mine', token))
      expect([one.id, one.aliases]).toEqual(['mock/large', ['mine', 'more']])
      expect((await server.get('/v1/models/mine')).status).toBe(400)
      const gemini = await server.get('/v1beta/models/mine', token)
      expect((await jsonOf(gemini)).name).toBe('models/mock/large')
    })

    test('of a model that has ended are refused with its last day', async () => {
      const token = await keyWith({ old: 'mock/ending' })
      expect((await call(token, 'old')).status).toBe(200)
      now = LAST_DAY
      const refused = await call(token, 'old')
      expect([refused.status, (await jsonOf(refused)).error.message]).toEqual([
        400,
        "The vendor of 'mock/ending' ended it on 2026-12-11; GET /v1/models lists those your key can use.",
      ])
      expect((await put(token, { aliases: { old: 'mock/ending' } })).status).toBe(400)
    })
  })
