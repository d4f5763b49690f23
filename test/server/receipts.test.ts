/** Receipts end to end, on both engines: delivered with the answer, issued again, judged, and checked by a stranger. */

import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { isObject, parseJson } from '../../src/core/json-body.ts'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { addReceiptKey, openReceiptKeys } from '../../src/gateway/parts/receipt-keys.ts'
import { recomputes } from '../../src/receipts/recompute.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
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

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
/** An answer without its balance and its receipt: the hash in a receipt is of this. */
const bare = (text: string) =>
  text
    .replace(/,"_balance_warning":(true|false),"_remaining_credits":[\d.]+/, '')
    .replace(/,"receipt":"[\w.-]+"|: x-receipt: [\w.-]+\n\n/, '')
const hash = (text: string | Uint8Array) =>
  new Bun.CryptoHasher('sha256', 'test-secret').update(text).digest('hex')

const engines = [
  ['SQLite', async () => ({ url: 'sqlite::memory:', stop: async () => undefined })],
  ['PostgreSQL', postgresForTests],
] as const

for (const [name, fresh] of engines)
  describe(name, () => {
    let database: TestDatabase
    let server: TestServer

    beforeAll(async () => {
      database = await fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(async () => {
      await server.stop()
      await database.stop()
    })

    const jwks = async () => createLocalJWKSet(await jsonOf(await server.get('/.well-known/jwks.json', '')))
    const check = async (token: string): Promise<any> => {
      const options = { algorithms: ['EdDSA'], typ: 'receipt+jwt', issuer: 'https://turnpike.test' }
      const { payload } = await jwtVerify(token, await jwks(), { ...options, audience: 'receipt' })
      expect(recomputes(JSON.parse(JSON.stringify(payload)))).toBe(true)
      return payload
    }
    const receiptOf = (response: Response) => response.headers.get('x-receipt') ?? ''
    const again = async (id: string | null, token?: string) => {
      const response = await server.get(`/v1/receipts/${id}`, token)
      return { status: response.status, body: await jsonOf(response) }
    }
    const verify = async (body: unknown) => {
      const response = await server.post('/api/receipts/verify', body)
      return { status: response.status, body: await jsonOf(response), headers: response.headers }
    }

    test('a whole answer carries a receipt that a stranger can check, of just these bytes', async () => {
      const { token, id } = await server.newKey({}, { label: 'label-canary' })
      server.answerWith(() => completion('answer-canary'))
      const sent = JSON.stringify(chat({ messages: [{ role: 'user', content: 'prompt-canary' }] }))
      const response = await server.post('/v1/chat/completions', sent, {}, token)
      const text = await response.text()
      const receipt = receiptOf(response)
      const claims = await check(receipt)
      expect(claims).toMatchObject({
        sub: id,
        request_id: response.headers.get('x-request-id'),
        model: 'mock/small',
        usage: { input: 10, output: 5 },
        estimated: false,
        payment: { mode: 'wallet' },
        cost: {
          amount: response.headers.get('x-cost-usd'),
          currency: 'USD',
          price_version: 'test-1',
          prices_usd_per_million: { input: '1', output: '10' },
        },
      })
      expect(text).toContain(',"_balance_warning":')
      expect(claims.body_hash).toEqual({ request: sha256(sent), response: sha256(bare(text)) })
      expect(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString()).not.toContain('canary')
      expect(receipt.length).toBeLessThan(1_500)
      const issued = await again(response.headers.get('x-request-id'), token)
      expect(issued).toEqual({ status: 200, body: { receipt, claims } })
    })

    test('so do embeddings and /v1/run; what is refused or not charged has none', async () => {
      server.answerWith(() =>
        Response.json({
          object: 'list',
          data: [],
          model: 'embed',
          usage: { prompt_tokens: 7, total_tokens: 7 },
        }),
      )
      const embedded = await server.post('/v1/embeddings', { model: 'mock/embed', input: 'hi' })
      expect((await check(receiptOf(embedded))).usage).toEqual({ input: 7 })
      const large = JSON.stringify({ model: 'mock/embed', input: 'x'.repeat(50_000) })
      expect((await check(receiptOf(await server.post('/v1/embeddings', large)))).body_hash.request).toBe(
        sha256(large),
      )
      server.answerWith(() => completion('hi', null))
      const sent = JSON.stringify({ model: 'mock/small', inputs: { messages: chat().messages } })
      const ran = await server.post('/v1/run', sent)
      const claims = await check(receiptOf(ran))
      expect(claims).toMatchObject({ estimated: true, body_hash: { request: sha256(sent) } })
      const refused = await server.post('/v1/chat/completions', chat({ temperature: 3 }))
      expect(refused.headers.has('x-receipt')).toBe(false)
      server.answerWith(() => new Response('no', { status: 500 }))
      const failed = await server.post('/v1/chat/completions', chat())
      expect([failed.status, failed.headers.has('x-receipt')]).toEqual([503, false])
      expect((await again(failed.headers.get('x-request-id'))).status).toBe(404)
    })

    test('a vendor that is a Turnpike itself leaves no balance of its own in the hashed bytes', async () => {
      server.answerWith(() =>
        Response.json({
          _remaining_credits: 5,
          id: 'chatcmpl-1',
          object: 'chat.completion',
          created: 1_795_000_000,
          model: 'small',
          choices: [],
          _balance_warning: true,
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        }),
      )
      const response = await server.post('/v1/chat/completions', chat())
      const text = await response.text()
      expect(text.match(/_balance_warning|_remaining_credits/g)?.length).toBe(2)
      expect((await check(receiptOf(response))).body_hash.response).toBe(sha256(bare(text)))
    })

    test('a repeat under an Idempotency-Key carries the same receipt', async () => {
      server.answerWith(() => completion('once'))
      const key = { 'idempotency-key': crypto.randomUUID() }
      const first = await server.post('/v1/chat/completions', chat(), key)
      const second = await server.post('/v1/chat/completions', chat(), key)
      expect(second.headers.get('idempotent-replayed')).toBe('true')
      expect(receiptOf(second)).toBe(receiptOf(first))
      const claims = await check(receiptOf(second))
      expect(claims.body_hash.response).toBe(sha256(await second.text()))
      expect(claims.request_id).toBe(second.headers.get('x-request-id'))
    })

    test('a stream ends with its receipt: in the usage event if that was asked for, else as a comment', async () => {
      const events = streamEvents(['one ', 'two'])
      server.answerWith(() => streaming(events))
      const quiet = await server.post('/v1/chat/completions', chat({ stream: true }))
      const text = await quiet.text()
      const comment = /^: x-receipt: (\S+)$/m.exec(text)?.[1] ?? ''
      const claims = await check(comment)
      expect(claims.body_hash.response).toBe(sha256(bare(text)))
      expect((await again(quiet.headers.get('x-request-id'))).body.receipt).toBe(comment)
      const response = await server.post(
        '/v1/chat/completions',
        chat({ stream: true, stream_options: { include_usage: true } }),
      )
      const whole = await response.text()
      const last = JSON.parse(eventsOf(whole).at(-2) ?? '')
      expect((await check(last.receipt)).cost.amount).toBe('0.00006')
      expect(whole).not.toContain(': x-receipt')
      expect((await check(last.receipt)).body_hash.response).toBe(sha256(bare(whole)))
    })

    test('a stream that broke off is charged in part and has a receipt under its id', async () => {
      const events = streamEvents(['some ', 'words '], null).slice(0, 3)
      server.answerWith(() => streaming(events, 'break'))
      const response = await server.post('/v1/chat/completions', chat({ stream: true }))
      const text = await response.text()
      expect(text).not.toContain('x-receipt')
      const { body } = await again(response.headers.get('x-request-id'))
      const claims = await check(body.receipt)
      expect(claims).toMatchObject({ estimated: true, body_hash: { response: sha256(text) } })
      expect(Number(claims.cost.amount)).toBeGreaterThan(0)
    })

    test('a call on credit says so', async () => {
      await server.store.credit.grantCredit(
        { walletId: server.wallet, limit: 1_000_000_000n, netDays: 14 },
        byTest,
      )
      server.answerWith(() => completion('hi'))
      const response = await server.post('/v1/chat/completions', chat(), { 'x-payment-protocol': 'mpp' })
      expect((await check(receiptOf(response))).payment).toEqual({ mode: 'mpp' })
      const issued = await again(response.headers.get('x-request-id'))
      expect(issued.body.receipt).toBe(receiptOf(response))
    })

    test('a charge that the hold bounds recomputes too', async () => {
      server.answerWith(() => completion('x', { prompt_tokens: 10, completion_tokens: 90_000 }))
      const response = await server.post('/v1/chat/completions', chat({ max_tokens: 20 }))
      const claims = await check(receiptOf(response))
      expect(claims.cost.amount).toBe(claims.cost.authorized)
      expect(claims.cost.amount).toBe(response.headers.get('x-cost-usd'))
    })

    test('the key and those above it may ask for a receipt; to others there is none', async () => {
      const parent = await server.newKey()
      const child = await server.newKey({}, { parentId: parent.id })
      const other = await server.newKey({}, { parentId: parent.id })
      server.answerWith(() => completion('hi'))
      const response = await server.post('/v1/chat/completions', chat(), {}, child.token)
      const id = response.headers.get('x-request-id')
      expect((await again(id, child.token)).body.receipt).toBe(receiptOf(response))
      expect((await again(id, parent.token)).body.receipt).toBe(receiptOf(response))
      const missing = await again('019a0000-0000-7000-8000-000000000000', child.token)
      const { request_id: _id, ...unknown } = missing.body.error
      for (const stranger of [other.token, (await server.newKey()).token]) {
        const { status, body } = await again(id, stranger)
        expect([status, body.error]).toEqual([404, { ...unknown, request_id: body.error.request_id }])
      }
      expect((await again(id, '')).status).toBe(401)
    })

    test('a key that reached its cap, or was disabled, still gets and checks receipts of what it paid', async () => {
      const { token, id } = await server.newKey()
      const response = await server.post('/v1/chat/completions', chat(), {}, token)
      for (const disabledReason of ['spend_cap', 'operator'] as const) {
        await server.gateway.book.changeKey(id, { disabledReason, byCreator: true }, byTest)
        expect((await server.post('/v1/chat/completions', chat(), {}, token)).status).toBe(403)
        const { status, body } = await again(response.headers.get('x-request-id'), token)
        expect([status, body.receipt]).toEqual([200, receiptOf(response)])
        const verdict = await server.post('/api/receipts/verify', { receipt: body.receipt }, {}, token)
        expect(await jsonOf(verdict)).toMatchObject({ valid: true })
      }
    })

    test('the verdicts of the specification', async () => {
      const receipt = receiptOf(await server.post('/v1/chat/completions', chat()))
      const good = await verify({ receipt })
      expect([good.status, good.body]).toEqual([
        200,
        { valid: true, kid: decodeProtectedHeader(receipt).kid, claims: await check(receipt) },
      ])
      for (const body of [{}, { receipt: null }, { receipt: 7 }, { receipt: '' }, { receipt: [receipt] }]) {
        const { status, body: answer } = await verify(body)
        expect([status, answer.error]).toEqual([400, 'receipt_required'])
      }
      const [header, payload, signature = ''] = receipt.split('.')
      const swapped = signature.startsWith('A') ? 'B' : 'A'
      const tampered = [header, payload, swapped + signature.slice(1)].join('.')
      for (const [text, error] of [
        ['nonsense', 'malformed_jwt'],
        [`${header}.${payload}`, 'malformed_jwt'],
        ['x'.repeat(20_000), 'malformed_jwt'],
        [tampered, 'signature_mismatch'],
      ]) {
        const { status, body } = await verify({ receipt: text })
        expect([status, body]).toEqual([200, { valid: false, error }])
      }
      expect((await verify('{')).body.code).toBe('invalid_json')
      const nobody = await server.post('/api/receipts/verify', { receipt }, {}, '')
      expect([nobody.status, (await jsonOf(nobody)).code]).toEqual([401, 'missing_authorization'])
    })

    test('after ninety days a receipt is expired; its claims can still be read', async () => {
      const response = await server.post('/v1/chat/completions', chat())
      const claims = await check(receiptOf(response))
      try {
        setSystemTime(new Date(claims.exp * 1000 + 10_000))
        const { status, body } = await verify({ receipt: receiptOf(response) })
        expect([status, body]).toEqual([
          200,
          { valid: false, error: 'expired', claims, usable_for_disputes: false },
        ])
        expect((await again(response.headers.get('x-request-id'))).status).toBe(404)
      } finally {
        setSystemTime()
      }
    })

    test('the key set is public and may be kept for five minutes', async () => {
      const response = await server.get('/.well-known/jwks.json', '')
      expect(response.headers.get('cache-control')).toBe('public, max-age=300')
      const { keys } = await jsonOf(response)
      expect(Object.keys(keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
      expect(keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' })
      const status = await jsonOf(await server.get('/api/status', ''))
      expect(status.services.receipts).toEqual({ status: 'ok' })
    })
  })

test('receipts on demand: answers carry none, and it is issued when asked for', async () => {
  const server = await startTestServer({ receipts: 'on-demand' })
  const response = await server.post('/v1/chat/completions', chat())
  expect(response.headers.has('x-receipt')).toBe(false)
  server.answerWith(() => streaming(streamEvents(['one'])))
  const stream = await server.post('/v1/chat/completions', chat({ stream: true }))
  expect(await stream.text()).not.toContain('receipt')
  for (const answer of [response, stream]) {
    const { receipt } = await jsonOf(await server.get(`/v1/receipts/${answer.headers.get('x-request-id')}`))
    const verdict = await jsonOf(await server.post('/api/receipts/verify', { receipt }))
    expect(verdict.valid).toBe(true)
  }
  await server.stop()
})

test('receipts off: none is issued or kept for, the verifier is not configured, the key set is empty', async () => {
  const server = await startTestServer({ receipts: 'off' })
  const response = await server.post('/v1/chat/completions', chat())
  expect([response.status, response.headers.has('x-receipt')]).toEqual([200, false])
  const id = response.headers.get('x-request-id') ?? ''
  expect((await server.get(`/v1/receipts/${id}`)).status).toBe(404)
  expect((await server.store.receipts.chargedCall(id))?.detail?.receipt).toBeUndefined()
  const verdict = await server.post('/api/receipts/verify', { receipt: 'x' })
  expect([verdict.status, verdict.headers.get('retry-after'), await jsonOf(verdict)]).toEqual([
    503,
    '30',
    {
      error: 'verifier_not_configured',
      code: 'verifier_not_configured',
      message: expect.any(String),
      retry_after_seconds: 30,
      request_id: expect.any(String),
    },
  ])
  expect((await server.post('/api/receipts/verify', {})).status).toBe(400)
  expect(await jsonOf(await server.get('/.well-known/jwks.json', ''))).toEqual({ keys: [] })
  await server.stop()
})

for (const [name, fresh] of engines)
  test(`${name}: a rotated key is published before it signs; old receipts stay valid until their key is revoked`, async () => {
    const database = await fresh()
    const store = await openStore({ url: database.url })
    let now = Date.now()
    let monotonic = 0
    const clock = { ...systemClock, now: () => now, monotonicMs: () => monotonic }
    const open = () => openReceiptKeys({ store: store.receipts, hash, clock, log: silentLog })
    const published = async (keys: Awaited<ReturnType<typeof open>>) =>
      (await keys.published()).map(({ kid }) => kid)
    try {
      const [one, two] = await Promise.all([open(), open()])
      const first = one.signer()?.kid ?? ''
      expect(first).not.toBe('')
      expect([two.signer()?.kid, await published(two)]).toEqual([first, [first]])
      const second = (await addReceiptKey({ store: store.receipts, hash }, 600_000, byTest)).kid
      monotonic += 6_000
      expect(await published(two)).toEqual([first, second])
      expect(two.signer()?.kid).toBe(first)
      monotonic += 600_000
      now += 605_000
      // Nothing waits while the keys are read again: a call that signs meanwhile uses the known ones.
      one.signer()
      await one.published()
      expect([one.signer()?.kid, two.signer()?.kid]).toEqual([second, second])
      expect(await published(one)).toEqual([first, second])
      expect(await store.receipts.removeReceiptKey(first, byTest)).toBe(true)
      expect(await store.receipts.removeReceiptKey(first, byTest)).toBe(false)
      monotonic += 6_000
      expect(await published(one)).toEqual([second])
      // Under another secret the old keys still verify, and a new one signs.
      const other = (text: string | Uint8Array) => hash(`other ${text}`)
      const moved = await openReceiptKeys({ store: store.receipts, hash: other, clock, log: silentLog })
      expect(await published(moved)).toEqual([second, moved.signer()?.kid ?? ''])
    } finally {
      await store.close()
      await database.stop()
    }
  })

test('the database never holds a signing key in the clear', async () => {
  const server = await startTestServer()
  const [key] = await server.store.receipts.receiptKeys()
  const der = Buffer.from(key?.sealed ?? '', 'base64url')
  // The fixed beginning of an Ed25519 private key in PKCS #8.
  expect(der.includes(Buffer.from('302e020100300506032b6570', 'hex'))).toBe(false)
  await server.stop()
})

test('the unit prices of a receipt are those of the tier the call reached', async () => {
  const rates = { input: 1_000_000, output: 2_000_000 }
  const tiers = [{ aboveInputTokens: 100, rates: { input: 3_000_000, cache_read: 500_000 } }]
  const server = await startTestServer({
    models: [testModel('small', { price: { rates, tiers, version: 'tiered' } })],
  })
  server.answerWith(() =>
    completion('x', {
      prompt_tokens: 200,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 150 },
    }),
  )
  const response = await server.post(
    '/v1/chat/completions',
    chat({ messages: [{ role: 'user', content: 'x'.repeat(900) }] }),
  )
  const claims = parseJson(
    Buffer.from(response.headers.get('x-receipt')?.split('.')[1] ?? '', 'base64url').toString(),
  )
  if (!isObject(claims)) throw new Error('no claims')
  expect(claims.usage).toEqual({ cache_read: 150, input: 50, output: 1 })
  expect(claims.cost).toMatchObject({
    amount: '0.000227',
    prices_usd_per_million: { cache_read: '0.5', input: '3', output: '2' },
  })
  expect(recomputes(claims)).toBe(true)
  await server.stop()
})

/** A vendor that speaks messages or generate content, whole and as a stream. */
const speaking = {
  messages: {
    whole: () =>
      Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
      }),
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}\n\n',
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n',
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
  },
  gemini: {
    whole: () =>
      new Response(
        `${JSON.stringify(
          {
            candidates: [
              { content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP', index: 0 },
            ],
            usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
          },
          null,
          2,
        )}\n`,
      ),
    events: [
      'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"index":0}]}\r\n\r\n',
      'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"!"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}\r\n\r\n',
    ],
  },
  chat: { whole: () => completion('hi'), events: streamEvents(['hi']) },
}

const asked = {
  chat: [(): string => '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  messages: [() => '/v1/messages', { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }],
  responses: [() => '/v1/responses', { input: 'hi' }],
  gemini: [
    (stream: boolean) =>
      `/v1beta/models/mock/small:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'gemini, as a list': [
    (stream: boolean) => `/v1beta/models/mock/small:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
} as const

for (const speaks of ['chat', 'messages', 'gemini'] as const)
  describe(`a vendor that speaks ${speaks}`, () => {
    for (const [dialect, [path, members]] of Object.entries(asked))
      for (const stream of [false, true])
        test(`${dialect}, ${stream ? 'as a stream' : 'whole'}: the receipt is of these bytes`, async () => {
          const server = await startTestServer({ vendor: speaks === 'chat' ? {} : { speaks } })
          const vendor = speaking[speaks]
          server.answerWith(() => (stream ? streaming(vendor.events) : vendor.whole()))
          const body = JSON.stringify({
            ...(dialect.startsWith('gemini') ? {} : { model: 'mock/small', stream }),
            ...members,
          })
          const response = await server.post(path(stream), body)
          const text = await response.text()
          expect([text, response.status]).toEqual([text, 200])
          const id = response.headers.get('x-request-id')
          const { receipt, claims } = await jsonOf(await server.get(`/v1/receipts/${id}`))
          expect(claims.body_hash).toEqual({ request: sha256(body), response: sha256(bare(text)) })
          expect([claims.usage, claims.cost.amount, claims.estimated]).toEqual([
            { input: 10, output: 5 },
            '0.00006',
            false,
          ])
          if (!stream) expect(response.headers.get('x-receipt')).toBe(receipt)
          else expect(text.split(receipt).length).toBe(2)
          for (const slot of ['\u0001', '\u0002']) expect(text).not.toContain(slot)
          if (dialect === 'gemini, as a list') expect(JSON.parse(text)).toBeDefined()
          await server.stop()
        })
  })
