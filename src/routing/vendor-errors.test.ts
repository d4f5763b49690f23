/** What callers learn of a vendor's error: what concerns their request, and nothing of the vendor's secrets. */
import { expect, test } from 'bun:test'
import { judgeVendorError } from './vendor-errors.ts'

const secret = 'sk-live-THE-HOUSE-KEY-1234567890'
const judge = (status: number, body: unknown, retryAfter: string | null = null) =>
  judgeVendorError(
    {
      status,
      retryAfter,
      body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
    },
    'acme',
    secret,
  )

const table: readonly (readonly [number, unknown, string, number, boolean])[] = [
  // This server's own account is at fault, whatever the status.
  [
    400,
    { error: { message: 'Your credit balance is too low to use the API.' } },
    'upstream_error',
    503,
    true,
  ],
  [
    400,
    { error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } },
    'upstream_error',
    503,
    true,
  ],
  [
    400,
    { error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' } },
    'context_length_exceeded',
    400,
    false,
  ],
  [
    400,
    { error: { message: 'prompt too long; exceeded max context length' } },
    'context_length_exceeded',
    400,
    false,
  ],
  [429, [{ error: { message: 'slow down' } }], 'upstream_error', 503, true],
  [429, { error: { message: 'slow down' } }, 'upstream_error', 503, true],
  [500, 'oops', 'upstream_error', 503, true],
  [529, { error: { message: 'overloaded' } }, 'upstream_error', 503, true],
  [401, { error: { message: `Incorrect API key provided: ${secret}` } }, 'upstream_error', 503, true],
  [403, { error: { message: 'no access' } }, 'upstream_error', 503, true],
  [404, { error: { message: 'no such model' } }, 'upstream_error', 503, true],
  [
    400,
    { error: { code: 'context_length_exceeded', message: 'too long' } },
    'context_length_exceeded',
    400,
    false,
  ],
  [
    400,
    { error: { message: "This model's maximum context length is 8192 tokens" } },
    'context_length_exceeded',
    400,
    false,
  ],
  [
    400,
    { error: { code: 'content_policy_violation', message: 'no' } },
    'content_policy_violation',
    400,
    false,
  ],
  [400, { error: { code: 'content_filter', message: 'no' } }, 'content_policy_violation', 400, false],
  [400, { error: { message: 'bad tool schema' } }, 'invalid_parameter', 400, false],
  [422, { detail: 'bad tool schema' }, 'invalid_parameter', 400, false],
  [413, '', 'request_too_large', 413, false],
]

test.each(table)('status %i with %j becomes %s', (status, body, code, answered, retry) => {
  const verdict = judge(status, body)
  expect([verdict.refusal.code, verdict.refusal.status, verdict.retry]).toEqual([
    code,
    answered,
    retry,
  ] as never)
})

test('a vendor that names its waiting time is left alone that long', () => {
  expect(judge(429, {}, '7')).toMatchObject({ restMs: 7000 })
  expect(judge(429, {}, 'Wed, 21 Oct 2026 07:28:00 GMT')).toMatchObject({ restMs: undefined })
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
  expect(verdict.retry && verdict.restMs).toBe(35_000)
})
