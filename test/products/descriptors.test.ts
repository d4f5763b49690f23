/** Descriptors of every model sold: the server checks, holds and charges what they say. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import jsonld from 'jsonld'
import type { z } from 'zod'
import { nanoFromDecimal } from '../../src/core/money.ts'
import { productDescriptor } from '../../src/http/schema/products.ts'
import { misfit } from '../server/answers.ts'
import { jsonOf } from '../server/harness.ts'
import { wrongBy } from './json-schema.ts'
import { catalogueOf, openShop, records, type Shop } from './shop.ts'

type Descriptor = z.infer<typeof productDescriptor>

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.stop())

const models = catalogueOf().list()
const jobs = new Set(records.filter(({ record }) => record.shape.flow === 'job').map(({ id }) => id))

const get = (path: string, headers: Record<string, string> = {}) =>
  shop.fetch(new Request(`http://turnpike.test${path}`, { headers }))
const descriptor = async (id: string): Promise<Descriptor> =>
  jsonOf(await get(`/products/${id}/product.json`))

/** The words of a command, as a POSIX shell reads them; one variable. */
const wordsOf = (command: string, key: string): string[] => {
  const { stdout } = Bun.spawnSync(['sh', '-c', command.replace(/^curl /, "printf '%s\\0' ")], {
    env: { TURNPIKE_KEY: key },
  })
  return stdout.toString().split('\0').slice(0, -1)
}

/** Sends the request of the command to the server of the test. */
const sent = (command: string, key: string): Request => {
  const words = wordsOf(command, key)
  const after = (flag: string) => words.flatMap((word, at) => (words[at - 1] === flag ? [word] : []))
  const url = words.find((word) => word.startsWith('http'))
  if (url === undefined) throw new Error(command)
  return new Request(url, {
    method: 'POST',
    headers: after('-H').map((line) => line.split(/: /) as [string, string]),
    body: after('-d')[0] ?? '',
  })
}

test('there are products of all kinds', () => {
  expect(records.length).toBeGreaterThan(40)
  expect(models.length).toBeGreaterThan(300)
})

test('each descriptor has all members of the specification, and names of its own', async () => {
  const tools = new Set<string>()
  const slugs = new Set<string>()
  for (const { id } of models) {
    const one = await descriptor(id)
    expect([id, misfit(productDescriptor, one)]).toEqual([id, undefined])
    expect(one.id).toBe(id)
    expect(one.mcp_tool_name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(one.slug).toMatch(/^[a-zA-Z0-9_-]+$/)
    tools.add(one.mcp_tool_name)
    slugs.add(one.slug)
  }
  expect([tools.size, slugs.size]).toEqual([models.length, models.length])
})

test('the list is paged, searched, and leads to each', async () => {
  const seen: string[] = []
  for (let url: string | null = 'http://turnpike.test/products.json?limit=100'; url !== null; ) {
    const page = await jsonOf(await shop.fetch(new Request(url)))
    seen.push(...page.data.map(({ id }: Descriptor) => id))
    url = page.next
  }
  expect(seen).toEqual(models.map(({ id }) => id))
  const pictures = await jsonOf(await get('/products.json?category=image&q=fox%20sketch'))
  expect(pictures.data).toEqual([])
  const sketch = await jsonOf(await get('/products.json?category=image&vendor=local&q=SKETCH'))
  expect(sketch.data.map(({ id }: Descriptor) => id)).toEqual(['local/sketch-1', 'local/slow-1'])
  expect((await shop.fetch(new Request(sketch.data[0].product_json_url))).status).toBe(200)
  for (const wrong of ['page=0', 'limit=101', 'colour=red', 'page=x'])
    expect([wrong, (await get(`/products.json?${wrong}`)).status]).toEqual([wrong, 400])
})

test('both addresses give the descriptor, an alias too; an unknown name is a 404', async () => {
  const [one, other] = [
    await get('/products/local/qr-1.json'),
    await get('/products/local/qr-1/product.json'),
  ]
  expect(await one.text()).toBe(await other.text())
  expect((await get('/products/nobody/nothing.json')).status).toBe(404)
})

test('pages of others may read them, and who knows the present one is told so', async () => {
  for (const path of ['/products.json', '/products/local/qr-1.json', '/products/context.jsonld']) {
    const first = await get(path)
    expect(first.headers.get('access-control-allow-origin')).toBe('*')
    const etag = first.headers.get('etag') ?? ''
    expect((await get(path, { 'if-none-match': etag })).status).toBe(304)
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
  }
})

test('JSON-LD: the official processor expands each kind to a product with its offer', async () => {
  const documentLoader = async (url: string) => ({
    contextUrl: undefined,
    documentUrl: url,
    document: await jsonOf(await shop.fetch(new Request(url))),
  })
  for (const id of ['local/echo-1', 'local/hash-embed-1', 'local/sketch-1', 'deepgram/nova-3']) {
    const one = await descriptor(id)
    const [expanded] = (await jsonld.expand(one as object, { documentLoader })) as Record<string, unknown>[]
    expect(expanded).toMatchObject({
      '@id': one.product_json_url,
      '@type': ['https://schema.org/Product'],
      'https://schema.org/sku': [{ '@value': id }],
      'https://schema.org/url': [{ '@id': one.human_url }],
      'https://schema.org/offers': [
        {
          '@type': ['https://schema.org/Offer'],
          'https://schema.org/price': [{ '@value': one.pricing.per_unit_usd }],
          'https://schema.org/priceCurrency': [{ '@value': 'USD' }],
        },
      ],
      'http://turnpike.test/products/context.jsonld#input_schema': [
        { '@type': '@json', '@value': one.input_schema },
      ],
    })
    // Every member has a meaning, so none is dropped.
    expect(Object.keys(expanded ?? {}).length).toBe(Object.keys(one).length - 1)
  }
})

const PICO = 1_000_000_000_000n
const picoOf = (decimal: string): bigint => {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole) * PICO + BigInt(fraction.padEnd(12, '0'))
}

type Form = readonly [form: string | undefined, inputs: object]
const hi = [{ role: 'user', content: 'hi' }]
const content = { parts: [{ text: 'hi' }] }
const forms: Readonly<Record<string, readonly Form[]>> = {
  chat: [
    [undefined, { messages: hi }],
    ['chat_completions', { messages: hi }],
    ['messages', { messages: hi, max_tokens: 9 }],
    ['messages', { messages: hi, max_tokens: 9, system: 'Be brief.' }],
    [undefined, { contents: [content] }],
    ['generate_content', { contents: [content] }],
  ],
  embeddings: [
    [undefined, { input: 'hi' }],
    ['embeddings', { input: 'hi' }],
    [undefined, { content }],
    ['generate_content', { content, outputDimensionality: 8 }],
    ['generate_content', { requests: [{ content }] }],
  ],
}

test('an answer in each form that a caller may state is one of those of the descriptor', async () => {
  const { token } = await shop.newKey()
  const ofKinds = models.filter(
    ({ kind, vendor }, at) => kind !== 'media' && (vendor === 'local' || at % 25 === 0),
  )
  expect(new Set(ofKinds.map(({ kind }) => kind)).size).toBe(2)
  for (const { id, kind } of ofKinds) {
    const { output_schema: schema } = await descriptor(id)
    for (const [form, inputs] of forms[kind] ?? []) {
      const request = new Request('http://turnpike.test/v1/run', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: id, inputs, ...(form === undefined ? {} : { form }) }),
      })
      const response = await shop.fetch(request)
      const body = await jsonOf(response)
      expect([id, form, response.status, response.status === 200 ? '' : body]).toEqual([id, form, 200, ''])
      const named = schema.anyOf as readonly { readonly title: string }[]
      const stated = form ?? ('contents' in inputs || 'content' in inputs ? 'generate_content' : undefined)
      const usual = kind === 'chat' ? 'chat_completions' : 'embeddings'
      const wrong = named
        .filter(({ title }) => title === `form: ${stated ?? usual}`)
        .map((one) => wrongBy(one, structuredClone(body)))
      expect([id, form, wrong.some((faults) => faults.length === 0) ? [] : wrong]).toEqual([id, form, []])
      expect(wrongBy(schema, structuredClone(body))).toEqual([])
    }
  }
})

/** The cost of a class without a price of its own. */
const base: Readonly<Record<string, string>> = {
  output_image: 'output',
  output_audio: 'output',
  reasoning: 'output',
}

type Claims = { readonly usage: Record<string, number> }

const claimsOf = (jwt: string): Claims =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

const holds = (when: Record<string, unknown> | undefined, inputs: Record<string, unknown>): boolean =>
  Object.entries(when ?? {}).every(([name, wanted]) =>
    Array.isArray(wanted) ? wanted.includes(inputs[name] ?? null) : wanted === (inputs[name] ?? null),
  )

describe('the example of every model', () => {
  const some = models.filter(({ kind, vendor }, at) => kind === 'media' || vendor === 'local' || at % 7 === 0)
  test.each(some.map(({ id }) => [id]))('%s', async (id) => {
    const { token } = await shop.newKey()
    const one = await descriptor(id)
    // A nano-dollar less than the bound is refused, the bound is not.
    const bound = one.pricing.max_usd
    const below = bound - 1e-9
    if (bound > 0) {
      const request = sent(one.example_curl, token)
      request.headers.set('x-max-cost-usd', below.toFixed(9))
      expect((await jsonOf(await shop.fetch(request))).error.code).toBe('max_cost_exceeded')
    }
    // Jobs have tests of their own, with vendors that keep them waiting.
    if (jobs.has(id)) return
    const request = sent(one.example_curl, token)
    request.headers.set('x-max-cost-usd', bound.toFixed(9))
    const { inputs } = (await request.clone().json()) as { inputs: Record<string, unknown> }
    const response = await shop.fetch(request)
    const text = await response.clone().text()
    expect([response.status, response.status === 200 ? '' : text]).toEqual([200, ''])
    expect(wrongBy(one.output_schema, JSON.parse(text))).toEqual([])
    const jwt = response.headers.get('x-receipt') ?? JSON.parse(text).receipt
    const { usage } = claimsOf(jwt)
    const defaults = structuredClone(inputs)
    expect(wrongBy(one.input_schema, defaults)).toEqual([])
    const row = one.pricing.rows.find(
      ({ when, above_input_tokens: above = -1 }) => above < 0 && holds(when, defaults),
    )
    const pico = Object.entries(usage).reduce((sum, [unit, count]) => {
      const rate = row?.rates[unit] ?? row?.rates[base[unit] ?? '']
      if (rate === undefined) throw new Error(`no rate for ${unit}`)
      return sum + picoOf(rate) * BigInt(count)
    }, 0n)
    const charged = nanoFromDecimal(response.headers.get('x-cost-usd') ?? '')
    expect((pico + 999n) / 1_000n).toBe(charged ?? -1n)
  })
})
