/** Conditions on where calls go: who may ask, what happens to the call, what is kept of it, and where all that is told. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { decodeJwt } from 'jose'
import OpenAI from 'openai'
import { parseConfigFile } from '../../src/cli/config/config-file.ts'
import { vendorSetups } from '../../src/cli/config/config-vendors.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { handledAt } from '../../src/vendors/handled-at.ts'
import type { VendorSetup } from '../../src/vendors/setup.ts'
import { engines } from '../store/engines.ts'
import { until } from '../until.ts'
import {
  chat,
  completion,
  jsonOf,
  mockSetup,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from './harness.ts'
import { openResponses } from './responses-socket.ts'

const REQUIRE = 'x-turnpike-require'

let heard: string[] = []
/** A vendor that answers, and of which the operator states something. */
const stating = (id: string, stated: NonNullable<VendorSetup['stated']>): VendorSetup => ({
  ...mockSetup({ id }, async (_url, init) => {
    heard.push(id)
    const streams = (await new Response(init.body as never).text()).includes('"stream":true')
    return streams ? streaming(streamEvents(['hel', 'lo'])) : completion('hello')
  }),
  stated,
})
const of = (vendor: string) => testModel('small', { id: `${vendor}/small`, vendor })

const setup = {
  models: [of('mock'), of('quiet'), of('german'), of('both'), testModel('twin')],
  more: [
    stating('quiet', { zdr: true, noTraining: true }),
    stating('german', { noTraining: true, region: 'de' }),
    stating('both', { zdr: true, noTraining: true, region: 'eu' }),
  ],
  failover: { 'mock/twin': ['german/small'] },
  options: { responsesKeptMs: 3_600_000 },
} as const

let server: TestServer
let owner: { id: string; token: string }
beforeAll(async () => {
  server = await startTestServer(setup)
  owner = await server.newKey({}, { canManage: true })
})
beforeEach(() => {
  heard = []
  server.answerWith(() => completion('hello'))
})
afterAll(() => server.stop())

const ask = (vendor: string, conditions: string, more: object = {}) =>
  server.post(
    '/v1/chat/completions',
    chat({ model: `${vendor}/small`, ...more }),
    { [REQUIRE]: conditions },
    owner.token,
  )
const errorOf = async (response: Response) => (await jsonOf(response)).error
const rules = (requires: readonly string[] | null) => server.send('PUT', '/api/wallet/rules', { requires })

describe('a call', () => {
  test('goes only where everything it asks is met', async () => {
    for (const [conditions, allowed] of [
      ['zdr', ['quiet', 'both']],
      ['no_training', ['quiet', 'german', 'both']],
      ['region=eu', ['german', 'both']],
      ['region=de', ['german']],
      ['zdr, region=eu', ['both']],
      ['region=us', []],
      ['region=eu,region=us', []],
    ] as const)
      for (const vendor of ['mock', 'quiet', 'german', 'both'] as const) {
        heard = []
        const before = server.asked.length
        const { status } = await ask(vendor, conditions)
        const may = (allowed as readonly string[]).includes(vendor)
        expect([conditions, vendor, status]).toEqual([conditions, vendor, may ? 200 : 403])
        expect(heard.length + server.asked.length - before).toBe(may ? 1 : 0)
      }
  })

  test('is told which models would do', async () => {
    const before = await server.balance()
    const refused = await ask('mock', 'zdr,no_training')
    expect(await errorOf(refused)).toMatchObject({
      code: 'conditions_not_met',
      param: 'model',
      conditions: 'no_training,zdr',
      satisfied_by: 'quiet/small, both/small',
    })
    expect(await server.balance()).toBe(before)
    const id = refused.headers.get('x-request-id')
    await until(async () => (await callsOf())[0]?.id === id)
    expect((await callsOf())[0]).toMatchObject({
      code: 'conditions_not_met',
      cost_usd: 0,
      model: 'mock/small',
    })
  })

  test('with a word that is no condition is a 400 that names it', async () => {
    for (const wrong of ['zdr,fast', 'region=mars', 'region', '', 'ZDR'])
      expect(await errorOf(await ask('both', wrong))).toMatchObject({
        code: 'invalid_parameter',
        param: 'X-Turnpike-Require',
      })
    expect(heard).toEqual([])
  })

  test('is answered by an equal that meets what its own vendor does not', async () => {
    const body = chat({ model: 'mock/twin' })
    expect((await server.post('/v1/chat/completions', body, { [REQUIRE]: 'region=eu' })).status).toBe(200)
    expect([heard, server.asked.some(({ body: { model } }) => model === 'twin')]).toEqual([['german'], false])
    expect((await server.post('/v1/chat/completions', body, { [REQUIRE]: 'zdr' })).status).toBe(403)
    server.answerWith(() => new Response('{}', { status: 503 }))
    expect((await server.post('/v1/chat/completions', body)).status).toBe(200)
  })

  test('tells with what they were met, and so does its receipt', async () => {
    for (const stream of [false, true]) {
      const answered = await ask('both', 'region=eu,zdr', {
        ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
      })
      expect(answered.headers.get('x-turnpike-conditions')).toBe(
        'asked="region=eu,zdr"; vendor="both"; region="eu"; zdr="stated"',
      )
      const text = await answered.text()
      const receipt = answered.headers.get('x-receipt') ?? /"receipt":"([^"]+)"/.exec(text)?.[1] ?? ''
      expect(decodeJwt(receipt).conditions).toEqual({
        asked: 'region=eu,zdr',
        region: 'eu',
        vendor: 'both',
        zdr: 'stated',
      })
      expect(await jsonOf(await server.post('/api/receipts/verify', { receipt }))).toMatchObject({
        valid: true,
      })
    }
    const plain = await server.post('/v1/chat/completions', chat())
    expect(plain.headers.has('x-turnpike-conditions')).toBe(false)
    expect(decodeJwt(plain.headers.get('x-receipt') ?? '')).not.toHaveProperty('conditions')
  })

  test('with a tool that its vendor runs is refused', async () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }]
    const searching = await startTestServer({
      vendor: { speaks: 'messages', hostedRatesOf: () => ({ web_search: 10_000_000_000 }) },
      models: [
        testModel('small', {
          price: { rates: { input: 1, output: 1, web_search: 1 }, tiers: [], version: '1' },
        }),
      ],
      more: [],
    })
    try {
      const body = { model: 'mock/small', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], tools }
      searching.answerWith(() => new Response('{}', { status: 400 }))
      await searching.post('/v1/messages', body)
      expect(searching.asked).toHaveLength(1)
      const { gateway } = searching
      const [mock] = [...gateway.offering.vendors.values()]
      if (mock === undefined) throw new Error('there is one')
      searching.sell({
        ...gateway.offering,
        vendors: new Map([['mock', { ...mock, stated: { noTraining: true } }]]),
      })
      const refused = await searching.post('/v1/messages', body, { [REQUIRE]: 'no_training' })
      expect([refused.status, (await errorOf(refused)).message]).toEqual([
        403,
        expect.stringContaining('Tools'),
      ])
      expect(searching.asked).toHaveLength(1)
    } finally {
      await searching.stop()
    }
  })
})

const callsOf = async () => (await jsonOf(await server.get('/v1/calls', owner.token))).data

describe('who asks', () => {
  test('a key adds to the rules of its wallet, a key below to it, and a call to its key', async () => {
    const made = await jsonOf(
      await server.post('/v1/key/wholesale', { label: 'x', requires: ['no_training'] }, {}, owner.token),
    )
    const token: string = made.data.key
    const asked = async (vendor: string, headers = {}) =>
      (await server.post('/v1/chat/completions', chat({ model: `${vendor}/small` }), headers, token)).status
    expect([await asked('mock'), await asked('german')]).toEqual([403, 200])
    expect(await asked('german', { [REQUIRE]: 'zdr' })).toBe(403)
    expect((await rules(['region=eu'])).status).toBe(200)
    try {
      expect([await asked('quiet'), await asked('german'), await asked('both')]).toEqual([403, 200, 200])
      expect((await ask('quiet', 'zdr')).status).toBe(403)
      const shown = await jsonOf(await server.get('/v1/models', token))
      expect(shown.data.map(({ id }: { id: string }) => id)).toEqual([
        'german/small',
        'both/small',
        'mock/twin',
      ])
      expect(shown.data[0].handling).toEqual({ zdr: 'unknown', no_training: 'yes', region: 'de' })
      const fewer = await jsonOf(await server.get('/v1/models?require=zdr', token))
      expect(fewer.data.map(({ id }: { id: string }) => id)).toEqual(['both/small'])
      expect((await errorOf(await server.get('/v1/models?require=fast', token))).param).toBe('require')
    } finally {
      expect((await rules(null)).status).toBe(200)
    }
    expect(await asked('quiet')).toBe(200)
  })

  test('a key may add to what its creator set, and take nothing away', async () => {
    const { token } = await server.newKey({ requires: ['zdr'] }, { granted: { requires: ['zdr'] } } as never)
    // What a key may not use is not named to it.
    const few = await server.newKey({ allowedModels: ['mock/*', 'both/*'] })
    const asked = await server.post('/v1/chat/completions', chat(), { [REQUIRE]: 'zdr' }, few.token)
    expect((await errorOf(asked)).satisfied_by).toBe('both/small')
    const self = (requires: readonly string[] | null) =>
      server.send('PUT', `/v1/key/wholesale/${token}/limits`, { requires }, token)
    expect((await self(null)).status).toBe(403)
    expect((await self(['no_training'])).status).toBe(403)
    expect((await self(['no_training', 'zdr'])).status).toBe(200)
    expect((await self(['mars'])).status).toBe(400)
    const { status } = await server.post('/v1/chat/completions', chat({ model: 'german/small' }), {}, token)
    expect(status).toBe(403)
  })

  test('a rule with an unknown word changes nothing', async () => {
    for (const wrong of [['fast'], [], 'zdr', [1]]) expect((await rules(wrong as never)).status).toBe(400)
    expect((await jsonOf(await server.get('/api/wallet/rules'))).requires).toBeNull()
  })
})

describe('zdr binds this server too', () => {
  const zdr = { [REQUIRE]: 'zdr' }
  const response = (more: object, headers: Record<string, string> = zdr) =>
    server.post('/v1/responses', { model: 'quiet/small', input: 'hi', ...more }, headers, owner.token)

  test('a response that would be stored by default is not', async () => {
    const kept = await jsonOf(await response({}, {}))
    expect([kept.store, (await server.get(`/v1/responses/${kept.id}`, owner.token)).status]).toEqual([
      true,
      200,
    ])
    const { id, store } = await jsonOf(await response({}))
    expect([store, (await server.get(`/v1/responses/${id}`, owner.token)).status]).toEqual([false, 404])
    expect((await response({ previous_response_id: kept.id })).status).toBe(200)
  })

  test('what is asked to be stored is refused by name', async () => {
    for (const [more, param] of [
      [{ store: true }, 'store'],
      [{ background: true }, 'background'],
      [{ conversation: 'conv_x' }, 'conversation'],
    ] as const) {
      const refused = await response(more)
      expect([refused.status >= 400, (await errorOf(refused)).param]).toEqual([true, param])
    }
    expect(heard).toEqual([])
  })

  test('an Idempotency-Key charges once, and keeps no answer', async () => {
    const before = await server.balance()
    const call = () =>
      server.post(
        '/v1/chat/completions',
        chat({ model: 'quiet/small' }),
        { ...zdr, 'idempotency-key': 'once' },
        owner.token,
      )
    const [first, joined] = await Promise.all([call(), call()])
    expect([first.status, joined.status, heard]).toEqual([200, 200, ['quiet']])
    const again = await call()
    expect([again.status, (await errorOf(again)).code, heard]).toEqual([410, 'answer_not_kept', ['quiet']])
    expect(before - (await server.balance())).toBe(60_000n)
    const ref = { keyId: owner.id, endpoint: 'chat', key: 'once' }
    const stored = await server.store.idempotency.begin({
      ...{ ref, fingerprint: 'x', callId: 'x', lockMs: 1, instance: 'x' },
    } as never)
    expect(JSON.stringify(stored)).not.toContain('hello')
  })

  test('a stream under an Idempotency-Key is not kept either', async () => {
    server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
    const { gateway } = server
    const vendors = new Map(gateway.offering.vendors)
    const mock = vendors.get('mock')
    if (mock === undefined) throw new Error('there is one')
    server.sell({ ...gateway.offering, vendors: vendors.set('mock', { ...mock, stated: { zdr: true } }) })
    try {
      const call = () =>
        server.post('/v1/chat/completions', chat({ stream: true }), { ...zdr, 'idempotency-key': 'stream' })
      expect(await (await call()).text()).toContain('lo')
      expect((await call()).status).toBe(410)
    } finally {
      server.sell(gateway.offering)
    }
  })
})

test('official clients go on under a rule of the organisation', async () => {
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const base = `127.0.0.1:${listening.port}`
  expect((await rules(['zdr', 'no_training'])).status).toBe(200)
  try {
    const { token: apiKey } = owner
    const openai = new OpenAI({ apiKey, baseURL: `http://${base}/v1`, maxRetries: 0 })
    const model = 'quiet/small'
    expect((await openai.responses.create({ model, input: 'hi' })).output_text).toBe('hello')
    const said = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }] })
    expect(said.choices[0]?.message.content).toBe('hello')
    const anthropic = new Anthropic({ apiKey, baseURL: `http://${base}`, maxRetries: 0 })
    const message = { model, max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] }
    expect((await anthropic.messages.create(message)).content).toEqual([
      expect.objectContaining({ text: 'hello' }),
    ])
    const refused = await openai.responses
      .create({ model: 'mock/small', input: 'hi' })
      .catch((error) => error)
    expect([refused.status, refused.code]).toEqual([403, 'conditions_not_met'])
    const socket = await openResponses({ base: `${base}/v1`, token: apiKey })
    expect((await socket.turn({ model, input: 'hi', store: false })).type).toBe('response.completed')
    expect((await socket.turn({ model, input: 'hi', require: 'region=eu' })).error.code).toBe(
      'conditions_not_met',
    )
    expect((await socket.turn({ model, input: 'hi', require: 'fast' })).error.param).toBe('require')
    expect((await socket.turn({ model: 'mock/small', input: 'hi', generate: false })).error.code).toBe(
      'conditions_not_met',
    )
    socket.socket.close()
  } finally {
    expect((await rules(null)).status).toBe(200)
    listening.stop()
  }
})

test('a condition set through one process binds on another when the answer is there', async () => {
  const database = await engines.find(({ name }) => name === 'PostgreSQL')?.fresh()
  if (database === undefined) throw new Error('no PostgreSQL')
  const here = await startTestServer({ ...setup, url: database.url })
  const there = await startTestServer({ ...setup, url: database.url })
  try {
    const { token } = await here.newKey({}, { canManage: true })
    const call = () => there.post('/v1/chat/completions', chat(), {}, token)
    for (let round = 0; round < 5; round++) {
      expect((await call()).status).toBe(200)
      expect((await here.send('PUT', '/api/wallet/rules', { requires: ['zdr'] }, token)).status).toBe(200)
      expect((await call()).status).toBe(403)
      expect((await here.send('PUT', '/api/wallet/rules', { requires: null }, token)).status).toBe(200)
    }
    expect(there.asked).toHaveLength(5)
  } finally {
    await here.stop()
    await there.stop()
    await database.stop()
  }
})

test.each([
  ['does not meet them', {}, 403],
  ['meets them', { zdr: true }, 200],
] as const)(
  'a call that waited obeys the conditions that came meanwhile: its vendor %s',
  async (_is, stated, status) => {
    const release = Promise.withResolvers<void>()
    const cheaper = { tier: 'flex', price: of('mock').price }
    const lane = await startTestServer({
      models: [testModel('small'), testModel('small', { id: 'mock/smalll', cheaper })],
      options: { discountOpenMax: 1 },
    })
    try {
      const { gateway } = lane
      const mock = gateway.offering.vendors.get('mock')
      if (mock === undefined) throw new Error('there is one')
      lane.sell({ ...gateway.offering, vendors: new Map([['mock', { ...mock, stated }]]) })
      lane.answerWith(async () => {
        if (lane.asked.length === 1) await release.promise
        return completion('ok')
      })
      const first = lane.post('/v1/chat/completions', chat())
      await until(() => lane.asked.length === 1)
      const waiting = lane.post('/v1/chat/completions', chat({ model: 'mock/smalll' }))
      expect((await lane.send('PUT', '/api/wallet/rules', { requires: ['zdr'] })).status).toBe(200)
      release.resolve()
      expect([(await first).status, (await waiting).status]).toEqual([200, status])
      expect(lane.asked).toHaveLength(status === 200 ? 2 : 1)
      expect((await waiting).headers.has('x-turnpike-conditions')).toBe(status === 200)
    } finally {
      await lane.stop()
    }
  },
)

test('tokens are counted by a vendor that meets the conditions, or estimated', async () => {
  const counting = await startTestServer({
    models: [testModel('twin'), of('german')],
    vendor: { speaks: 'messages' },
    more: [stating('german', { region: 'de' })],
    failover: { 'mock/twin': ['german/small'] },
  })
  try {
    counting.answerWith(() => Response.json({ input_tokens: 7 }))
    const body = { model: 'mock/twin', messages: [{ role: 'user', content: 'hi' }] }
    const count = (headers: Record<string, string>) =>
      counting.post('/v1/messages/count_tokens', body, headers)
    expect((await jsonOf(await count({}))).input_tokens).toBe(7)
    const estimated = await count({ [REQUIRE]: 'region=eu' })
    expect([estimated.status, estimated.headers.get('x-estimated')]).toEqual([200, 'true'])
    expect(counting.asked).toHaveLength(1)
  } finally {
    await counting.stop()
  }
})

test('what the operator states stands in turnpike.yaml', () => {
  const file = (text: string) => parseConfigFile(text, 'turnpike.yaml', {})
  const facts = (text: string, environment = {}) => {
    const [setupOfIt] = vendorSetups(file(text), { OPENAI_API_KEY: 'k', ...environment })
    return setupOfIt === undefined ? undefined : handledAt(setupOfIt, { upstreamName: 'gpt' })
  }
  expect(facts('{}')).toEqual({ zdr: 'on_request', noTraining: 'yes' })
  expect(facts('vendors: { openai: { handling: { zdr: true, no_training: false, region: eu } } }')).toEqual({
    zdr: 'yes',
    noTraining: 'no',
    region: 'eu',
  })
  expect(facts('{}', { OPENAI_BASE_URL: 'https://eu.api.openai.com/v1' })).toMatchObject({ region: 'eu' })
  // Whoever stands at another address has not said what OpenAI says.
  expect(facts('{}', { OPENAI_BASE_URL: 'https://proxy.example/v1' })).toEqual({})
  for (const wrong of ['{ region: mars }', '{ zdr: 1 }', '{ fast: true }'])
    expect(() => file(`vendors: { openai: { handling: ${wrong} } }`)).toThrow('handling')
})

test("what the operator states of its own account is not said of an organisation's", async () => {
  const value = 'sk-own-0123456789abcdef-tail'
  const added = await server.send('POST', '/v1/own-keys', { vendor: 'quiet', value, untested: true })
  const { id } = await jsonOf(added)
  heard = []
  const refused = await ask('quiet', 'zdr')
  const { code, satisfied_by } = await errorOf(refused)
  expect([refused.status, code, heard]).toEqual([403, 'conditions_not_met', []])
  expect(satisfied_by).not.toContain('quiet/small')
  const listed = async () =>
    (await jsonOf(await server.get('/v1/models?require=zdr'))).data.map(
      ({ id: model }: { id: string }) => model,
    )
  expect(await listed()).not.toContain('quiet/small')
  await server.send('PUT', `/v1/own-keys/${id}`, { fall_back: true })
  const answered = await ask('quiet', 'zdr')
  expect([answered.status, answered.headers.get('x-vendor-key'), heard]).toEqual([200, 'house', ['quiet']])
  expect(await listed()).toContain('quiet/small')
  await server.send('DELETE', `/v1/own-keys/${id}`)
})
