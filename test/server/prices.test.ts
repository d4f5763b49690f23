/**
 * The charge of a call where its price is more than a rate a token: a fee a call, and tiers that the vendor may not
 * serve.
 */
import { afterEach, expect, test } from 'bun:test'
import type { Price } from '../../src/core/model.ts'
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
} from './harness.ts'

let server: TestServer
afterEach(() => server.stop())

/** What the wallet paid while `work` ran, and what the audit finds. */
const paidFor = async (work: () => Promise<unknown>) => {
  const before = await server.balance()
  await work()
  while (server.openCalls() > 0) await Bun.sleep(1)
  expect((await server.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  return before - (await server.balance())
}

const rates = { input: 1_000_000, output: 10_000_000 }
const full: Price = { rates, tiers: [], version: 'test-1' }
const half: Price = { rates: { input: 500_000, output: 5_000_000 }, tiers: [], version: 'test-1' }
/** 10 tokens in and 5 out. */
const FULL = 60_000n

test.each([
  ['whole', false],
  ['streamed', true],
])('a price for the call itself is charged once, %s', async (_how, stream) => {
  const fee: Price = { ...full, rates: { ...rates, call: 5_000_000_000 } }
  server = await startTestServer({ models: [testModel('small', { price: fee })] })
  server.answerWith(() => (stream ? streaming(streamEvents(['hello'])) : completion('hello')))
  let text = ''
  const paid = await paidFor(async () => {
    text = await (await server.post('/v1/chat/completions', chat({ stream, max_tokens: 10 }))).text()
  })
  expect(paid).toBe(FULL + 5_000_000n)
  expect(text).toContain('0.00506')
  const [row] = (await jsonOf(await server.get('/v1/usage?group_by=model'))).data.rows
  expect(row).toMatchObject({ input_tokens: 10, output_tokens: 5, cost_usd: 0.00506 })
})

const twin = testModel('small', {
  id: 'mock/smalll',
  price: full,
  cheaper: { tier: 'flex', price: half },
})

/** The vendor's answer, whole or streamed, with the tier it says it served in. */
const servedIn = (tier: string | undefined, stream: boolean): Response => {
  const member = tier === undefined ? '' : `"service_tier":"${tier}",`
  return stream
    ? streaming(streamEvents(['hello']).map((event) => event.replace('data: {', `data: {${member}`)))
    : new Response(`{${member}"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"small",
        "choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
}

const served = [
  ['flex', FULL / 2n],
  ['default', FULL],
  ['priority', FULL],
  // A vendor that names no tier counts as having served the requested one.
  [undefined, FULL / 2n],
] as const

for (const stream of [false, true])
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses'] as const)
    test.each(served)(
      `a discounted ${stream ? 'stream' : 'call'} by ${path} that is served as %s costs %s nano`,
      async (tier, cost) => {
        server = await startTestServer({ models: [twin] })
        server.answerWith(() => servedIn(tier, stream))
        const words = { model: 'mock/smalll', stream }
        const body =
          path === '/v1/responses'
            ? { ...words, input: 'hi', max_output_tokens: 10 }
            : { ...chat(words), max_tokens: 10 }
        const paid = await paidFor(async () => void (await (await server.post(path, body)).text()))
        expect([server.asked[0]?.body.service_tier, paid]).toEqual(['flex', cost])
      },
    )

/** The same for a vendor that speaks generate-content, which names its tier beside its counts. */
const geminiIn = (serviceTier: string | undefined, stream: boolean): Response => {
  const answer = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15, serviceTier },
  }
  return stream ? streaming([`data: ${JSON.stringify(answer)}\n\n`]) : Response.json(answer)
}

const geminiCalls = [
  ['/v1beta/models/mock/smalll:generateContent', false, {}],
  ['/v1beta/models/mock/smalll:streamGenerateContent?alt=sse', true, { service_tier: 'standard' }],
  ['/v1/chat/completions', true, chat({ model: 'mock/smalll', stream: true })],
] as const

for (const [path, stream, body] of geminiCalls)
  test.each([
    ['flex', FULL / 2n],
    ['standard', FULL],
    [undefined, FULL / 2n],
  ] as const)(`generate-content, ${path}: served as %s`, async (tier, cost) => {
    server = await startTestServer({ models: [twin], vendor: { speaks: 'gemini' } })
    server.answerWith(() => geminiIn(tier, stream))
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
    const sent = 'messages' in body ? body : { ...body, contents }
    const paid = await paidFor(async () => void (await (await server.post(path, sent)).text()))
    const { serviceTier, service_tier } = server.asked[0]?.body ?? {}
    expect([serviceTier, service_tier, paid]).toEqual(['flex', undefined, cost])
  })

const usual = testModel('small', { price: full })
const alone = testModel('alone', { price: full })

/** The same question in each style that can name a tier, of a vendor that speaks this dialect. */
const askedBy = (model: string, tier: string, stream: boolean) =>
  ({
    chat: ['/v1/chat/completions', { ...chat({ model, stream }), max_tokens: 10, service_tier: tier }],
    responses: ['/v1/responses', { model, stream, input: 'hi', max_output_tokens: 10, service_tier: tier }],
    gemini: [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], service_tier: tier },
    ],
  }) as const

const styles = ['chat', 'responses', 'gemini'] as const

for (const stream of [false, true])
  test.each(
    styles.flatMap((style) => (['chat', 'gemini'] as const).map((speaks) => [style, speaks] as const)),
  )(
    `${stream ? 'a stream' : 'a call'} of %s that asks a vendor of %s for its cheaper tier is one of the discounted model`,
    async (style, speaks) => {
      server = await startTestServer({ models: [usual, twin, alone], vendor: { speaks } })
      const ask = async (model: string, served: string) => {
        server.answerWith(() => (speaks === 'gemini' ? geminiIn : servedIn)(served, stream))
        const [path, body] = askedBy(model, 'flex', stream)[style]
        let response = new Response()
        const paid = await paidFor(async () => {
          response = await server.post(path, body)
          await response.text()
        })
        const { service_tier, serviceTier } = server.asked.at(-1)?.body ?? {}
        return { paid, told: response.headers.get('x-not-carried'), sent: service_tier ?? serviceTier }
      }
      expect(await ask('mock/small', 'flex')).toEqual({ paid: FULL / 2n, told: null, sent: 'flex' })
      expect(await ask('mock/small', 'standard')).toEqual({ paid: FULL, told: null, sent: 'flex' })
      // One that is not sold in that tier is asked in the usual one, and its caller is told.
      const name = style === 'gemini' ? 'serviceTier' : 'service_tier'
      expect(await ask('mock/alone', 'standard')).toEqual({ paid: FULL, told: name, sent: undefined })
      const { rows } = (await jsonOf(await server.get('/v1/usage?group_by=model'))).data
      expect(rows.map((row: { model: string }) => row.model).sort()).toEqual(['mock/alone', 'mock/smalll'])
    },
  )

for (const speaks of ['chat', 'responses'] as const)
  test.each([
    ['/v1/chat/completions', 'auto'],
    ['/v1/chat/completions', undefined],
    ['/v1/responses', 'auto'],
    ['/v1/responses', 'default'],
    ['/v1/messages', undefined],
  ] as const)(
    `${speaks}: whoever asks by %s for the tier %s gets the one that the listed price is for`,
    async (path, tier) => {
      const ask = async (vendor: object) => {
        server = await startTestServer({ models: [usual], vendor: { speaks, ...vendor } })
        server.answerWith(() => servedIn('default', false))
        const words =
          path === '/v1/responses' ? { model: 'mock/small', input: 'hi' } : chat({ max_tokens: 20 })
        await server.post(path, { ...words, ...(tier === undefined ? {} : { service_tier: tier }) })
        return server.asked[0]?.body.service_tier
      }
      // What `auto` means is set at the vendor, and may be a dearer tier; so is what leaving it out means.
      expect(await ask({ standardTier: 'default' })).toBe('default')
      await server.stop()
      expect(await ask({})).toBeUndefined()
    },
  )

test('a discounted call is held at the full price, which it may come to, and listed at the discounted one', async () => {
  // Enough for ten tokens at half the price, not at the full one.
  server = await startTestServer({ models: [twin], fund: 100_000_000n })
  const { token } = await server.newKey({ spendCap: 80_000n })
  server.answerWith(() => servedIn('default', false))
  const refused = await server.post(
    '/v1/chat/completions',
    chat({ model: 'mock/smalll', max_tokens: 10 }),
    {},
    token,
  )
  expect(refused.status).toBe(402)
  const [listed] = (await jsonOf(await server.get('/v1/models'))).data
  expect(listed.pricing.per_1m_input_usd).toBe('0.5')
  expect(listed).toMatchObject({ discounted: true, pricing: { otherwise: { per_1m_input_usd: '1' } } })
})

test('an equal that takes a discounted call over is paid by the house, whatever tier it names', async () => {
  const equal = testModel('equal')
  server = await startTestServer({ models: [twin, equal], failover: { 'mock/smalll': ['mock/equal'] } })
  server.answerWith(({ body }) =>
    body.model === 'equal' ? servedIn('default', false) : new Response('{}', { status: 500 }),
  )
  const paid = await paidFor(() => server.post('/v1/chat/completions', chat({ model: 'mock/smalll' })))
  expect([server.asked.at(-1)?.body.service_tier, paid]).toEqual([undefined, FULL / 2n])
})

test('a stream of a discounted model that starts small extends its hold at the full price', async () => {
  server = await startTestServer({ models: [twin] })
  const words = Array.from({ length: 5_000 }, () => 'word ')
  const usage = { prompt_tokens: 10, completion_tokens: 5_000, total_tokens: 5_010 }
  server.answerWith(() =>
    streaming(
      streamEvents(words, usage).map((event) => event.replace('data: {', 'data: {"service_tier":"default",')),
    ),
  )
  let events: string[] = []
  const paid = await paidFor(async () => {
    const response = await server.post('/v1/chat/completions', chat({ model: 'mock/smalll', stream: true }))
    events = eventsOf(await response.text())
  })
  expect(paid).toBe(10n * 1_000n + 5_000n * 10_000n)
  expect(events.at(-1)).toBe('[DONE]')
})
