/** Requests near to valid ones: every route, every dialect, and none to a few faults in each. */
import type { Json } from '../../src/core/json-body.ts'
import { routes } from '../../src/http/routes.ts'
import { hostileBodies } from '../security/hostile-bodies.ts'
import type { Choose } from './choose.ts'
import { type Known, oneOf } from './known.ts'
import { oddHeaders, params, queries } from './odd-headers.ts'
import { changed, spoilt } from './odd-json.ts'
import { chatModels, embedders } from './vendors.ts'

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
  const model = choose.one(dialect === 'embeddings' ? embedders : chatModels)
  if (dialect === 'gemini') return body
  const name = choose.one(Object.keys(optionals))
  return {
    model,
    ...(dialect === 'messages' ? { max_tokens: 100 } : {}),
    ...body,
    ...(choose.rarely(2) ? { [name]: choose.one(optionals[name] ?? []) } : {}),
  }
}

/** A good body for the routes that make or change something, by the end of their path. */
const bodies: Readonly<Record<string, (known: Known, choose: Choose) => Json>> = {
  '/v1/completions': (_known, choose) => ({ model: choose.one(chatModels), prompt: 'x', n: 1, stream: true }),
  '/api/generate': (_known, choose) => ({ model: choose.one(chatModels), prompt: 'x', images: ['AAAA'] }),
  '/v2/embed': (_known, choose) => ({
    model: choose.one(embedders),
    texts: ['x', 'y'],
    embedding_types: ['float', 'base64'],
  }),
  '/api/embed': (_known, choose) => ({ model: choose.one(embedders), input: ['x'], dimensions: 8 }),
  '/api/embeddings': (_known, choose) => ({ model: choose.one(embedders), prompt: 'x' }),
  '/api/show': (_known, choose) => ({ model: choose.one(chatModels) }),
  '/v1/key/wholesale': (known, choose) => ({
    label: 'x',
    spend_cap_usd: choose.one([1, 0.00001, null]),
    can_manage: choose.rarely(3),
    ...(choose.rarely(3) ? { sub_wallet: oneOf(known.subWallets, choose, 'sub_x') } : {}),
    ...(choose.rarely(4) ? { aliases: { quick: choose.one(chatModels) } } : {}),
  }),
  '/limits': (_known, choose) =>
    choose.one<Json>([
      { rpm_limit: 1_000, spend_cap_usd: 5 },
      { stop_at_remaining_usd: 1, monthly_cap_usd: null },
      { disabled: true, with_children: true },
      { disabled: false },
      { tpm_limit: 50, rph_limit: 10 },
    ]),
  '/sub-wallets': (_known, choose) => ({ label: 'x', budget_usd: choose.one([1, 0.0001, 0]) }),
  '/sub-wallets/:sub_wallet': (_known, choose) => ({ budget_usd: choose.one([2, 0]) }),
  '/rules': (_known, choose) =>
    choose.one<Json>([
      { per_call_max_usd: 1, daily_limit_usd: 50 },
      { allowed_models: ['v-*', 'e-*'], blocked_models: ['local/*'] },
      { alert_below_usd: 1 },
      { auto_top_up: { below_usd: 1, amount_usd: 5, monthly_max_usd: null } },
    ]),
  '/verify': (known, choose) => ({ receipt: oneOf(known.receipts, choose, 'eyJhbGciOiJFZERTQSJ9.e30.AA') }),
  '/claim': (known, choose) => ({ claim: oneOf(known.claims, choose, 'x') }),
  '/referrals': (known, choose) => ({ code: oneOf(known.names, choose, 'ABCDEFGH') }),
  '/reviews': (known, choose) => ({
    skill: 'x',
    rating: 5,
    comment: 'x',
    request_id: oneOf(known.names, choose, 'x'),
  }),
  '/checkout': (_known, choose) => ({
    amount_usd: choose.one([5, 0.5, 9_999]),
    ...(choose.rarely(3)
      ? { success_url: 'https://e.test/', cancel_url: 'https://e.test/', save_payment_method: true }
      : {}),
  }),
}

const dialectOf = (path: string): keyof typeof hostileBodies | undefined => {
  if (path.includes('chat/completions')) return 'chat'
  if (path.includes('messages')) return 'messages'
  if (path.includes('responses')) return 'responses'
  if (path.endsWith('/interactions')) return 'interactions'
  if (path === '/v2/chat') return 'cohere'
  if (path === '/api/chat') return 'ollama'
  if (path.includes('/v1/embeddings')) return 'embeddings'
  return path.endsWith('*rest') ? 'gemini' : undefined
}

const bodyFor = (path: string, known: Known, choose: Choose): Json => {
  const dialect = dialectOf(path)
  if (dialect !== undefined) return callBody(dialect, choose)
  if (path.endsWith('run')) {
    const { model, ...inputs } = callBody('chat', choose) as { readonly [name: string]: Json }
    return { model: model ?? null, inputs }
  }
  const [, make] = Object.entries(bodies).find(([end]) => path.endsWith(end)) ?? []
  return make?.(known, choose) ?? { name: 'x' }
}

/** The address of a route with its places filled, by what is known or by what is not. */
const addressOf = (path: string, known: Known, choose: Choose): string =>
  path
    .replace(/\*rest$/, () => choose.one(rests))
    .replaceAll(/:[a-z]\w*/gi, (name) => {
      if (path.endsWith('*rest')) return name
      return choose.rarely(2) ? choose.one(params) : encodeURIComponent(oneOf(known.names, choose, 'x'))
    })

const rests = [...chatModels, 'models/v-chat/small', 'x', 'v-chat', '%E0%A4%A', ':', 'v-chat/small:'].flatMap(
  (name) => [`${name}:generateContent`, `${name}:streamGenerateContent`, `${name}:countTokens`, name],
)
/** Half of all requests are calls of models, because they contain most of the code that reads a caller's bytes. */
const calls = routes.filter(
  ({ path, method }) => method === 'POST' && (dialectOf(path) || path.endsWith('run')),
)

/** A request, as a function that makes it. */
export type Sent = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const headersFrom = (known: Known, choose: Choose, token: string): Record<string, string> => {
  const headers: Record<string, string> = {
    authorization: `Bearer ${choose.rarely(4) ? oneOf(known.tokens, choose, token) : token}`,
    'content-type': 'application/json',
  }
  if (choose.rarely(8)) headers['x-sub-wallet'] = oneOf(known.subWallets, choose, 'sub_x')
  if (choose.rarely(8)) headers['x-max-cost-usd'] = choose.one(['1', '0.5', '0.00001'])
  if (choose.rarely(8)) headers['x-payment-protocol'] = choose.one(['mpp', 'wallet', 'x402'])
  if (choose.rarely(10)) headers['idempotency-key'] = `again-${choose.below(4)}`
  if (choose.rarely(4)) {
    const name = choose.one(Object.keys(oddHeaders))
    headers[name] = choose.one(oddHeaders[name] ?? [])
  }
  return headers
}

export const requestFrom = (choose: Choose, known: Known, token: string): Sent => {
  const route = choose.one(choose.rarely(2) ? calls : routes)
  const method = choose.rarely(25)
    ? choose.one(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
    : route.method
  const path = addressOf(route.path, known, choose) + (choose.rarely(3) ? choose.one(queries) : '')
  const headers = headersFrom(known, choose, token)
  let value = bodyFor(route.path, known, choose)
  for (let times = choose.below(4); times > 0; times--) value = changed(value, choose)
  const good = JSON.stringify(value)
  const text = choose.rarely(6) ? spoilt(good, choose) : good
  const body = method === 'GET' || method === 'HEAD' ? undefined : text
  return { method, path, headers, body }
}

const hi = [{ role: 'user', content: 'hi' }]

/** A call with nothing wrong with it. */
export const goodCall = (choose: Choose): { readonly path: string; readonly body: object } => {
  const model = choose.one(chatModels.filter((id) => !id.startsWith('local/')))
  const stream = choose.rarely(2)
  const embedder = choose.one(embedders.filter((id) => !id.startsWith('local/')))
  const embedding = { path: '/v1/embeddings', body: { model: embedder, input: 'hi' } }
  return choose.one([
    { path: '/v1/chat/completions', body: { model, messages: hi, stream, max_tokens: 20 } },
    { path: '/v1/messages', body: { model, messages: hi, stream, max_tokens: 20 } },
    { path: '/v1/responses', body: { model, input: 'hi', stream, store: false, max_output_tokens: 20 } },
    {
      path: '/v1beta/interactions',
      body: { model, input: 'hi', stream, store: false, generation_config: { max_output_tokens: 20 } },
    },
    {
      path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    },
    { path: '/v1/completions', body: { model, prompt: 'hi', stream, max_tokens: 20 } },
    { path: '/v2/chat', body: { model, messages: hi, stream, max_tokens: 20 } },
    { path: '/api/chat', body: { model, messages: hi, stream, options: { num_predict: 20 } } },
    { path: '/api/generate', body: { model, prompt: 'hi', stream, options: { num_predict: 20 } } },
    { path: '/v1/run', body: { model, inputs: { messages: hi, max_tokens: 20 } } },
    embedding,
    embedding,
  ])
}
