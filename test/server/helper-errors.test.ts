/** Helper endpoints: whatever is wrong, `error` is a string that the reference lists, beside code, message and request id. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { refusalTable } from '../../src/core/refusal-table.ts'
import { routes } from '../../src/http/routes.ts'
import { jsonOf, startTestServer, type TestServer } from './harness.ts'

let server: TestServer
let documented: ReadonlySet<string>

/** The helper endpoints of the specification whose errors are not those of a model call. */
const named = [
  '/api/try/anonymous-wallet',
  '/api/receipts/verify',
  '/api/wallet/rules',
  '/api/wallet/sub-wallets',
  '/api/wallet/sub-wallets/:id',
  '/api/referrals',
  '/api/reviews',
]
const helpers = routes.filter(({ helper }) => helper === true)

beforeAll(async () => {
  server = await startTestServer({ options: { guestRpm: 1_000_000 } })
  const page = await readFile(resolve(import.meta.dir, '../../docs/errors.md'), 'utf8')
  const section = page.slice(page.indexOf('## Helper endpoints'))
  const strings = [...section.matchAll(/^\| [^|]+ \| `([^|]+)` \|/gm)].map((match) => match[1] ?? '')
  documented = new Set([...strings, ...Object.keys(refusalTable)])
})
afterAll(() => server.stop())

const expectShape = async (response: Response, what: string) => {
  const body = await jsonOf(response)
  const { error, code, message, request_id } = body
  expect([what, typeof error, typeof code, typeof message]).toEqual([what, 'string', 'string', 'string'])
  expect([what, error, documented.has(error)]).toEqual([what, error, true])
  expect(message.length).toBeGreaterThan(10)
  expect([what, request_id]).toEqual([what, response.headers.get('x-request-id')])
  return body
}

test('all that the specification names are marked', () => {
  expect(named.filter((path) => !helpers.some((route) => route.path === path))).toEqual([])
})

test('without a key, with a wrong one, a body of another type, no JSON, wrong members, from anybody', async () => {
  const { token } = await server.newKey()
  const child = await server.newKey({}, { parentId: (await server.newKey()).id })
  const trial = await server.newKey({}, { trialUntil: Date.now() + 1_000_000 })
  const tokens = fc.constantFrom(undefined, token, child.token, trial.token, 'sk-wrongwrongwrongwrong', 'x')
  const member = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(0, -1, 1e9, '', 'x', null))
  const members = fc.constantFrom(
    'receipt',
    'budget_usd',
    'label',
    'code',
    'skill',
    'rating',
    'comment',
    'claim',
    'daily_limit_usd',
    'allowed_models',
    'auto_top_up',
    'alert_webhook_url',
  )
  const bodies = fc.oneof(
    fc.dictionary(members, member).map((it) => JSON.stringify(it)),
    fc.string(),
  )
  const types = fc.constantFrom('application/json', 'text/plain', undefined)
  let refused = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...helpers), tokens, bodies, types, async (route, key, body, type) => {
      const path = route.path.replace(':id', 'sub_nobody')
      const response = await server.fetch(
        new Request(`http://turnpike.test${path}`, {
          method: route.method,
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(type === undefined ? {} : { 'content-type': type }),
          },
          ...(route.method === 'GET' ? {} : { body }),
        }),
      )
      expect(response.status).not.toBe(500)
      if (response.status < 400) return
      refused++
      await expectShape(response, `${route.method} ${path} ${response.status}`)
    }),
    { numRuns: 1_500 },
  )
  expect(refused).toBeGreaterThan(500)
})

test('the strings of the specification, each with a code that clients know', async () => {
  const cases: [string, string, unknown, string | undefined, number, string, string][] = [
    ['GET', '/api/wallet/rules', undefined, '', 401, 'Unauthorized', 'missing_authorization'],
    ['PUT', '/api/wallet/rules', {}, '', 401, 'Unauthorized', 'missing_authorization'],
    ['POST', '/api/receipts/verify', {}, undefined, 400, 'receipt_required', 'receipt_required'],
    [
      'POST',
      '/api/wallet/sub-wallets',
      { budget_usd: 0 },
      undefined,
      400,
      'budget_usd must be > 0 and <= 10000',
      'invalid_parameter',
    ],
    ['GET', '/api/wallet/sub-wallets/sub_x', undefined, undefined, 404, 'not_found', 'not_found'],
    ['POST', '/api/referrals', { code: 'x' }, undefined, 400, 'invalid_code', 'invalid_code'],
    [
      'POST',
      '/api/reviews',
      {},
      undefined,
      400,
      'skill is required; rating must be 1-5',
      'invalid_parameter',
    ],
    [
      'POST',
      '/api/reviews',
      { skill: 'x', rating: 9 },
      undefined,
      400,
      'rating must be 1-5',
      'invalid_parameter',
    ],
    ['POST', '/api/reviews', { rating: 5 }, undefined, 400, 'skill is required', 'invalid_parameter'],
    ['GET', '/api/reviews', undefined, '', 401, 'missing_authorization', 'missing_authorization'],
    ['POST', '/api/referrals', {}, 'sk-wrongwrongwrongwrong', 401, 'invalid_api_key', 'invalid_api_key'],
  ]
  for (const [method, path, body, token, status, error, code] of cases) {
    const response = await server.send(method, path, body, token)
    const answer = await expectShape(response, `${method} ${path}`)
    expect([path, response.status, answer.error, answer.code]).toEqual([path, status, error, code])
  }
  const sent = await server.post('/api/idempotent-run', { model: 'mock/small', inputs: {} })
  expect([sent.status, (await jsonOf(sent)).error]).toEqual([400, 'missing_idempotency_key'])
  const passed = await server.post('/api/idempotent-run', {}, { 'idempotency-key': 'k' })
  expect((await jsonOf(passed)).error.code).toBe('invalid_parameter')
})

test('a claim that comes too early says where to sign up and when to come again', async () => {
  const signUpUrl = 'https://example.com/keys'
  const own = await startTestServer({ options: { signUpUrl } })
  const claim = () =>
    own.fetchFrom(
      '192.0.2.1',
      new Request('http://turnpike.test/api/try/anonymous-wallet', { method: 'POST' }),
    )
  expect((await claim()).status).toBe(201)
  const again = await claim()
  const body = await expectShape(again, 'trial')
  expect(body).toMatchObject({ error: 'trial_already_claimed', sign_up_url: signUpUrl })
  expect(again.headers.get('retry-after')).toBe(String(body.retry_after_seconds))
  expect(body.message).toContain(signUpUrl)
  await own.stop()
})
