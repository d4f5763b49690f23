/**
 * Quotes: one 402 for both versions of the protocol, tight, bound to the request, and strict about what pays for it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { chat, jsonOf, testModel } from '../server/harness.ts'
import { accountOf, TOKEN } from './chain.ts'
import { decoded, encoded, payV1 } from './payers.ts'
import { type Rig, startRig, testOffer } from './rig.ts'

const PAY_TO = accountOf(7).address
const payer = accountOf(3)

let rig: Rig
/** Requests that reached the facilitator; here it only counts them. */
let asked = 0
const facilitator = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => {
    if (request.url.endsWith('/supported'))
      return Response.json({ kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }] })
    asked++
    return Response.json({ isValid: false, invalidReason: 'counted' })
  },
})

const offer = { ...testOffer, payTo: PAY_TO }

beforeAll(async () => {
  const options = {
    facilitatorUrl: `http://127.0.0.1:${facilitator.port}`,
    // The facilitator accepts the first only.
    offers: [offer, { ...offer, network: 'eip155:8453', v1Network: 'base' }],
    timeoutSeconds: 60,
    settleMs: 1_000,
    outputTokens: 100,
    publicUrl: 'https://gateway.example',
  }
  rig = await startRig({ unitsOf: async () => 0n } as never, options, {
    models: [
      testModel('small'),
      testModel('free', { price: { rates: { input: 0, output: 0 }, tiers: [], version: 'test-1' } }),
      testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 }),
    ],
  })
  await rig.server.x402?.round()
})
afterAll(async () => {
  await rig.check()
  await rig.server.stop()
  await facilitator.stop(true)
})

const usdOf = (quote: any): number => Number(quote.quote.amount_usd)

test("a key's own alias is quoted as its model, and nobody else has it", async () => {
  const { token } = await rig.server.newKey({}, { aliases: { mine: 'mock/small' } })
  const body = chat({ model: 'mine' })
  const own = await rig.quote('/v1/chat/completions', body, { authorization: `Bearer ${token}` })
  expect([own.status, decoded(own.headers.get('payment-required')).resource.description]).toEqual([
    402,
    'One call of mock/small',
  ])
  const guest = await rig.quote('/v1/chat/completions', body)
  expect([guest.status, (await jsonOf(guest)).error.code]).toEqual([400, 'model_not_found'])
})

test("a tenant's key is not asked to pay, because its reseller bills the call", async () => {
  const { id } = await rig.server.newKey({}, { canManage: true })
  const { token } = await rig.server.newKey({}, { parentId: id })
  const authorization = `Bearer ${token}`
  for (const headers of [{ authorization }, { authorization, 'payment-signature': encoded({}) }]) {
    const refused = await rig.quote('/v1/chat/completions', chat(), headers)
    expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'forbidden'])
  }
})

test('without a key nothing is compacted, because the item would be for anybody; with one it is quoted', async () => {
  const trigger = { type: 'compaction_trigger' }
  const body = { model: 'mock/small', input: [{ role: 'user', content: 'hi' }, trigger] }
  for (const [path, asked] of [
    ['/v1/responses', body],
    ['/v1/responses/compact', { ...body, input: 'hi' }],
  ] as const) {
    const guest = await rig.quote(path, asked)
    expect([guest.status, (await jsonOf(guest)).error.param]).toEqual([400, 'input'])
    const { token } = await rig.server.newKey()
    expect((await rig.quote(path, asked, { authorization: `Bearer ${token}` })).status).toBe(402)
  }
})

test('one answer serves both versions: the header is version 2, the body version 1', async () => {
  const response = await rig.quote('/v1/run', { model: 'mock/small', inputs: { messages: chat().messages } })
  expect(response.status).toBe(402)
  expect(response.headers.get('cache-control')).toBe('private, no-store')
  expect(response.headers.get('access-control-expose-headers')).toContain('PAYMENT-REQUIRED')
  const v2 = decoded(response.headers.get('payment-required'))
  const v1 = await jsonOf(response)
  const resource = {
    url: 'https://gateway.example/v1/run',
    description: 'One call of mock/small',
    mimeType: 'application/json',
  }
  const { amount, extra } = v2.accepts[0]
  expect(v2).toEqual({
    x402Version: 2,
    error: 'payment_required',
    resource,
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        amount,
        asset: TOKEN,
        payTo: PAY_TO,
        maxTimeoutSeconds: 60,
        extra: { name: 'USDC', version: '2', paymentFlow: 'upfront', quoteId: extra.quoteId },
      },
    ],
    extensions: {},
  })
  expect(v1).toEqual({
    type: 'https://paymentauth.org/problems/payment-required',
    title: 'Payment Required',
    status: 402,
    detail: expect.any(String),
    x402Version: 1,
    error: 'payment_required',
    message: expect.stringContaining('Send an API key'),
    accepts: [
      {
        scheme: 'exact',
        network: 'base-sepolia',
        maxAmountRequired: amount,
        resource: resource.url,
        description: resource.description,
        mimeType: resource.mimeType,
        payTo: PAY_TO,
        maxTimeoutSeconds: 60,
        asset: TOKEN,
        extra: { name: 'USDC', version: '2' },
      },
    ],
    quote: {
      protocol: 'x402',
      quote_id: extra.quoteId,
      amount_usd: String(Number(amount) / 1e6),
      currency: 'USDC',
      upper_bound: true,
      max_output_tokens: 100,
      expires_at: expect.stringMatching(/^20/),
      change_policy: expect.stringContaining('/api/wallet/claim'),
    },
  })
  expect(rig.server.asked).toHaveLength(0)
})

test('every priced endpoint quotes, with a key and without', async () => {
  const { token } = await rig.server.newKey()
  const bodies = {
    '/v1/chat/completions': chat(),
    '/v1/messages': chat({ max_tokens: 5 }),
    '/v1/responses': { model: 'mock/small', input: 'hi' },
    '/v1beta/models/mock/small:generateContent': { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    '/v1/embeddings': { model: 'mock/embed', input: 'hello' },
    '/v1/run': { model: 'mock/embed', inputs: { input: 'hello' } },
    '/api/idempotent-run': { model: 'mock/embed', inputs: { input: 'hello' } },
  }
  for (const [path, body] of Object.entries(bodies))
    for (const bearer of [{}, { authorization: `Bearer ${token}` }]) {
      const response = await rig.quote(path, body, { 'idempotency-key': `k-${path}`, ...bearer })
      expect([path, response.status]).toEqual([path, 402])
      expect(decoded(response.headers.get('payment-required')).accepts).toHaveLength(1)
    }
})

test('a bad key is 401 and a bad request 400 before any quote', async () => {
  const bad = await rig.quote('/v1/chat/completions', chat(), {
    authorization: 'Bearer sk-nobodyknowsthiskey',
  })
  expect(bad.status).toBe(401)
  expect((await rig.quote('/v1/chat/completions', chat({ temperature: 9 }))).status).toBe(400)
  expect((await rig.quote('/v1/chat/completions', chat({ model: 'mock/none' }))).status).toBe(400)
})

test('the quote is tight: input by its bytes, output by the asked bound', async () => {
  const of = async (more: object) => usdOf(await jsonOf(await rig.quote('/v1/chat/completions', chat(more))))
  const [one, eleven] = [await of({ max_tokens: 1 }), await of({ max_tokens: 11 })]
  // Ten tokens at ten dollars a million, and a byte more of body.
  expect(eleven - one).toBeCloseTo(10 * 0.00001, 5)
  expect(await of({ max_tokens: 1, messages: [{ role: 'user', content: 'hi'.repeat(51) }] })).toBeCloseTo(
    one + 100 * 0.000001,
    6,
  )
  expect(usdOf(await jsonOf(await rig.quote('/v1/chat/completions', chat({ model: 'mock/free' }))))).toBe(
    1e-6,
  )
})

test('what is quoted never exceeds X-Max-Cost-Usd', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 2_000_000 }),
      fc.option(fc.integer({ min: 1, max: 8_192 })),
      async (nano, max) => {
        const ceiling = (nano / 1e9).toFixed(9)
        const response = await rig.quote(
          '/v1/chat/completions',
          chat(max === null ? {} : { max_tokens: max }),
          {
            'x-max-cost-usd': ceiling,
          },
        )
        expect(response.status).toBe(402)
        const body = await jsonOf(response)
        if (body.quote === undefined) expect(body.error.code).toBe('max_cost_exceeded')
        else expect(usdOf(body)).toBeLessThanOrEqual(Number(ceiling))
      },
    ),
    { numRuns: 60 },
  )
  const within = await jsonOf(await rig.quote('/v1/chat/completions', chat(), { 'x-max-cost-usd': '0.0005' }))
  expect(within.quote.max_output_tokens).toBeLessThan(100)
  expect(usdOf(within)).toBeGreaterThan(0.00048)
})

test('payments for something else are refused with a quote, and nobody is asked', async () => {
  const quote = await jsonOf(await rig.quote('/v1/chat/completions', chat()))
  const [accepts] = quote.accepts
  const before = asked
  const wrong: [string, string][] = [
    ['less', await payV1(payer, { ...accepts, maxAmountRequired: '1' })],
    ['more', await payV1(payer, { ...accepts, maxAmountRequired: '99999999' })],
    ['another receiver', await payV1(payer, { ...accepts, payTo: payer.address })],
    ['another chain', await payV1(payer, { ...accepts, network: 'polygon' })],
    ['another scheme', encoded({ ...decoded(await payV1(payer, accepts)), scheme: 'upto' })],
  ]
  for (const [what, header] of wrong) {
    const response = await rig.quote('/v1/chat/completions', chat(), { 'x-payment': header })
    expect([what, response.status, (await jsonOf(response)).error]).toEqual([what, 402, 'quote_mismatch'])
  }
  expect(asked).toBe(before)
  const right = await rig.quote('/v1/chat/completions', chat(), { 'x-payment': await payV1(payer, accepts) })
  expect((await jsonOf(right)).error).toBe('counted')
  expect(asked).toBe(before + 1)
})

test('what is no payment is 400, whichever header it comes in', async () => {
  const quote = await jsonOf(await rig.quote('/v1/chat/completions', chat()))
  const good = decoded(await payV1(payer, quote.accepts[0]))
  const { authorization } = good.payload
  const before = asked
  const bad: string[] = [
    'not base64!',
    encoded('text'),
    encoded([]),
    encoded({}),
    encoded({ ...good, x402Version: 3 }),
    encoded({ ...good, payload: null }),
    encoded({ ...good, payload: { ...good.payload, signature: 'none' } }),
    ...[
      { from: '0x1' },
      { to: 7 },
      { value: '-1' },
      { value: '1e3' },
      { value: 1 },
      { nonce: '0x' },
      { validBefore: 'soon' },
      { validAfter: null },
    ].map((change) =>
      encoded({ ...good, payload: { ...good.payload, authorization: { ...authorization, ...change } } }),
    ),
    Buffer.from('x'.repeat(10_000)).toString('base64'),
    Buffer.from('{"x402Version":1').toString('base64'),
  ]
  for (const header of bad)
    for (const name of ['x-payment', 'payment-signature']) {
      const response = await rig.quote('/v1/chat/completions', chat(), { [name]: header })
      expect([name, header.slice(0, 60), response.status]).toEqual([name, header.slice(0, 60), 400])
    }
  expect(asked).toBe(before)
})

test('random bytes in a payment header are never more than a 400 or a quote', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
      const response = await rig.quote('/v1/chat/completions', chat(), {
        'payment-signature': encoded(value),
      })
      expect([400, 402]).toContain(response.status)
    }),
    { numRuns: 100 },
  )
})

test('who pays call by call reads names and prices without a key', async () => {
  const list = await rig.server.get('/v1/models', '')
  expect(list.status).toBe(200)
  const { data } = await jsonOf(list)
  expect(data.map(({ id }: { id: string }) => id)).toEqual(['mock/small', 'mock/free', 'mock/embed'])
  expect((await rig.server.get('/v1/models/mock/small', '')).status).toBe(200)
  expect((await rig.server.get('/v1/models', 'sk-unknown')).status).toBe(401)
  const one = await jsonOf(await rig.server.get('/products/mock/small.json'))
  expect(one.endpoint).toBe('https://gateway.example/v1/run')
  expect(one.payment_protocols.x402).toMatchObject({ supported: true, quote_response_code: 402 })
})
