/**
 * A session of a tenant on a whole server: every style of answer, whole and streamed, on a socket and as jobs; refusals,
 * reports, receipts, lists and webhooks. All that the tenant reads is kept, with what the ledger has afterwards.
 */
import { listen } from '../../src/http/listen/listen.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { byTest } from '../by-test.ts'
import { until } from '../until.ts'
import { completion, jsonOf, streamEvents, streaming, testModel } from './harness.ts'
import { jobRecord, newVendor, startJobServer } from './job-rig.ts'
import { openResponses } from './responses-socket.ts'

export type See = 'cost' | 'price' | 'nothing'

/** No figure that follows from these has fewer than six digits, so that none is met by chance. */
const price = {
  rates: { input: 1_234_567, cache_read: 123_457, output: 9_876_543 },
  tiers: [],
  version: 'test-1',
}
/** A ceiling of the tenant's own, below what any call may cost; told back to it in USD and in credits. */
const CEILING = '0.000211303'
export const OWN = [CEILING, '0.0211303', '0.0211302']
/** In hundredths of a percent. */
export const MARGIN = 3_731
const usage = {
  prompt_tokens: 1_013,
  completion_tokens: 407,
  total_tokens: 1_420,
  prompt_tokens_details: { cached_tokens: 101 },
}

const card: MediaModel['card'] = {
  rows: [{ rates: { image: usd('0.0123457') } }],
  most: { image: ({ n }) => Number(n) },
}
const sells: readonly MediaModel[] = [
  { ...jobRecord(), card },
  { ...jobRecord({ onCancel: 'billed' }, 'billed'), card },
]
const models = [
  testModel('small', { price }),
  testModel('embed', { kind: 'embeddings', maxOutputTokens: 0, price }),
]

const vendorOf = () => {
  const jobs = newVendor()
  let breaks = false
  return {
    jobs,
    breakOff: (next: boolean) => {
      breaks = next
    },
    answer: (request: Parameters<typeof jobs.answer>[0]): Response => {
      if (request.url.includes('/jobs')) return jobs.answer(request)
      if (request.url.endsWith('/embeddings'))
        return Response.json({
          object: 'list',
          model: 'embed',
          data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
          usage: { prompt_tokens: 1_013, total_tokens: 1_013 },
        })
      if (request.body.stream !== true) return completion('hello', usage)
      const events = streamEvents(['hello', ' you'], usage)
      return breaks ? streaming(events.slice(0, 3), 'break') : streaming(events)
    },
  }
}

const hooks = () => {
  const sent: string[] = []
  return {
    sent,
    parts: {
      resolve: async () => ['1.1.1.1'],
      fetch: async (_url: string, init: { readonly body?: unknown }) => {
        sent.push(await new Response(init.body as never).text())
        return new Response('')
      },
    },
  }
}

/** Sets up a reseller with its prices, a tenant and a key below that. */
const sceneOf = async (url: string, see: See) => {
  const vendor = vendorOf()
  const webhooks = hooks()
  const server = await startJobServer({
    url,
    sells,
    server: { models, unchecked: true, webhooks: webhooks.parts as never },
  })
  server.answerWith(vendor.answer)
  const reseller = await server.newKey({}, { canManage: true })
  const child = (limits: object, parentId = reseller.id) =>
    server.newKey(limits, { parentId, canManage: true } as never)
  const tenant = await child({ spendCap: 7_654_321_987n, monthlyCap: 6_543_219_876n })
  const below = await child({ spendCap: 5_432_198_765n }, tenant.id)
  const poor = await child({ spendCap: 1_234_577n }, tenant.id)
  const tight = await child({ spendCap: 27_182_819n }, tenant.id)
  await server.store.tenants.setMargin('org_test', { fromMonth: '2020-01', basisPoints: MARGIN }, byTest)
  const set = await server.send('PUT', '/api/wallet/rules', { tenants_see: see }, reseller.token)
  if (set.status !== 200) throw new Error(await set.text())
  return { server, vendor, webhooks, reseller, tenant, below, poor, tight }
}

export type Scene = Awaited<ReturnType<typeof sceneOf>>

const decoded = (text: string): string =>
  [...text.matchAll(/eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+/g)]
    .map(([, payload = '']) => Buffer.from(payload, 'base64url').toString())
    .join('\n')

/** What was read: by the name of its request, the whole answer with its headers, and its receipts' claims. */
export type Read = { readonly name: string; readonly status: number; readonly text: string }

const newNotes = ({ server }: Scene) => {
  const read: Read[] = []
  const calls: string[] = []
  const note = (name: string, status: number, text: string) =>
    read.push({ name, status, text: `${text}\n${decoded(text)}` })
  const take = async (name: string, asked: Promise<Response>) => {
    const answer = await asked
    const text = await answer.text()
    const head = [...answer.headers].map(([header, value]) => `${header}: ${value}`).join('\n')
    note(name, answer.status, `${head}\n${text}`)
    const id = answer.headers.get('x-request-id')
    if (id !== null) calls.push(id)
    return { text, headers: answer.headers, status: answer.status }
  }
  const post = (path: string, body: unknown, token: string, headers: Record<string, string> = {}) =>
    take(`POST ${path} ${JSON.stringify(body).slice(0, 60)}`, server.post(path, body, headers, token))
  const get = (path: string, token: string) => take(`GET ${path}`, server.get(path, token))
  const send = (method: string, path: string, body: unknown, token: string) =>
    take(`${method} ${path}`, server.send(method, path, body, token))
  return { read, calls, note, post, get, send }
}

type Notes = ReturnType<typeof newNotes>

const hi = [{ role: 'user', content: 'hi' }]
const model = 'mock/small'
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]

/** Each style of calls, whole and streamed, and a stream that breaks. */
const allStyles = async ({ vendor, tenant, below }: Scene, { post, get }: Notes) => {
  const { token } = tenant
  const chat = { model, messages: hi, max_tokens: 500 }
  await post('/v1/chat/completions', chat, token)
  await post('/v1/chat/completions', chat, below.token)
  await post('/v1/chat/completions', { ...chat, stream: true }, token)
  await post(
    '/v1/chat/completions',
    { ...chat, stream: true, stream_options: { include_usage: true } },
    token,
  )
  const kept = { 'idempotency-key': 'once-1' }
  await post('/v1/chat/completions', chat, token, kept)
  await post('/v1/chat/completions', chat, token, kept)
  for (const stream of [false, true]) {
    await post('/v1/messages', { ...chat, stream }, token)
    await post('/v1/responses', { model, input: 'hi', max_output_tokens: 500, stream }, token)
  }
  const gemini = { contents, generationConfig: { maxOutputTokens: 500 } }
  for (const method of ['generateContent', 'streamGenerateContent?alt=sse', 'streamGenerateContent'])
    await post(`/v1beta/models/${model}:${method}`, gemini, token)
  await post('/v1/embeddings', { model: 'mock/embed', input: 'hi' }, token)
  await post('/v1/run', { model, inputs: { messages: hi, max_tokens: 500 } }, token)
  vendor.breakOff(true)
  await post('/v1/chat/completions', { ...chat, stream: true }, token)
  await post('/v1/messages', { ...chat, stream: true }, token)
  vendor.breakOff(false)
  const stored = await post('/v1/responses', { model, input: 'hi', store: true }, token)
  await get(`/v1/responses/${JSON.parse(stored.text).id}`, token)
  const begun = await post('/v1/responses', { model, input: 'hi', background: true }, token)
  const { id } = JSON.parse(begun.text)
  const isDone = (text: string) => JSON.parse(text).status === 'completed'
  await until(async () => isDone((await get(`/v1/responses/${id}`, token)).text))
}

const onSocket = async ({ server, tenant }: Scene, { note }: Notes) => {
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const at = { base: `127.0.0.1:${listening.port}/v1`, token: tenant.token }
  const it = await openResponses(at)
  const user = [{ type: 'message', role: 'user', content: 'hi' }]
  await it.turn({ input: user, max_output_tokens: 500 })
  await it.turn({ input: user, max_output_tokens: 500, max_cost_usd: CEILING })
  note('socket', 101, it.events.map((event) => JSON.stringify(event)).join('\n'))
  it.socket.close()
  listening.stop()
}

const asJobs = async ({ server, vendor, webhooks, tenant }: Scene, { post, get, send, note }: Notes) => {
  const { token } = tenant
  const inputs = { prompt: 'a fox', n: 3 }
  const later = { prefer: 'respond-async' }
  vendor.jobs.says(2)
  await post('/v1/run', { model: 'mock/film', inputs }, token)
  await post('/v1/images/generations', { model: 'mock/film', prompt: 'a fox', n: 2 }, token)
  await post('/v1/image/generate', { model: 'mock/film', prompt: 'a fox' }, token)
  vendor.jobs.says('pending')
  const webhook = { url: 'https://hooks.example.com/' }
  const begun = await post('/v1/run', { model: 'mock/film', inputs, webhook }, token, later)
  await get('/v1/run', token)
  const { id } = JSON.parse(begun.text)
  vendor.jobs.says(1)
  const hasEnded = async (run: string) =>
    JSON.parse((await get(`/v1/run/${run}`, token)).text).ended_at !== undefined
  await until(() => hasEnded(id))
  await until(() => webhooks.sent.length === 1)
  vendor.jobs.says('pending')
  const other = await post('/v1/run', { model: 'mock/billed', inputs, webhook }, token, later)
  const { id: billed } = JSON.parse(other.text)
  await until(async () => (await server.store.runs.run(billed))?.state === 'running')
  await send('DELETE', `/v1/run/${billed}`, undefined, token)
  await until(() => hasEnded(billed))
  await until(() => webhooks.sent.length === 2)
  await get('/v1/run', token)
  for (const text of webhooks.sent) note('webhook', 200, text)
}

/** Lines of a batch, with its webhook; and a batch that does not fit. */
const asBatch = async ({ webhooks, tenant, tight }: Scene, { post, get, note }: Notes) => {
  const { token } = tenant
  const params = { model, max_tokens: 500, messages: hi }
  const requests = ['one', 'two'].map((custom_id) => ({ custom_id, params }))
  const heard = webhooks.sent.length
  const path = '/v1/messages/batches'
  const begun = await post(path, { requests, webhook: { url: 'https://hooks.example.com/' } }, token)
  const { id } = JSON.parse(begun.text)
  await until(async () => JSON.parse((await get(`${path}/${id}`, token)).text).processing_status === 'ended')
  await get(path, token)
  await get(`${path}/${id}/results`, token)
  await until(() => webhooks.sent.length > heard)
  note('webhook of a batch', 200, webhooks.sent.at(-1) ?? '')
  const many = Array.from({ length: 9 }, (_, n) => ({ custom_id: `${n}`, params }))
  const { status } = await post(path, { requests: many }, tight.token)
  if (status !== 402) throw new Error(`the batch was answered with ${status}`)
}

/** Money that an open job holds refuses a call, which is told how much that is. */
const whileHeld = async ({ vendor, tight }: Scene, { post, get, send }: Notes) => {
  const { token } = tight
  vendor.jobs.says('pending')
  const film = { model: 'mock/film', inputs: { prompt: 'a fox', n: 2 } }
  const begun = await post('/v1/run', film, token, { prefer: 'respond-async' })
  const run = `/v1/run/${JSON.parse(begun.text).id}`
  const chat = { model, messages: hi, max_tokens: 500 }
  const { status } = await post('/v1/chat/completions', chat, token)
  if (status !== 429) throw new Error(`the call was answered with ${status}`)
  await send('DELETE', run, undefined, token)
  await until(async () => JSON.parse((await get(run, token)).text).ended_at !== undefined)
}

const refused = async ({ tenant, below, poor }: Scene, { post, get, send }: Notes) => {
  const chat = { model, messages: hi, max_tokens: 500 }
  const low = { 'x-max-cost-usd': CEILING }
  await post('/v1/chat/completions', chat, tenant.token, low)
  await post('/v1/messages', chat, tenant.token, low)
  await post('/v1/responses', { model, input: 'hi', max_output_tokens: 500 }, tenant.token, low)
  const gemini = { contents, generationConfig: { maxOutputTokens: 500 } }
  await post(`/v1beta/models/${model}:generateContent`, gemini, tenant.token, low)
  await post('/v1/run', { model: 'mock/film', inputs: { prompt: 'x' } }, tenant.token, low)
  await post('/v1/chat/completions', chat, poor.token)
  await post('/v1/chat/completions', { ...chat, stream: true }, poor.token)
  const limits = { spend_cap_usd: 999_999, monthly_cap_usd: 999_999 }
  await send('PUT', '/v1/key/wholesale/me/limits', limits, tenant.token)
  await send('PUT', `/v1/key/wholesale/${below.id}/limits`, limits, tenant.token)
  await post('/v1/key/wholesale', { label: 'x', ...limits }, tenant.token)
  await post('/v1/key/wholesale', { label: 'x', parent: below.id, ...limits }, tenant.token)
  for (const path of ['/api/billing', '/api/wallet/rules', '/api/referrals', '/v1/nothing'])
    await get(path, tenant.token)
}

const tool = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
})

const reports = async (scene: Scene, { calls, post, get }: Notes) => {
  const { token, id: own } = scene.tenant
  for (const group of ['', 'model', 'month,model', 'day,key', 'hour', 'status', 'vendor', 'payment_mode'])
    await get(`/v1/usage?group_by=${group}`, token)
  await get('/v1/usage?group_by=day,key&top=1', token)
  for (const name of ['me', own, scene.below.id, scene.poor.id]) {
    await get(`/v1/key/wholesale/${name}`, token)
    await get(`/v1/key/wholesale/${name}/usage`, token)
  }
  await get('/v1/key/wholesale', token)
  await get('/api/wallet/sub-wallets', token)
  const posted = [...calls]
  for (const id of posted) await get(`/v1/receipts/${id}`, token)
  await get('/v1/models', token)
  await get(`/v1/models/${model}`, token)
  await get('/v1/models/mock/film', token)
  await get('/v1beta/models?key=x', token)
  const mcp = { accept: 'application/json, text/event-stream' }
  for (const query of ['', '?all=1', `?tools=${model},mock/film`])
    await post(`/mcp${query}`, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }, token, mcp)
  for (const args of [{}, { id: model }, { id: 'mock/film' }])
    await post('/mcp', tool('search_products', args), token, mcp)
  scene.vendor.jobs.says(1)
  const runs = { product: 'mock/film', inputs: { prompt: 'a fox' } }
  await post('/mcp', tool('run_product', runs), token, mcp)
  await post('/mcp', tool('run_product', { ...runs, max_cost_usd: CEILING }), token, mcp)
  const chat = { product: model, inputs: { messages: hi, max_tokens: 500 } }
  await post('/mcp', tool('run_product', chat), token, mcp)
}

/** What the ledger holds of the session: postings of each call in order, use, caps and the balance. */
const ledgerOf = async ({ server, reseller }: Scene, calls: readonly string[]) => {
  const { store } = server
  const posted = []
  for (const id of calls)
    for (const { kind, amount } of await store.ledger.transfersOf(id)) posted.push([kind, String(amount)])
  const used = await jsonOf(await server.get('/v1/usage?group_by=model,status', reseller.token))
  const { total, rows } = used.data
  const wallet = await store.wallets.wallet(server.wallet)
  return JSON.stringify({ posted, total, rows, balance: String(wallet?.balance), held: String(wallet?.held) })
}

/** Plays the session where the reseller's tenants see this. */
export const playTenant = async (url: string, see: See) => {
  const scene = await sceneOf(url, see)
  const notes = newNotes(scene)
  await allStyles(scene, notes)
  await onSocket(scene, notes)
  await asJobs(scene, notes)
  await asBatch(scene, notes)
  await whileHeld(scene, notes)
  await refused(scene, notes)
  await reports(scene, notes)
  return { scene, read: notes.read, calls: notes.calls, ledger: await ledgerOf(scene, notes.calls) }
}
