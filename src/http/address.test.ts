/** Paths and hosts: what two readers could understand differently is refused, whatever was meant. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Refusal } from '../core/refusal.ts'
import { checkHost, paymentHeaders, readHeaders } from './route/headers.ts'
import { addressOf, checkPath, splitUrl } from './route/router.ts'

test.each([
  ['http://a.test/v1/models?limit=1', '/v1/models', 'limit=1'],
  ['http://a.test:8080/v1/models', '/v1/models', ''],
  ['http://a.test', '/', ''],
  ['http://[::1]:80/a?b?c', '/a', 'b?c'],
  ['/v1/models?x=http://b.test/y', '/v1/models', 'x=http://b.test/y'],
  ['http://a.test/x?u=://c/d', '/x', 'u=://c/d'],
])('%s is the path %s with the query %s', (url, path, query) => {
  expect(splitUrl(url)).toEqual({ path, query })
})

test('path and query are those that a parser of whole addresses finds', () => {
  const segment = fc.stringMatching(/^[a-zA-Z0-9_~-]{1,8}$/)
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 4 }), fc.option(segment), (segments, query) => {
      const url = new URL(`http://a.test/${segments.join('/')}${query === null ? '' : `?${query}`}`)
      expect(splitUrl(url.href)).toEqual({ path: url.pathname, query: url.search.slice(1) })
    }),
  )
})

test('a request that named no host has an address all the same', () => {
  expect(addressOf({ url: '/v1/models' } as Request)).toBe('http://localhost/v1/models')
  expect(addressOf({ url: 'https://a.test/v1' } as Request)).toBe('https://a.test/v1')
})

test.each([
  '//v1/models',
  '/v1//models',
  '/v1/../api/keys',
  '/v1/..',
  '/v1/./models',
  '/v1/models;a=b',
  '/v1\\models',
  '/v1/%2e%2e/api',
  '/v1/%2E./api',
  '/v1/a%5cb',
  '/v1/a%00b',
  '/v1/a%3Bb',
])('the path %s is refused', (path) => {
  expect(checkPath(path)).toMatchObject({ code: 'invalid_parameter', members: { param: 'path' } })
})

test.each(['/', '/v1/models/openai/gpt-5.1', '/v1/models/a%2Fb', '/.well-known/x', '/v1/models/a..b'])(
  'the path %s is not',
  (path) => {
    expect(checkPath(path)).toBeUndefined()
  },
)

const hosted = (host: string) => checkHost(new Headers({ host }))

test.each(['a.test', 'a.test:8080', '127.0.0.1', '[::1]', '[::1]:3000', 'xn--bcher-kva.test'])(
  'the host %s is one',
  (host) => {
    expect(hosted(host)).toBeUndefined()
  },
)

test.each([
  '[::1',
  'a.test/x',
  'a.test?x',
  'a.test#x',
  'u@a.test',
  'a.test:99999',
  'a b',
  'a\\b',
  'a,b',
  ':80',
])('the host %s is refused', (host) => {
  expect(hosted(host)).toMatchObject({ code: 'invalid_parameter', members: { param: 'host' } })
})

test('HTTP/1.0 may leave the host out', () => {
  expect(checkHost(new Headers())).toBeUndefined()
})

test.each(['authorization', 'x-api-key', 'idempotency-key', 'x-max-cost-usd', 'payment-signature'])(
  'a header %s that was sent twice is refused: which of them counts must not depend on the reader',
  (name) => {
    const headers = new Headers([[name, 'a']])
    expect(readHeaders(headers)).not.toBeInstanceOf(Refusal)
    headers.append(name, 'b')
    expect(readHeaders(headers)).toMatchObject({ code: 'invalid_parameter', members: { param: name } })
  },
)

test('others may hold commas, and be there up to a hundred', () => {
  const headers = new Headers([['accept', 'text/html, application/json']])
  for (let each = headers.count; each < 100; each++) headers.set(`x-${each}`, '1')
  expect(readHeaders(headers)).not.toBeInstanceOf(Refusal)
  headers.set('x-more', '1')
  expect(readHeaders(headers)).toMatchObject({ code: 'headers_too_large', status: 431 })
})

test('a payment is found under the name of either version', () => {
  expect(paymentHeaders(new Headers({ 'PAYMENT-SIGNATURE': 'a' }))).toEqual({ v2: 'a', v1: undefined })
  expect(paymentHeaders(new Headers({ 'X-PAYMENT': 'b' }))).toEqual({ v2: undefined, v1: 'b' })
})
