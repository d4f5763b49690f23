/** Keys that organisations have at vendors themselves: used first, never in silence replaced by the house's, and sealed. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { ownKeySettings } from '../../src/settings/own-keys.ts'
import { readSettings } from '../../src/settings/setting.ts'
import { byTest } from '../by-test.ts'
import { testOffer } from '../payments/rig.ts'
import { postgresForTests } from '../postgres.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  mockSetup,
  startTestServer,
  streamEvents,
  streaming,
  testModel,
  USD,
} from './harness.ts'

const OWN = 'sk-own-0123456789abcdef-tail'
const OTHER = 'sk-own-fedcba9876543210-next'
const HOUSE = 'house-key'

type Server = Awaited<ReturnType<typeof startTestServer>>

const keyIn = (headers: Headers | undefined) => headers?.get('authorization')?.replace('Bearer ', '')
/** Which keys its vendor was asked with for answers, in order, since the last look. */
const keysAsked = (it: Server) =>
  it.asked.splice(0).flatMap(({ url, headers }) => (url.endsWith('/models') ? [] : [keyIn(headers)]))

/** A vendor that takes these keys, at its list of models too, and answers others so. */
const taking = (
  it: Server,
  keys: readonly string[],
  {
    answer = () => completion('hello'),
    otherwise = 401,
  }: { answer?: () => Response; otherwise?: number } = {},
) =>
  it.answerWith(({ headers, url }) => {
    if (!keys.includes(keyIn(headers) ?? ''))
      return Response.json({ error: { message: 'no' } }, { status: otherwise })
    return url.endsWith('/models') ? Response.json({ data: [] }) : answer()
  })
const add = async (it: Server, value = OWN, more: object = {}) => {
  const response = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value, ...more })
  expect(response.status).toBe(201)
  return (await jsonOf(response)).id as string
}
const removeAll = async (it: Server) => {
  for (const { id } of (await jsonOf(await it.send('GET', '/v1/own-keys'))).data)
    await it.send('DELETE', `/v1/own-keys/${id}`)
  it.asked.length = 0
}
const claimsOf = (response: Response) =>
  JSON.parse(
    Buffer.from((response.headers.get('x-receipt') ?? '').split('.')[1] ?? '', 'base64url').toString(),
  )

describe('calls', () => {
  let it: Server
  const start = startTestServer()
  beforeEach(async () => {
    it = await start
    taking(it, [OWN, OTHER, HOUSE])
    await removeAll(it)
  })
  afterAll(() => it.stop())

  test('use the own key, cost the fee, and their receipts tell whose it was and what the vendor bills', async () => {
    const id = await add(it)
    const before = await it.balance()
    const response = await it.post('/v1/chat/completions', chat())
    expect([response.status, keysAsked(it), response.headers.get('x-vendor-key')]).toEqual([
      200,
      [OWN],
      'own',
    ])
    // 10 tokens of input at 1,000 and 5 of output at 10,000 nano-USD.
    const { vendor_key, estimated_vendor_cost_usd, cost } = claimsOf(response)
    expect([vendor_key, estimated_vendor_cost_usd, cost.amount]).toEqual(['own', '0.00006', '0'])
    const { data } = await jsonOf(await it.get('/v1/calls'))
    expect([data[0].vendor_key, data[0].estimated_vendor_cost_usd]).toEqual(['own', 0.00006])
    expect(await it.balance()).toBe(before)
    await it.send('DELETE', `/v1/own-keys/${id}`)
    const plain = await it.post('/v1/chat/completions', chat())
    expect([keysAsked(it), plain.headers.get('x-vendor-key')]).toEqual([[HOUSE], null])
    expect(claimsOf(plain).vendor_key).toBeUndefined()
  })

  test('are refused where the own key fails, which is told; with fall_back the house answers at the list price', async () => {
    const id = await add(it)
    taking(it, [HOUSE])
    const refused = await it.post('/v1/chat/completions', chat())
    expect([refused.status, keysAsked(it)]).toEqual([503, [OWN]])
    const { error } = await jsonOf(refused)
    expect([error.code, error.vendor_key]).toEqual(['upstream_error', 'own'])
    expect(error.message).toContain("your organisation's own key")
    await it.send('PUT', `/v1/own-keys/${id}`, { fall_back: true })
    it.asked.length = 0
    const before = await it.balance()
    const answered = await it.post('/v1/chat/completions', chat())
    expect([answered.status, answered.headers.get('x-vendor-key')]).toEqual([200, 'house'])
    expect(keysAsked(it).at(-1)).toBe(HOUSE)
    const { vendor_key, estimated_vendor_cost_usd, cost } = claimsOf(answered)
    expect([vendor_key, estimated_vendor_cost_usd, cost.amount]).toEqual(['house', undefined, '0.00006'])
    expect(before - (await it.balance())).toBe(60_000n)
  })

  test('ask several own keys in their order, and the next one when one is over its rate', async () => {
    const first = await add(it)
    const second = await add(it, OTHER)
    it.asked.length = 0
    await it.post('/v1/chat/completions', chat())
    expect(keysAsked(it)).toEqual([OWN])
    await it.send('PUT', `/v1/own-keys/${second}`, { place: 1 })
    await it.post('/v1/chat/completions', chat())
    expect(keysAsked(it)).toEqual([OTHER])
    taking(it, [OWN], { otherwise: 429 })
    expect((await it.post('/v1/chat/completions', chat())).status).toBe(200)
    expect(keysAsked(it)).toEqual([OTHER, OWN])
    await it.send('PUT', `/v1/own-keys/${first}`, { enabled: false })
    const off = await it.post('/v1/chat/completions', chat())
    expect([off.status, keysAsked(it).includes(HOUSE)]).toEqual([503, false])
    await it.send('PUT', `/v1/own-keys/${second}`, { enabled: false })
    const none = await it.post('/v1/chat/completions', chat())
    expect([none.status, (await jsonOf(none)).error.code, keysAsked(it)]).toEqual([
      503,
      'own_keys_unavailable',
      [],
    ])
  })

  test("go on while a key is rotated, and none goes out with the house's", async () => {
    const id = await add(it)
    it.asked.length = 0
    const calls = Promise.all(
      Array.from({ length: 40 }, async () => (await it.post('/v1/chat/completions', chat())).status),
    )
    const rotated = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OTHER, instead: id })
    expect([rotated.status, [...new Set(await calls)]]).toEqual([201, [200]])
    await it.post('/v1/chat/completions', chat())
    const asked = keysAsked(it)
    expect([asked.includes(HOUSE), asked.at(-1), asked.length]).toEqual([false, OTHER, 41])
  })

  test('of another organisation know nothing of it, and cannot list, use, try or remove it', async () => {
    const id = await add(it)
    const wallet = `wal_${crypto.randomUUID()}`
    await it.store.wallets.createWallet({ id: wallet, orgId: 'org_other', name: 'other' }, byTest)
    await it.store.ledger.post({ kind: 'topup', ref: wallet, debit: 'cash', credit: wallet, amount: USD })
    const { token } = await it.newKey({}, { orgId: 'org_other', walletId: wallet })
    expect((await jsonOf(await it.send('GET', '/v1/own-keys', undefined, token))).data).toEqual([])
    for (const [method, path, body] of [
      ['POST', `/v1/own-keys/${id}/try`, {}],
      ['POST', '/v1/own-keys', { vendor: 'mock', value: OTHER, instead: id }],
      ['PUT', `/v1/own-keys/${id}`, { enabled: false }],
      ['DELETE', `/v1/own-keys/${id}`, undefined],
    ] as const)
      expect([path, (await it.send(method, path, body, token)).status]).toEqual([path, 404])
    it.asked.length = 0
    await it.post('/v1/chat/completions', chat(), {}, token)
    expect(keysAsked(it)).toEqual([HOUSE])
    // What was sealed for one organisation opens for no other.
    const [row] = await it.store.ownKeys.sealed('org_test', 'mock')
    await it.gateway.ownKeys.seal('org_other', { id: 'vk_x', vendor: 'mock' }, OTHER)
    await expect(it.gateway.ownKeys.open('org_other', row!)).rejects.toMatchObject({
      code: 'own_keys_unavailable',
    })
    await expect(it.gateway.ownKeys.open('org_test', { ...row!, id: 'vk_x' })).rejects.toMatchObject({
      code: 'own_keys_unavailable',
    })
    expect((await it.gateway.ownKeys.open('org_test', row!)).reveal()).toBe(OWN)
  })

  test('in a second wallet of the organisation use it as well', async () => {
    await add(it)
    const wallet = `wal_${crypto.randomUUID()}`
    await it.store.wallets.createWallet({ id: wallet, orgId: 'org_test', name: 'second' }, byTest)
    await it.store.ledger.post({ kind: 'topup', ref: wallet, debit: 'cash', credit: wallet, amount: USD })
    const { token } = await it.newKey({}, { walletId: wallet })
    it.asked.length = 0
    await it.post('/v1/chat/completions', chat(), {}, token)
    expect(keysAsked(it)).toEqual([OWN])
  })

  test.each([
    ['empty', '', 'invalid_parameter'],
    ['with a line break', 'sk-own-012345\n6789', 'invalid_parameter'],
    ['of 10 KB', 'k'.repeat(10_000), 'invalid_parameter'],
    // The body is larger than any of the control plane.
    ['of 100 KB', 'k'.repeat(100_000), 'request_too_large'],
    ['with a comma', 'sk-own-012345,6789', 'invalid_parameter'],
  ])('a value %s is refused by name', async (_name, value, code) => {
    const response = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value })
    const { error } = await jsonOf(response)
    expect([error.code, error.param]).toEqual([code, code === 'invalid_parameter' ? 'value' : undefined])
    expect((await it.store.ownKeys.list('org_test')).length).toBe(0)
    if (value !== '') expect(JSON.stringify(error)).not.toContain(value)
  })

  test('a key that its vendor refuses is not kept', async () => {
    taking(it, [HOUSE])
    const response = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OWN })
    expect([response.status, (await it.store.ownKeys.list('org_test')).length]).toEqual([400, 0])
  })
})

test('a fee is a share of the list price and an amount a call, and a ceiling holds for it', async () => {
  const ownKeys = { ...readSettings(ownKeySettings, {}), feeBasisPoints: 1_000, feePerCall: 500n }
  const it = await startTestServer({ options: { ownKeys } })
  taking(it, [OWN])
  await add(it)
  const before = await it.balance()
  const response = await it.post('/v1/chat/completions', chat())
  expect([response.status, claimsOf(response).cost.amount]).toEqual([200, '0.0000065'])
  expect(before - (await it.balance())).toBe(6_500n)
  taking(it, [OWN], { answer: () => streaming(streamEvents(['hello'])) })
  const stream = await it.post('/v1/chat/completions', chat({ stream: true }))
  expect(stream.headers.get('x-vendor-key')).toBe('own')
  expect(eventsOf(await stream.text()).at(-1)).toBe('[DONE]')
  expect(before - (await it.balance())).toBe(13_000n)
  await it.stop()
})

test('a key that rests says until when, and so many keys are tried a minute, by each organisation for itself', async () => {
  const it = await startTestServer({ options: { ownKeyRpm: 3 } })
  taking(it, [OWN])
  const id = await add(it)
  const list = async () => (await jsonOf(await it.send('GET', '/v1/own-keys'))).data
  expect((await list())[0].resting_until).toBeNull()
  it.answerWith(() => new Response('', { status: 429, headers: { 'retry-after': '100' } }))
  const before = Date.now()
  expect((await it.post('/v1/chat/completions', chat())).status).toBe(503)
  const until = Date.parse((await list())[0].resting_until)
  expect(until).toBeGreaterThan(before + 99_000)
  expect(until).toBeLessThan(Date.now() + 101_000)
  taking(it, [OWN])
  const tries = () => it.send('POST', `/v1/own-keys/${id}/try`, {})
  expect([(await tries()).status, (await tries()).status]).toEqual([200, 200])
  it.asked.length = 0
  const limited = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OTHER })
  expect([limited.status, (await jsonOf(limited)).error.code, it.asked.length]).toEqual([
    429,
    'rate_limit_exceeded',
    0,
  ])
  await it.stop()
})

test("equal models at other vendors are asked by own keys there, and by the house's only with fall_back", async () => {
  const elsewhere: (string | undefined)[] = []
  const it = await startTestServer({
    models: [testModel('small'), testModel('twin', { id: 'second/twin', vendor: 'second' })],
    failover: { 'mock/small': ['second/twin'] },
    more: [
      mockSetup({ id: 'second' }, async (url, init) => {
        if (!url.endsWith('/models')) elsewhere.push(keyIn(new Headers(init.headers)))
        return url.endsWith('/models') ? Response.json({ data: [] }) : completion('from the second')
      }),
    ],
  })
  taking(it, [OWN])
  const first = await add(it)
  it.answerWith(() => Response.json({ error: { message: 'down' } }, { status: 500 }))
  expect((await it.post('/v1/chat/completions', chat())).status).toBe(503)
  expect(elsewhere).toEqual([])
  const second = await it.send('POST', '/v1/own-keys', { vendor: 'second', value: OTHER, untested: true })
  expect(second.status).toBe(201)
  const byOwn = await it.post('/v1/chat/completions', chat())
  expect([byOwn.status, byOwn.headers.get('x-vendor-key'), elsewhere.splice(0)]).toEqual([
    200,
    'own',
    [OTHER],
  ])
  await it.send('DELETE', `/v1/own-keys/${(await jsonOf(second)).id}`)
  await it.send('PUT', `/v1/own-keys/${first}`, { fall_back: true })
  const byHouse = await it.post('/v1/chat/completions', chat())
  expect([byHouse.status, byHouse.headers.get('x-vendor-key'), elsewhere]).toEqual([200, 'house', [HOUSE]])
  // A call of the house's price does not fail over to a vendor that the organisation reaches by its own key.
  await removeAll(it)
  elsewhere.length = 0
  await it.send('POST', '/v1/own-keys', { vendor: 'second', value: OTHER, untested: true })
  expect([(await it.post('/v1/chat/completions', chat())).status, elsewhere]).toEqual([503, []])
  await it.stop()
})

test('a call that x402 would pay is refused by name, and so is one whose wallet has nothing', async () => {
  const x402 = {
    facilitatorUrl: 'http://127.0.0.1:9',
    offers: [{ ...testOffer, payTo: `0x${'1'.repeat(40)}`, rpcUrl: 'http://127.0.0.1:9' }],
    ...{ timeoutSeconds: 60, settleMs: 1_000, outputTokens: 100 },
  } as const
  const it = await startTestServer({ x402, fund: 0n })
  taking(it, [OWN, HOUSE])
  const ask = (headers?: Record<string, string>) => it.post('/v1/chat/completions', chat(), headers)
  const byX402 = { 'x-payment-protocol': 'x402' }
  expect((await ask(byX402)).status).toBe(402)
  await add(it)
  it.asked.length = 0
  const refused = await ask(byX402)
  expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([400, 'own_keys_not_carried'])
  expect([(await ask()).status, keysAsked(it)]).toEqual([402, []])
  await it.stop()
})

test('a key that one process removes is used by no other one from then on', async () => {
  const database = await postgresForTests()
  const [one, two] = [
    await startTestServer({ url: database.url }),
    await startTestServer({ url: database.url }),
  ]
  for (const it of [one, two]) taking(it, [OWN, HOUSE])
  const id = await add(one)
  const { token } = await two.newKey({}, { walletId: one.wallet })
  const ask = async () => (await two.post('/v1/chat/completions', chat(), {}, token)).status
  expect([await ask(), keysAsked(two)]).toEqual([200, [OWN]])
  expect((await one.send('DELETE', `/v1/own-keys/${id}`)).status).toBe(200)
  expect([await ask(), keysAsked(two)]).toEqual([200, [HOUSE]])
  await one.stop()
  await two.stop()
  await database.stop()
})
