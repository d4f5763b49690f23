/** What callers learn of a vendor's error: what concerns their request, and none of the vendor's secrets. */
import { expect, test } from 'bun:test'
import { comeBackIn, judgeVendorError, vendorDown } from './vendor-errors.ts'

const secret = 'sk-live-THE-HOUSE-KEY-1234567890'
const sent = { model: 'x', max_tokens: 1, tools: [{ type: 'function', function: { name: 'f' } }] }
const judge = (status: number, body: unknown, retryAfter: string | null = null) =>
  judgeVendorError(
    {
      status,
      retryAfter,
      body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
    },
    'acme',
    { secret, sent, now: Date.UTC(2026, 10, 28, 12) },
  )

const table: readonly (readonly [number, unknown, string, number, string])[] = [
  // This server's own account is at fault, whatever the status says.
  [
    400,
    { error: { message: 'Your credit balance is too low to use the API.' } },
    'upstream_error',
    503,
    'key_refused',
  ],
  [
    400,
    { error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } },
    'upstream_error',
    503,
    'key_refused',
  ],
  [
    400,
    { error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' } },
    'context_length_exceeded',
    400,
    'refused',
  ],
  [
    400,
    { error: { message: 'prompt too long; exceeded max context length' } },
    'context_length_exceeded',
    400,
    'refused',
  ],
  [429, [{ error: { message: 'slow down' } }], 'upstream_error', 503, 'failed'],
  [429, { error: { message: 'slow down' } }, 'upstream_error', 503, 'failed'],
  [500, 'oops', 'upstream_error', 503, 'failed'],
  [529, { error: { message: 'overloaded' } }, 'upstream_error', 503, 'failed'],
  [
    401,
    { error: { message: `Incorrect API key provided: ${secret}` } },
    'upstream_error',
    503,
    'key_refused',
  ],
  [400, { code: 'not_enough_credits', message: 'Top up.' }, 'upstream_error', 503, 'key_refused'],
  [402, { error: { message: 'pay first' } }, 'upstream_error', 503, 'key_refused'],
  [429, { error: { code: 'insufficient_quota', message: 'x' } }, 'upstream_error', 503, 'key_refused'],
  [403, { error: { message: 'no access' } }, 'upstream_error', 503, 'failed'],
  [404, { error: { message: 'no such model' } }, 'model_not_found', 400, 'unfit'],
  // A proxy in front of the vendor gave up waiting: the vendor may continue and bill.
  [504, 'gateway time-out', 'upstream_error', 503, 'may_bill'],
  [524, 'a timeout occurred', 'upstream_error', 503, 'may_bill'],
  [
    400,
    { error: { code: 'context_length_exceeded', message: 'too long' } },
    'context_length_exceeded',
    400,
    'refused',
  ],
  [
    400,
    { error: { message: "This model's maximum context length is 8192 tokens" } },
    'context_length_exceeded',
    400,
    'refused',
  ],
  [
    400,
    { error: { code: 'content_policy_violation', message: 'no' } },
    'content_policy_violation',
    400,
    'refused',
  ],
  [400, { error: { code: 'content_filter', message: 'no' } }, 'content_policy_violation', 400, 'refused'],
  [400, { error: { message: 'bad tool schema' } }, 'invalid_parameter', 400, 'refused'],
  [422, { detail: 'bad tool schema' }, 'invalid_parameter', 400, 'refused'],
  [413, '', 'request_too_large', 413, 'refused'],
]

test.each(table)('status %i with %j becomes %s', (status, body, code, answered, outcome) => {
  const verdict = judge(status, body)
  expect([verdict.refusal.code, verdict.refusal.status, verdict.outcome]).toEqual([
    code,
    answered,
    outcome,
  ] as never)
})

test('a vendor that names its waiting time is left alone that long', () => {
  expect(judge(429, {}, '7')).toMatchObject({ outcome: 'busy', restMs: 7000 })
  expect(judge(429, {}, '1.5')).toMatchObject({ outcome: 'busy', restMs: 1500 })
  expect(judge(429, {}, 'Sat, 28 Nov 2026 12:00:30 GMT')).toMatchObject({ outcome: 'busy', restMs: 30_000 })
  for (const odd of [
    '-1',
    '1e9',
    'soon',
    'Sat, 28 Nov 2099 12:00:00 GMT',
    '1234567',
    'Sat, 28 Nov 2026 11:59:00 GMT',
  ])
    expect(judge(429, {}, odd)).toMatchObject({ outcome: 'failed' })
})

test('keys, bearer values and links in a vendor text do not reach the caller', () => {
  const text = `bad request for ${secret} (Bearer abc.def, org-AbCdEf123456, see https://vendor.example/secret?key=1)\nsecond line`
  const { refusal } = judge(400, { error: { message: text } })
  for (const leak of [secret, 'abc.def', 'AbCdEf123456', 'vendor.example', '\n'])
    expect(refusal.message).not.toContain(leak)
  expect(refusal.message).toContain('bad request')
})

test('a vendor that says in its body how long to wait is left alone that long', () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }]
  const verdict = judge(429, { error: { code: 429, message: 'quota', details } })
  expect(verdict).toMatchObject({ outcome: 'busy', restMs: 35_000 })
})

test('a model that the vendor does not have is refused with its reason', () => {
  const { refusal } = judge(404, { error: { message: `The model 'x' does not exist (${secret})` } })
  expect(refusal.message).toContain("The model 'x' does not exist")
  expect(refusal.message).not.toContain(secret)
  expect(refusal.members).toEqual({ param: 'model', provider: 'acme' })
})

test('the refusal says when to come back if the vendor failed', () => {
  expect(comeBackIn(vendorDown('acme', 429), 6_001)).toMatchObject({
    members: { provider: 'acme', retry_after: 7 },
    headers: { 'retry-after': '7' },
  })
  expect(comeBackIn(vendorDown('acme', 429), undefined).headers).toEqual({})
  expect(comeBackIn(judge(404, {}).refusal, 6_000).headers).toEqual({})
})

test('a list of errors becomes one text', () => {
  const { refusal } = judge(400, {
    id: 'x',
    name: 'bad_request',
    errors: ['prompt: cannot be blank', 'seed: must be whole'],
  })
  expect(refusal.message).toBe(
    'The vendor acme refused the request: prompt: cannot be blank; seed: must be whole',
  )
})

test.each([
  ['max_tokens', 'max_tokens'],
  ['tools[0].function.name', 'tools[0].function.name'],
  ['tools.0.function.name', 'tools[0].function.name'],
  ['tools[0].function.parameters', 'tools[0].function'],
  ['tools[0].name', 'tools[0]'],
  ['tools[7]', 'tools'],
  ['input[0].content', undefined],
  ['constructor', undefined],
  ['', undefined],
  [null, undefined],
  [7, undefined],
])('a vendor that names %p: the caller hears of %p, as far as it was sent', (param, heard) => {
  const { refusal } = judge(400, { error: { message: 'no', type: 'invalid_request_error', param } })
  expect(refusal.members).toEqual(heard === undefined ? {} : { param: heard })
})

test('what other dialects call a member is not handed on', () => {
  const error = { message: 'no', param: 'max_tokens' }
  const body = new TextEncoder().encode(JSON.stringify({ error }))
  const answer = { status: 400, retryAfter: null, body }
  expect(judgeVendorError(answer, 'acme', { secret }).refusal.members).toEqual({})
})
