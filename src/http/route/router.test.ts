/** From method and path to a route, and how queries and credentials are read. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import { readQuery, readTruth } from '../request/query.ts'
import { credentialOf } from './headers.ts'
import type { Route } from './route.ts'
import { createRouter } from './router.ts'

const route = (method: string, path: string) => ({ method, path }) as Route
const match = createRouter([
  route('GET', '/v1/models'),
  route('POST', '/v1/chat/completions'),
  route('GET', '/api/keys/:id'),
  route('PUT', '/api/keys/:id'),
  route('GET', '/api/keys/:id/limits'),
  route('GET', '/v1/models/*model'),
])
const found = (method: string, path: string) => {
  const matched = match(method, path)
  return matched instanceof Refusal ? matched : [matched.route.method, matched.route.path, matched.params]
}

test.each<[string, string, string, Record<string, string>]>([
  ['GET', '/v1/models', '/v1/models', {}],
  ['GET', '/v1/models/openai/gpt-5', '/v1/models/*model', { model: 'openai/gpt-5' }],
  ['GET', '/v1/models/openai%2Fgpt-5', '/v1/models/*model', { model: 'openai/gpt-5' }],
  ['PUT', '/api/keys/a%20b', '/api/keys/:id', { id: 'a b' }],
  ['GET', '/api/keys/a/limits', '/api/keys/:id/limits', { id: 'a' }],
])('%s %s is %s', (method, path, to, params) => {
  expect(found(method, path)).toEqual([method, to, params])
})

test.each([
  '/',
  '/v1/models/',
  '/api/keys',
  '/api/keys/',
  '/api/keys/a/b',
  '/api/keys/a%2Fb',
  '/api/keys/%E0%A4',
])('there is nothing at %s', (path) => {
  expect(found('GET', path)).toMatchObject({ code: 'not_found', status: 404 })
})

test('another method gets the list of those that exist', () => {
  expect(found('DELETE', '/api/keys/a')).toMatchObject({
    code: 'method_not_allowed',
    status: 405,
    headers: { allow: 'GET, PUT' },
  })
  expect(found('PUT', '/v1/chat/completions')).toMatchObject({ headers: { allow: 'POST' } })
})

test('HEAD finds what GET finds, where that runs no call', () => {
  expect(found('HEAD', '/api/keys/a')).toEqual(found('GET', '/api/keys/a'))
  expect(found('HEAD', '/v1/chat/completions')).toMatchObject({ status: 405 })
})

test('a parameter that is not known, or given twice, is no silent default', () => {
  const read = (query: string) => readQuery(query, ['limit', 'after'])
  expect(read('limit=5&after=a%26b')).toEqual(
    new Map([
      ['limit', '5'],
      ['after', 'a&b'],
    ]),
  )
  expect(read('beta=true&limit=5')).toEqual(new Map([['limit', '5']]))
  expect(read('beta=5')).toMatchObject({ members: { param: 'beta' } })
  expect(read('limits=5')).toMatchObject({ members: { param: 'limits' } })
  expect(read('limit=5&limit=5')).toMatchObject({ members: { param: 'limit' } })
  expect([readTruth('x', 'true'), readTruth('x', 'false'), readTruth('x', undefined)]).toEqual([
    true,
    false,
    false,
  ])
  expect(readTruth('x', '1')).toBeInstanceOf(Refusal)
})

test('each style finds the key where its client sends it', () => {
  const of = (headers: Record<string, string>, query: string, style: 'bearer' | 'messages' | 'gemini') =>
    credentialOf(new Headers(headers), query, style)
  expect(of({ authorization: 'Bearer a', 'x-api-key': 'b' }, 'key=c', 'bearer')).toBe('Bearer a')
  expect(of({ 'x-api-key': 'b' }, 'key=c', 'messages')).toBe('Bearer b')
  expect(of({ 'x-goog-api-key': 'b' }, '', 'gemini')).toBe('Bearer b')
  expect(of({}, 'alt=sse&key=c', 'gemini')).toBe('Bearer c')
  expect(of({}, '', 'gemini')).toBeNull()
})

test('two different keys are refused, and the same one twice is one', () => {
  const both = new Headers({ authorization: 'Bearer a', 'x-api-key': 'b' })
  expect(credentialOf(both, '', 'messages')).toMatchObject({ members: { param: 'authorization' } })
  const same = new Headers({ authorization: 'Bearer a', 'x-api-key': 'a' })
  expect(credentialOf(same, '', 'messages')).toBe('Bearer a')
  const gemini = new Headers({ 'x-goog-api-key': 'a' })
  expect(credentialOf(gemini, 'key=b', 'gemini')).toBeInstanceOf(Refusal)
})

test.each([
  ['/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/v1/api/keys/a', '/api/keys/a'],
])('%s is told that %s is meant', (path, meant) => {
  const refused = found('POST', path)
  expect(refused).toBeInstanceOf(Refusal)
  expect((refused as Refusal).message).toContain(` ${meant} is probably meant`)
})
