/**
 * Conditions over every way out. The ways are those of the code's own tables: each address that takes a body, for each vendor
 * and each of its products. An address that no list here knows fails, and so does a way that asks a vendor all the same.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Model } from '../../src/core/model.ts'
import { Secret } from '../../src/core/secret.ts'
import { routes } from '../../src/http/routes.ts'
import { modelOf } from '../../src/media/models.ts'
import { type MediaModel, unpricedOf } from '../../src/media/product.ts'
import { regionNames } from '../../src/tenancy/conditions.ts'
import { meetsAll } from '../../src/vendors/handled-at.ts'
import { vendors } from '../../src/vendors/index.ts'
import { vendorHandling } from '../../src/vendors/known-handling.ts'
import type { VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { type AssetServer, startAssetServer } from './asset-rig.ts'
import { jsonOf, testModel } from './harness.ts'

/** What a vendor heard of, by its id. */
const heard: string[] = []

const setupOf = (vendor: Vendor): VendorSetup => ({
  vendor,
  baseUrl: vendor.baseUrl === '' ? `https://${vendor.id}.invalid/v1` : vendor.baseUrl,
  secrets: [new Secret('house-key')],
  fetch: async () => {
    heard.push(vendor.id)
    return Response.json({ error: { message: 'no', type: 'invalid_request_error' } }, { status: 400 })
  },
})

const of = (vendor: Vendor, change: Partial<Model>, name: string): Model =>
  testModel(name, { vendor: vendor.id, id: `${vendor.id}/${name}`, ...change })
const chats = vendors
  .filter(({ surfaces }) => surfaces.includes('chat'))
  .map((one) => {
    const requestStyle = one.requestStyleOf?.('gpt-5-mini')
    return of(one, requestStyle === undefined ? {} : { requestStyle }, 'chat')
  })
const embedders = vendors
  .filter(({ surfaces }) => surfaces.includes('embeddings'))
  .map((one) => of(one, { kind: 'embeddings', maxOutputTokens: 0 }, 'embed'))
/** With those that wait for a price of the operator's. */
const withAll = (vendor: Vendor): Vendor => {
  const { media } = vendor
  if (media === undefined) return vendor
  const priced = unpricedOf(media).map(
    ({ most, ...record }): MediaModel => ({ ...record, card: { rows: [{ rates: {} }], most } }),
  )
  return { ...vendor, media: { ...media, models: [...media.models, ...priced] } }
}
const all = vendors.map(withAll)
const products = all.flatMap(({ id, media }) => (media?.models ?? []).map((one) => modelOf(id, one)))
const models = [...chats, ...embedders, ...products]

const said = [{ role: 'user', content: 'hi' }]
const contents = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
type Body = (id: string) => object

/** What asks a model of conversations. */
const asksChats: Readonly<Record<string, Body>> = {
  '/v1/chat/completions': (model) => ({ model, messages: said }),
  '/v1/completions': (model) => ({ model, prompt: 'hi' }),
  '/v1/messages': (model) => ({ model, messages: said, max_tokens: 9 }),
  '/v1/messages/count_tokens': (model) => ({ model, messages: said }),
  '/v1/responses': (model) => ({ model, input: 'hi' }),
  '/v1/responses/compact': (model) => ({ model, input: said }),
  '/v1/responses/input_tokens': (model) => ({ model, input: 'hi' }),
  '/v1beta/interactions': (model) => ({ model, input: 'hi', store: false }),
  '/v1/interactions': (model) => ({ model, input: 'hi', store: false }),
  '/v2/chat': (model) => ({ model, messages: said }),
  '/api/chat': (model) => ({ model, messages: said }),
  '/api/generate': (model) => ({ model, prompt: 'hi' }),
  '/v1beta/models/*rest': () => contents,
}
const asksEmbedders: Readonly<Record<string, Body>> = {
  '/v1/embeddings': (model) => ({ model, input: 'hi' }),
  '/v2/embed': (model) => ({ model, texts: ['hi'], embedding_types: ['float'], input_type: 'search_query' }),
  '/api/embed': (model) => ({ model, input: 'hi' }),
  '/api/embeddings': (model) => ({ model, prompt: 'hi' }),
}
/** What asks for a product, by what it makes; each with its own inputs at `/v1/run`. */
const asksProducts: Readonly<Record<string, readonly [category: string, Body]>> = {
  '/v1/image/generate': ['image', (model) => ({ model, prompt: 'a fox' })],
  '/v1/images/generations': ['image', (model) => ({ model, prompt: 'a fox' })],
  '/v1/images/edits': ['image', (model) => ({ model, prompt: 'a fox', image: 'data:image/png;base64,AAAA' })],
  '/v1/audio/speech': ['speech', (model) => ({ model, input: 'hi', voice: 'alloy' })],
  '/v1/rerank': ['utility', (model) => ({ model, query: 'a', documents: ['b'] })],
  '/v2/rerank': ['utility', (model) => ({ model, query: 'a', documents: ['b'] })],
  '/v1/moderations': ['utility', (model) => ({ model, input: 'hi' })],
  '/v1/videos': ['video', (model) => ({ model, prompt: 'a fox' })],
}
/** What keeps what it is sent. */
const keeps: Readonly<Record<string, readonly [string, object]>> = {
  '/v1/files': ['/v1/files', {}],
  '/upload/v1beta/files': ['/upload/v1beta/files', {}],
  '/upload/v1/files': ['/upload/v1/files', {}],
  '/upload/v1beta/files/:session': ['/upload/v1beta/files/x', {}],
  '/v1/uploads': ['/v1/uploads', { filename: 'a', purpose: 'batch', bytes: 1, mime_type: 'text/plain' }],
  '/v1/uploads/:id/parts': ['/v1/uploads/x/parts', {}],
  '/v1/uploads/:id/complete': ['/v1/uploads/x/complete', { part_ids: [] }],
  '/v1/conversations': ['/v1/conversations', { items: [] }],
  '/v1/conversations/:id/items': ['/v1/conversations/conv_x/items', { items: [] }],
  '/v1/messages/batches': [
    '/v1/messages/batches',
    { requests: [{ custom_id: 'a', params: { model: 'openai/chat', max_tokens: 9, messages: said } }] },
  ],
}
/** What asks no vendor and keeps nothing that is sent to one, or is the same code as another of these addresses. */
const neither: readonly (string | RegExp)[] = [
  /\/cancel$/,
  /^\/api\/(?:wallet|billing|config|receipts|referrals|reviews|show)/,
  /^\/v1\/(?:key|own-keys|budgets|alerts|alert-channels|metrics|logs|traces)\b/,
  // It needs a file of the purpose batch, which zdr does not let in; lines ask as their own addresses do.
  '/v1/batches',
  // Ends or names what is there.
  '/v1/conversations/:id',
  /^\/v1(?:beta)?\/batches\/:id$/,
  // One handler with /v1beta/models.
  '/v1beta/*rest',
  '/v1/models/*rest',
  '/v1beta1/publishers/*rest',
  '/v1/publishers/*rest',
  // One handler with /v1/run, and tools that call it (conditions.test.ts).
  '/api/idempotent-run',
  '/mcp',
  // Cells ask each other, with no key.
  '/api/cells/people',
  // Forms with a file, for the products that /v1/run asks too.
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
]

let server: AssetServer
beforeAll(async () => {
  server = await startAssetServer({
    server: { models, more: all.map(setupOf), options: { responsesKeptMs: 3_600_000 } },
  })
})
afterAll(() => server.stop())

const addressFor = (path: string, id: string): string => path.replace('*rest', `${id}:generateContent`)

/** Asks twice, with a condition that nothing meets and without: who was asked. */
const asking = async (path: string, body: object) => {
  heard.length = 0
  const bound = await server.post(path, body, { 'x-turnpike-require': 'region=br' })
  const underIt = [...heard]
  heard.length = 0
  const free = await server.post(path, body)
  await free.arrayBuffer()
  return { status: bound.status, text: await bound.text(), underIt, asked: heard.length > 0 }
}

/** No vendor is asked under a condition that nothing meets; each of the models is asked without it, by some address. */
const nobodyIsAsked = async (ways: readonly (readonly [path: string, id: string, body: object])[]) => {
  const reached = new Set<string>()
  const reaching = new Set<string>()
  for (const [path, id, body] of ways) {
    const { status, text, underIt, asked } = await asking(addressFor(path, id), body)
    expect([path, id, underIt]).toEqual([path, id, []])
    if (!asked) continue
    // Whatever would have been asked was refused for this alone.
    expect([path, id, status, text.includes('region=br')]).toEqual([path, id, 403, true])
    reached.add(id)
    reaching.add(path)
  }
  return { reached, reaching }
}

test('every address that takes a body is known here', () => {
  const known = [asksChats, asksEmbedders, asksProducts, keeps].flatMap((one) => Object.keys(one))
  const strangers = routes
    .filter(({ method, auth }) => auth === 'bearer' && ['POST', 'PUT', 'PATCH'].includes(method))
    .map(({ path }) => path)
    .filter((path) => path !== '/v1/run' && !known.includes(path))
    .filter((path) => !neither.some((one) => (typeof one === 'string' ? one === path : one.test(path))))
  expect(strangers).toEqual([])
})

test('no conversation goes to a vendor that does not meet what is asked', async () => {
  const ways = Object.entries(asksChats).flatMap(([path, body]) =>
    chats.map(({ id }) => [path, id, body(id)] as const),
  )
  const { reached, reaching } = await nobodyIsAsked(ways)
  expect([...reached].sort()).toEqual(chats.map(({ id }) => id).sort())
  expect([...reaching].sort()).toEqual(Object.keys(asksChats).sort())
})

test('nor does a text to be embedded', async () => {
  const ways = Object.entries(asksEmbedders).flatMap(([path, body]) =>
    embedders.map(({ id }) => [path, id, body(id)] as const),
  )
  const { reached, reaching } = await nobodyIsAsked(ways)
  expect([...reached].sort()).toEqual(embedders.map(({ id }) => id).sort())
  expect([...reaching].sort()).toEqual(Object.keys(asksEmbedders).sort())
})

test('nor do the inputs of any product', async () => {
  const runs = products.map(
    ({ id, product }) => ['/v1/run', id, { model: id, inputs: product?.example }] as const,
  )
  const others = Object.entries(asksProducts).flatMap(([path, [category, body]]) =>
    products
      .filter(({ product }) => product?.category === category)
      .map(({ id }) => [path, id, body(id)] as const),
  )
  const { reached, reaching } = await nobodyIsAsked([...runs, ...others])
  // Inputs that name media elsewhere are read first, which there is no Internet for.
  expect(reached.size).toBeGreaterThan(products.length / 2)
  expect([...reaching].sort()).toEqual([...Object.keys(asksProducts), '/v1/run'].sort())
})

test('whatever keeps what it is sent does not take it with zdr', async () => {
  for (const [path, body] of Object.values(keeps)) {
    const refused = await server.post(path, body, { 'x-turnpike-require': 'zdr' })
    expect([path, refused.status, (await refused.text()).includes('zdr does not allow')]).toEqual([
      path,
      403,
      true,
    ])
  }
})

test('only what a vendor is known to do meets a condition, and only at its own address', () => {
  const conditions = ['zdr', 'no_training', ...regionNames.map((name) => `region=${name}` as const)] as const
  let met = 0
  for (const vendor of vendors) {
    const { zdr, noTraining, hosts } = vendorHandling[vendor.id] ?? {}
    const bases = [vendor.baseUrl, ...Object.keys(hosts?.says ?? {}).map((host) => `https://${host}/v1`)]
    for (const baseUrl of bases.filter((one) => one !== ''))
      for (const condition of conditions) {
        const says = condition === 'zdr' ? zdr : condition === 'no_training' ? noTraining : undefined
        const model = { upstreamName: 'anthropic.claude' }
        const does = meetsAll({ vendor, baseUrl }, model, [condition])
        if (says !== undefined || !condition.startsWith('region='))
          expect([vendor.id, condition, does]).toEqual([
            vendor.id,
            condition,
            says?.says === 'yes' && says.verified !== false,
          ])
        if (does) met++
        expect(meetsAll({ vendor, baseUrl: 'https://elsewhere.example/v1' }, model, [condition])).toBe(false)
        if (vendor.id === 'bedrock')
          expect(
            meetsAll({ vendor, baseUrl }, { upstreamName: 'global.anthropic.claude' }, [condition]),
          ).toBe(false)
      }
  }
  expect(met).toBeGreaterThan(10)
})

test('each fact has a source and a day, and is of a vendor that there is', async () => {
  for (const [id, facts] of Object.entries(vendorHandling)) {
    expect([id, id === 'local' || vendors.some((one) => one.id === id)]).toEqual([id, true])
    for (const { source, read } of Object.values(facts)) {
      expect([id, source.startsWith('https://') || existsSync(join(root, source))]).toEqual([id, true])
      expect(read).toMatch(/^20\d\d-\d\d-\d\d$/)
    }
  }
  expect(await jsonOf(await server.get('/v1/models'))).toBeDefined()
})

const root = join(import.meta.dir, '../..')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.ts$/.test(path) && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, 'src', path), 'utf8') }))

/** What goes to a vendor without conditions, because nothing of a caller's goes with it that is not there already. */
const withoutConditions: readonly string[] = [
  'cli/config/offered-models.ts',
  'gateway/ask/try-key.ts',
  'gateway/batches/ask-part.ts',
  'gateway/batches/part-results.ts',
  // Lines with conditions are not handed on (`planLine`).
  'gateway/batches/submit-part.ts',
  // The operator's own bucket.
  'gateway/batches/tidy-part.ts',
  // The cancellation of a job.
  'gateway/jobs/answer-job.ts',
  'gateway/jobs/step-job.ts',
  // The bytes of a result.
  'gateway/jobs/vendor-step.ts',
]

test('who speaks to a vendor says under which conditions', () => {
  const speaking = sources.filter(
    ({ text }) => /\bexchange\(\{/.test(text) && !text.includes('export const exchange ='),
  )
  expect(speaking.map(({ path }) => path).sort()).toEqual([
    'gateway/ask/attempt.ts',
    'gateway/call/count-tokens.ts',
    'gateway/jobs/vendor-step.ts',
  ])
  for (const { path, text } of speaking) expect([path, text.includes('authorized(')]).toEqual([path, true])
  const without = sources.filter(({ text }) =>
    /under: NO_CONDITIONS|authorized\([^;]*?, NO_CONDITIONS,|\bstepOf \} from '\.\/ask-part\.ts'/s.test(text),
  )
  expect(without.map(({ path }) => path).sort()).toEqual([...withoutConditions])
})
