/** Requests near to valid ones: every route, every dialect, and one to a few things wrong with each. */
import type { Json } from '../../src/core/json-body.ts'
import { routes } from '../../src/http/routes.ts'
import { hostileBodies } from '../security/hostile-bodies.ts'
import type { Choose } from './choose.ts'

export const MODELS = [
  'mock/small',
  'messages/small',
  'gemini/small',
  'converse/small',
  'responses/small',
  'local/echo-1',
] as const
const EMBEDDERS = ['mock/embed', 'local/hash-embed-1'] as const

/** What stands where something else should. */
const oddities: readonly Json[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  1e308,
  2 ** 53,
  -(2 ** 63),
  '',
  ' ',
  'x',
  '0',
  '\u0000',
  '\ud800',
  '\u202e\u200d',
  '漢字😀',
  'e\u0301'.repeat(50),
  ' '.repeat(5_000),
  'a'.repeat(20_000),
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'data:image/png;base64,AAAA',
  'http://127.0.0.1/',
  [],
  [[]],
  [null],
  {},
  { toString: 1, constructor: null },
  { type: 'text' },
  { type: 'function', function: {} },
  { type: {} },
]

const nested = (depth: number, open: string, close: string): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`

/** The value with one place in it changed. */
const changed = (value: Json, choose: Choose, depth = 0): Json => {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (names.length === 0 || (depth > 0 && choose.rarely(3))) return choose.one(oddities)
  const name = choose.one(names)
  if (Array.isArray(value)) {
    const at = Number(name)
    if (choose.rarely(6)) return value.toSpliced(at, 1)
    if (choose.rarely(6)) return [...value, ...value]
    return value.with(at, changed(value[at] ?? null, choose, depth + 1))
  }
  const object = value as { readonly [name: string]: Json }
  const { [name]: old = null, ...others } = object
  if (choose.rarely(6)) return others
  if (choose.rarely(8)) return { ...others, [JSON.stringify(choose.one(oddities))]: old }
  return { ...others, [name]: changed(old, choose, depth + 1) }
}

/** The text with something in it that JSON values cannot express. */
const spoilt = (text: string, choose: Choose): string => {
  const at = choose.below(text.length + 1)
  switch (choose.below(8)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + choose.one(['\u0000', '\\', '"', ',', '}', '[', '\ufeff']) + text.slice(at)
    case 2:
      return text.replace(/\d+/, choose.one(['1e999', '-1e999', '9'.repeat(400), '01', 'NaN', '1e-999']))
    case 3:
      return text.replace(/^\{/, `{"a":${nested(choose.one([60, 70, 5_000, 100_000]), '[', ']')},`)
    case 4:
      return text.replace(/^\{/, `{"a":${nested(choose.one([60, 70, 20_000]), '{"a":', '}')},`)
    // A member that is there twice.
    case 5:
      return text.replace(/^\{("[^"]*":)/, (all, member: string) => `{${member}1,${all.slice(1)}`)
    case 6:
      return text + choose.one([text, ' ', '\n{}', 'x'])
    default:
      return text.replace(/":/, '"\u2028:')
  }
}

const optionals: Readonly<Record<string, readonly Json[]>> = {
  stream: [true, false],
  max_tokens: [1, 100, 20_000],
  n: [1, 2, 128],
  stop: ['x', ['a', 'b']],
  temperature: [0, 2],
  stream_options: [{ include_usage: true }],
  response_format: [{ type: 'json_object' }],
  tool_choice: ['auto', 'none', 'required', { type: 'auto' }],
  dimensions: [1, 4_096, 65_536],
  encoding_format: ['base64', 'float'],
}

/** A good body for a model call of a dialect. */
const callBody = (dialect: keyof typeof hostileBodies, choose: Choose): Json => {
  const made = choose.one(Object.values(hostileBodies[dialect]))(1 + choose.below(3))
  const body = typeof made === 'string' ? JSON.parse(made) : made
  const model = choose.one<string>(dialect === 'embeddings' ? EMBEDDERS : MODELS)
  if (dialect === 'gemini') return body
  const name = choose.one(Object.keys(optionals))
  return {
    model,
    ...(dialect === 'messages' ? { max_tokens: 100 } : {}),
    ...body,
    ...(choose.rarely(2) ? { [name]: choose.one(optionals[name] ?? []) } : {}),
  }
}

const small: readonly Json[] = [
  { label: 'x', limits: { rpm: 1, lifetime_usd: 1 } },
  { name: 'x', amount_usd: '1.00', daily_limit_usd: 1 },
  { allowed_models: ['mock/*'], blocked_models: [], max_call_usd: 1 },
  { token: 'eyJhbGciOiJFZERTQSJ9.e30.AA', receipt: 'x' },
  { code: 'ABCDEFGH', skill: 'x', rating: 5, comment: 'x' },
  { amount_usd: 5, success_url: 'https://e.test/', cancel_url: 'https://e.test/' },
]

const dialectOf = (path: string): keyof typeof hostileBodies | undefined => {
  if (path.includes('chat/completions')) return 'chat'
  if (path.includes('messages')) return 'messages'
  if (path.includes('responses')) return 'responses'
  if (path.includes('embeddings')) return 'embeddings'
  return path.endsWith('*rest') ? 'gemini' : undefined
}

const bodyFor = (path: string, choose: Choose): Json => {
  const dialect = dialectOf(path)
  if (dialect !== undefined) return callBody(dialect, choose)
  if (path.endsWith('run')) {
    const { model, ...inputs } = callBody('chat', choose) as { readonly [name: string]: Json }
    return { model: model ?? null, inputs }
  }
  return choose.one(small)
}

const oddHeaders: Readonly<Record<string, readonly string[]>> = {
  'content-type': [
    '',
    'text/plain',
    'application/json; charset=utf-16',
    `application/json${' '.repeat(500)}x`,
  ],
  'content-encoding': ['gzip', 'identity', 'br, br'],
  authorization: ['', 'Bearer', 'Bearer x', 'Basic eDp4', `Bearer sk-${'a'.repeat(5_000)}`],
  'x-api-key': ['', 'sk-x'],
  'x-max-cost-usd': ['0', '-1', '1e3', '0.0000000001', '99999999999', 'x'],
  'idempotency-key': ['', 'x', 'x'.repeat(300), 'é'],
  'x-sub-wallet': ['', 'none', '../x', 'x'.repeat(300)],
  'x-payment-protocol': ['x402', 'mpp', 'credits', 'x', ''],
  'payment-signature': ['x', 'e30=', btoa(nested(5_000, '[', ']'))],
  'x-payment': ['e30=', btoa('{"x402Version":1}')],
  'anthropic-beta': ['', ',,,', 'x,'.repeat(500), 'context-1m-2025-08-07'],
  accept: ['', '*/*;q=x'],
  expect: ['100-continue', 'x'],
}

const params = [
  'x',
  'key_x',
  '%00',
  '%ff',
  '..',
  'a%2fb',
  '漢',
  '__proto__',
  'x'.repeat(300),
  '-1',
  '2026-13',
]
const rests = [...MODELS, 'models/mock/small', 'x', 'mock', '%E0%A4%A', ':', 'mock/small:'].flatMap(
  (name) => [`${name}:generateContent`, `${name}:streamGenerateContent`, `${name}:countTokens`, name],
)
const queries = [
  '',
  '?',
  '?alt=sse',
  '?from=x&to=y',
  '?from=2026-01-01&group_by=x',
  '?%',
  '?a[]=1&a=2',
  '?own=true',
]

/** Half of all requests are calls of models: most of what reads a caller's bytes is there. */
const calls = routes.filter(
  ({ path, method }) => method === 'POST' && (dialectOf(path) || path.endsWith('run')),
)

/** A request, as what makes it. */
export const requestFrom = (choose: Choose, token: string) => {
  const route = choose.one(choose.rarely(2) ? calls : routes)
  const method = choose.rarely(25)
    ? choose.one(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
    : route.method
  const path =
    route.path
      .replace(/\*rest$/, () => choose.one(rests))
      .replaceAll(/:[a-z]\w*/gi, (name) => (route.path.endsWith('*rest') ? name : choose.one(params))) +
    (choose.rarely(3) ? choose.one(queries) : '')
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  }
  if (choose.rarely(3)) {
    const name = choose.one(Object.keys(oddHeaders))
    headers[name] = choose.one(oddHeaders[name] ?? [])
  }
  let value = bodyFor(route.path, choose)
  for (let times = choose.below(4); times > 0; times--) value = changed(value, choose)
  const good = JSON.stringify(value)
  const text = choose.rarely(5) ? spoilt(good, choose) : good
  const body = method === 'GET' || method === 'HEAD' ? undefined : text
  return { method, path, headers, body }
}
