/** Thousands of products: a request does not make more things when there are more products. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Model, Product } from '../../src/core/model.ts'
import { jsonOf, startTestServer, type TestServer, testModel } from '../server/harness.ts'

const COUNT = 5_000
const made = { schemas: 0, prices: 0 }

const productOf = (at: number): Product => ({
  category: at % 2 === 0 ? 'image' : 'speech',
  title: `Product ${at}`,
  description: `It makes things of kind ${at % 97}.`,
  inputs: ['prompt'],
  media: [],
  schema: () => {
    made.schemas++
    return { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] }
  },
  example: { prompt: 'a fox' },
  rows: [{ when: {}, price: { rates: { image: 1_000_000 + at }, tiers: [], version: 'x' } }],
  flow: 'once',
  price: () => {
    made.prices++
    return {
      inputs: {},
      price: { rates: { image: 1_000_000 + at }, tiers: [], version: 'x' },
      most: { image: 1 },
    }
  },
})

const models = Array.from({ length: COUNT }, (_, at): Model => {
  const product = productOf(at)
  return testModel(`m-${String(at).padStart(4, '0')}`, {
    kind: 'media',
    product,
    price: product.rows[0]?.price ?? { rates: {}, tiers: [], version: '' },
  })
})

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ models })
})
afterAll(() => server.stop())

const get = (path: string) => server.fetch(new Request(`http://turnpike.test${path}`))

test.each([
  ['/products.json', 50],
  ['/products.json?q=kind%2013&limit=100', 100],
  ['/products?page=90', 50],
  ['/products/mock/m-4321', 2],
  ['/products/mock/m-4321.json', 2],
  ['/sitemap.xml', 0],
  ['/llms.txt', 0],
])('%s makes at most so many: %d', async (path, most) => {
  await get('/llms.txt')
  Object.assign(made, { schemas: 0, prices: 0 })
  const response = await get(path)
  const text = await response.text()
  expect(response.status).toBe(200)
  expect(Math.max(made.schemas, made.prices)).toBeLessThanOrEqual(most)
  if (path.startsWith('/products')) expect(text.length).toBeLessThan(most < 10 ? 50_000 : 100_000)
})

test('all of them can be reached', async () => {
  const ids = new Set<string>()
  for (let url: string | null = 'http://turnpike.test/products.json?limit=100'; url !== null; ) {
    const page = await jsonOf(await server.fetch(new Request(url)))
    for (const { id } of page.data) ids.add(id)
    url = page.next
  }
  expect(ids.size).toBe(COUNT)
})
