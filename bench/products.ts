/** `bun bench/products.ts`: how long a page, a list and the tools take with 5,000 products on the shelf. Prints medians. */
import type { Model, Product } from '../src/core/model.ts'
import { startTestServer, testModel } from '../test/server/harness.ts'

const COUNT = 5_000
const ROUNDS = 60

const price = { rates: { image: 1_000_000 }, tiers: [], version: 'bench' }

const productOf = (at: number): Product => ({
  category: at % 2 === 0 ? 'image' : 'speech',
  title: `Product ${at}`,
  description: `It makes things of kind ${at % 97}, in a sentence of the usual length of descriptions.`,
  inputs: ['prompt'],
  media: [],
  schema: () => ({
    type: 'object',
    properties: { prompt: { type: 'string', minLength: 1 } },
    required: ['prompt'],
    additionalProperties: false,
  }),
  example: { prompt: 'a fox' },
  rows: [{ when: {}, price }],
  flow: 'once',
  price: () => ({ inputs: {}, price, most: { image: 1 } }),
})

const models = Array.from(
  { length: COUNT },
  (_, at): Model => testModel(`m-${at}`, { kind: 'media', product: productOf(at), price }),
)

const server = await startTestServer({ models })

const get = (path: string) => new Request(`http://turnpike.test${path}`)
const tools = (query = '') =>
  new Request(`http://turnpike.test/mcp${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })

const asked: Readonly<Record<string, () => Request>> = {
  'list page': () => get('/products'),
  'list page, searched': () => get('/products?q=kind+13'),
  '/products.json': () => get('/products.json?limit=100'),
  'product page': () => get('/products/mock/m-4321'),
  'tools, featured': () => tools(),
  'tools, a page of all': () => tools('?all=1'),
}

for (const [what, request] of Object.entries(asked)) {
  const took: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const response = await server.fetch(request())
    await response.bytes()
    if (response.status !== 200) throw new Error(`${what} answered ${response.status}`)
    took.push(performance.now() - began)
  }
  const first = took[0] ?? 0
  took.sort((a, b) => a - b)
  console.log(
    `${what.padEnd(24)} ${(took[ROUNDS / 2] ?? 0).toFixed(1).padStart(6)} ms, the first ${first.toFixed(1)} ms`,
  )
}
await server.stop()
