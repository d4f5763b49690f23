/** What turnpike.yaml says about products that are not chat: missing prices, other prices, and whole records. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import { chargeFor } from '../../pricing/charge.ts'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'
import { openCatalogue } from './open-catalogue.ts'

const KEYS = { COHERE_API_KEY: 'c', DEEPGRAM_API_KEY: 'd', FAL_API_KEY: 'f', FAL_KEY: 'f', DISCOVER: 'off' }

const open = (text: string) => openCatalogue(readConfig(KEYS, parseConfigFile(text, 'turnpike.yaml', {})))

const mostOf = async (text: string, id: string, inputs: object) => {
  const { catalogue, vendors } = await open(text)
  const priced = catalogue.find(id)?.product?.price(inputs as never)
  if (priced === undefined || priced instanceof Refusal) throw new Error(`${id}: ${priced?.message}`)
  const [vendor = '', name = ''] = [id.slice(0, id.indexOf('/')), id.slice(id.indexOf('/') + 1)]
  // Everything that is sold can also be called.
  expect(vendors.get(vendor)?.vendor.media?.models.some((one) => one.name === name)).toBe(true)
  return chargeFor(priced.price, priced.most)
}

const rerank = { query: 'tides', documents: ['a', 'b'] }

test('a product that waits for a price is sold once it has one', async () => {
  const id = 'cohere/rerank-v4.0-fast'
  expect((await open('')).catalogue.find(id)).toBeUndefined()
  expect(await mostOf(`media: { ${id}: { units: { search: "0.002" } } }`, id, rerank)).toBe(2_000_000n)
  expect(await mostOf(`media: { ${id}: { units: { search: "2 / 1000" } } }`, id, rerank)).toBe(2_000_000n)
  const rows = `[{ when: { top_n: [1] }, units: { search: 0.001 } }, { units: { search: 0.003 } }]`
  const byRows = `media: { ${id}: { rows: ${rows} } }`
  expect(await mostOf(byRows, id, { ...rerank, top_n: 1 })).toBe(1_000_000n)
  expect(await mostOf(byRows, id, { ...rerank, top_n: 2 })).toBe(3_000_000n)
  expect(await mostOf(`markup: "1.5"\n${byRows}`, id, rerank)).toBe(4_500_000n)
})

const record = () => `
media:
  fal/fal-ai/some-model:
    like: fal/fal-ai/flux-1/schnell
    units: { image: "0.03" }
    most: { image: num_images }
    example: { prompt: a red fox }
    inputs:
      required: [prompt]
      properties:
        prompt: { type: string, maxLength: 20 }
        num_images: { type: integer, minimum: 1, maximum: 4, default: 2 }
`

test('a whole record is checked by its JSON Schema, strictly, with its defaults', async () => {
  const id = 'fal/fal-ai/some-model'
  expect(await mostOf(record(), id, { prompt: 'a fox' })).toBe(60_000_000n)
  expect(await mostOf(record(), id, { prompt: 'a fox', num_images: 4 })).toBe(120_000_000n)
  const { catalogue } = await open(record())
  for (const wrong of [
    {},
    { prompt: 'a fox', num_images: 5 },
    { prompt: 'a', webhook_url: 'https://x.example' },
  ])
    expect(catalogue.find(id)?.product?.price(wrong)).toBeInstanceOf(Refusal)
})

test.each([
  ['media: { cohere/rerank-v4.0-fast: { units: { search: free } } }', 'must be USD a unit'],
  ['media: { cohere/rerank-v4.0-fast: { units: { page: "1" } } }', "a price a unit of 'search' is missing"],
  [
    'media: { cohere/rerank-v4.0-fast: { units: { search: "1", page: "1" } } }',
    "not billed by 'page' but by search",
  ],
  ['media: { cohere/rerank-v4.0-fast: {} }', "either 'units' or 'rows'"],
  [
    'media: { cohere/rerank-v4.0-fast: { rows: [{ when: { top_n: 1 }, units: { search: "1" } }] } }',
    "leave out 'when'",
  ],
  ['media: { nobody/x: { units: { search: "1" } } }', "no model 'nobody/x'"],
  ['media: { cohere/unknown: { units: { search: "1" } } }', "needs 'like'"],
  [record().replace('num_images }', 'prompts }'), 'must be a number among the inputs'],
  [
    record().replace('a red fox', 'a red fox that is longer than twenty letters'),
    'example is not what its inputs take',
  ],
])('%s is told', async (text, message) => {
  const opened = (async () => open(text))()
  expect(await opened.then(() => 'opened', String)).toContain(message)
})
