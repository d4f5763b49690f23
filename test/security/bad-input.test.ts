/** Bad input gets a 4xx, costs no vendor's call and no money, and never a 500. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { chat, completion, startTestServer, type TestServer } from '../server/harness.ts'

let server: TestServer
let token: string

beforeAll(async () => {
  server = await startTestServer()
  server.answerWith(() => completion('x'))
  token = (await server.newKey()).token
})

afterAll(() => server.stop())

const paths = ['/v1/chat/completions', '/v1/embeddings', '/v1/run', '/api/idempotent-run'] as const
const send = (
  path: string,
  body: string | Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string> = {},
  method = 'POST',
) =>
  server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: method === 'GET' ? null : body,
    }),
  )

const costsNothing = async (work: () => Promise<void>) => {
  const [asked, balance] = [server.asked.length, await server.balance()]
  await work()
  expect(server.asked.length).toBe(asked)
  expect(await server.balance()).toBe(balance)
}

test('random bytes are 4xx on every endpoint that takes a body', () =>
  costsNothing(() =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.uint8Array({ maxLength: 200 }), async (path, bytes) => {
        const { status } = await send(path, new Uint8Array(bytes), { 'idempotency-key': 'k' })
        expect(status).toBeGreaterThanOrEqual(400)
        expect(status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    ),
  ))

test('random JSON values are 4xx', () =>
  costsNothing(() =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.json({ maxDepth: 5 }), async (path, text) => {
        const { status } = await send(path, text, { 'idempotency-key': 'k2' })
        expect(status).toBeGreaterThanOrEqual(400)
        expect(status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    ),
  ))

test('a good call with any member replaced by anything is answered or refused, never a 500', async () => {
  const names = fc.constantFrom(
    'model',
    'messages',
    'temperature',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'stream',
    'stream_options',
    'stop',
    'tools',
    'functions',
    'response_format',
    'user',
    'top_p',
    'service_tier',
    '__proto__',
    'constructor',
  )
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.oneof(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constantFrom(1e300, -0, 2 ** 53, -1, 0.1, '', [], {}, null, true),
      ),
      async (name, value) => {
        const body = `{${JSON.stringify(name)}:${JSON.stringify(value)},${JSON.stringify(chat()).slice(1)}`
        const response = await send('/v1/chat/completions', body)
        await response.arrayBuffer()
        expect(response.status).not.toBe(500)
        const alone = await send('/v1/chat/completions', JSON.stringify({ ...chat(), [name]: value }))
        await alone.arrayBuffer()
        expect(alone.status).not.toBe(500)
      },
    ),
    { numRuns: 400 },
  )
})

test('any header value on money and identity is answered or refused, never a 500', async () => {
  const names = fc.constantFrom(
    'x-max-cost-usd',
    'x-payment-protocol',
    'idempotency-key',
    'authorization',
    'content-type',
    'content-encoding',
  )
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '?')),
      async (name, value) => {
        const response = await send('/v1/chat/completions', JSON.stringify(chat()), { [name]: value })
        await response.arrayBuffer()
        expect(response.status).not.toBe(500)
      },
    ),
    { numRuns: 300 },
  )
})

test('any limits body is applied or refused, never a 500', async () => {
  const own = await server.newKey()
  const names = fc.constantFrom(
    'spend_cap_usd',
    'monthly_cap_usd',
    'rpm_limit',
    'rph_limit',
    'rpd_limit',
    'tpm_limit',
    'stop_at_remaining_usd',
    'disabled',
    'other',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        names,
        fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.double(), fc.constantFrom(1e308, 1e-300, -0, 2 ** 53)),
      ),
      async (body) => {
        const request = new Request('http://turnpike.test/v1/key/wholesale/me/limits', {
          method: 'PUT',
          headers: { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        expect([200, 400, 403]).toContain((await server.fetch(request)).status)
      },
    ),
    { numRuns: 60 },
  )
})

const table: readonly (readonly [string, () => Promise<Response>, number, string])[] = [
  [
    'no credential',
    () => send('/v1/models', null, { authorization: '' }, 'GET'),
    401,
    'missing_authorization',
  ],
  [
    'another scheme',
    () => send('/v1/models', null, { authorization: 'Basic abc' }, 'GET'),
    401,
    'invalid_api_key',
  ],
  [
    'an unknown key',
    () => send('/v1/models', null, { authorization: `Bearer sk-${'a'.repeat(40)}` }, 'GET'),
    401,
    'invalid_api_key',
  ],
  [
    'two credentials',
    () => send('/v1/models', null, { authorization: 'Bearer sk-a, Bearer sk-b' }, 'GET'),
    400,
    'invalid_parameter',
  ],
  [
    'an unknown key is refused before its body is read',
    () => send('/v1/chat/completions', '{', { authorization: `Bearer sk-${'a'.repeat(40)}` }),
    401,
    'invalid_api_key',
  ],
  ['no JSON', () => send('/v1/chat/completions', '{"a":'), 400, 'invalid_json'],
  [
    'a form',
    () => send('/v1/chat/completions', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
    415,
    'unsupported_media_type',
  ],
  [
    'a compressed body',
    () => send('/v1/chat/completions', 'x', { 'content-encoding': 'gzip' }),
    415,
    'unsupported_media_type',
  ],
  [
    'a body that is too large',
    () => send('/v1/chat/completions', JSON.stringify(chat({ x: 'y'.repeat(1_000_001) }))),
    413,
    'request_too_large',
  ],
  ['an unknown address', () => send('/v1/nope', '{}'), 404, 'not_found'],
  ['another method', () => send('/v1/chat/completions', null, {}, 'PUT'), 405, 'method_not_allowed'],
  ['an encoded dot segment', () => send('/v1/%2e%2e%2fx', null, {}, 'GET'), 400, 'invalid_parameter'],
  ['an empty segment', () => send('/v1//models', null, {}, 'GET'), 400, 'invalid_parameter'],
  [
    'an unknown model',
    () => send('/v1/chat/completions', JSON.stringify(chat({ model: 'mock/none' }))),
    400,
    'model_not_found',
  ],
  [
    'an embeddings model in a chat',
    () => send('/v1/chat/completions', JSON.stringify(chat({ model: 'mock/embed' }))),
    400,
    'model_not_found',
  ],
  [
    'run without inputs',
    () => send('/v1/run', JSON.stringify({ model: 'mock/small' })),
    400,
    'invalid_parameter',
  ],
  [
    'another payment',
    () => send('/v1/chat/completions', JSON.stringify(chat()), { 'x-payment-protocol': 'gold' }),
    400,
    'invalid_parameter',
  ],
  [
    'too many headers',
    () =>
      send(
        '/v1/models',
        null,
        Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, 'a'])),
        'GET',
      ),
    431,
    'headers_too_large',
  ],
]

test.each(table)('%s', (_what, ask, status, code) =>
  costsNothing(async () => {
    const response = await ask()
    const { error } = (await response.json()) as { error: { code: string } }
    expect([response.status, error.code]).toEqual([status, code])
    expect(response.headers.get('x-request-id')).toBeTruthy()
  }),
)

test('a vendor that answers nonsense is a 503, not a 500, and costs nothing', async () => {
  const before = await server.balance()
  for (const body of ['', 'nonsense', '[]', '{}', '{"choices":7}', '{"error":{"message":"x"}}', '\u0000'])
    for (const stream of [false, true]) {
      server.answerWith(() => new Response(body, { status: 200 }))
      const response = await send('/v1/chat/completions', JSON.stringify(chat({ stream })))
      expect([body, stream, response.status]).toEqual([body, stream, 503])
    }
  expect(await server.balance()).toBe(before)
  server.answerWith(() => completion('x'))
})
