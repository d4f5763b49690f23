/** Opening the catalogue, beyond the catalogue's own tests: equals that cost the operator more than they earn. */
import { expect, test } from 'bun:test'
import type { Model, Price } from '../../core/model.ts'
import { unpricedOf } from '../../media/product.ts'
import { vendors } from '../../vendors/index.ts'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'
import { dearerEquals, endingModels, modelWarnings, openCatalogue } from './open-catalogue.ts'

const flat = (input: number, output: number): Price => ({ rates: { input, output }, tiers: [], version: 't' })
const tiered: Price = { ...flat(10, 20), tiers: [{ aboveInputTokens: 1_000, rates: { input: 30 } }] }
const prices: Readonly<Record<string, Price>> = {
  'a/asked': flat(10, 20),
  'b/same': flat(10, 20),
  'b/cheaper': { ...flat(9, 20), rates: { input: 9, cache_read: 1, output: 20 } },
  'b/dearer': flat(10, 21),
  'b/dearer-when-long': tiered,
  'b/dearer-cache': { ...flat(10, 20), rates: { input: 10, cache_write: 12, output: 20 } },
}
const catalogue = {
  find: (id: string) => (prices[id] === undefined ? undefined : ({ id, price: prices[id] } as Model)),
  list: () => [],
  ended: () => undefined,
}
const found = (id: string, ...equals: readonly string[]) =>
  dearerEquals({ catalogue, failover: new Map([[id, equals]]) })

test('equals whose price is above in any class, at any length, are named', () => {
  const [id = '', ...equals] = Object.keys(prices)
  expect(found(id, ...equals)).toEqual([
    'a/asked → b/dearer',
    'a/asked → b/dearer-when-long',
    'a/asked → b/dearer-cache',
  ])
})

test('an equal that charges for more classes than the asked one is dearer the one way only', () => {
  expect(found('b/dearer-when-long', 'a/asked')).toEqual([])
  expect(found('b/cheaper', 'a/asked')).toEqual(['b/cheaper → a/asked'])
})

test('models that turnpike.yaml counts on are named from 30 days before their end', () => {
  const now = Date.parse('2026-11-21')
  const ends: Readonly<Record<string, string>> = {
    'a/gone': '2026-11-01',
    'a/soon': '2026-12-11',
    'a/later': '2027-01-14',
  }
  const endsAt = (id: string) => Date.parse(ends[id] ?? '')
  const dated = {
    find: (id: string) => (endsAt(id) > now ? ({ id, endsAt: endsAt(id) } as Model) : undefined),
    list: () => [],
    ended: (id: string) => (endsAt(id) <= now ? endsAt(id) : undefined),
  }
  const config = {
    failover: {
      'a/later': [
        { model: 'a/gone', dearer: false },
        { model: 'a/soon', dearer: false },
      ],
    },
    aliases: { fast: 'a/soon', old: 'a/other' },
  }
  expect(endingModels(config, dated, now)).toEqual(['a/gone on 2026-11-01', 'a/soon on 2026-12-11'])
})

const soldWith = (text: string) =>
  openCatalogue(readConfig({ DISCOVER: 'off', OPENAI_API_KEY: 'k' }, parseConfigFile(text, 'f', {})))

test('aliases of turnpike.yaml are sold, and a bad one is a setting that names itself', async () => {
  const { catalogue, failover } = await soldWith(
    'aliases: { fast: openai/gpt-6-sol }\nfailover: { fast: [openai/gpt-6-luna] }',
  )
  expect([catalogue.find('fast')?.id, [...failover.keys()]]).toEqual([
    'openai/gpt-6-sol',
    ['openai/gpt-6-sol'],
  ])
  await expect(soldWith('aliases: { fast: local/nope }')).rejects.toThrow(
    "aliases.fast: there is no model 'local/nope'; correct the name, or turn on its vendor",
  )
  await expect(soldWith('aliases: { fast: groq/llama-9 }')).rejects.toThrow(
    "aliases.fast: there is no model 'groq/llama-9'; groq is off: set GROQ_API_KEY",
  )
  expect(() => parseConfigFile('aliases: { "a/b": x }', 'f', {})).toThrow(
    'must be a name without blanks and slashes',
  )
})

test('a deployment for batches is of a model that is sold', async () => {
  const azure = { AZURE_API_KEY: 'k', AZURE_BASE_URL: 'https://r.openai.azure.com/openai/v1' }
  const opened = (name: string) =>
    openCatalogue(
      readConfig(
        { DISCOVER: 'off', ...azure },
        parseConfigFile(`vendors: { azure: { batches: { ${name}: mine } } }`, 'f', {}),
      ),
    )
  expect((await opened('gpt-4.1')).vendors.get('azure')?.batches).toEqual({ 'gpt-4.1': 'mine' })
  // One that its vendor ended.
  await opened('gpt-4-32k')
  await expect(opened('gpt-4.01')).rejects.toThrow(
    "vendors.azure.batches: there is no model 'azure/gpt-4.01'; correct the name, or turn on its vendor",
  )
})

test('models of Fireworks are asked by their names there', async () => {
  const costs = 'input_usd_per_1m: "1", output_usd_per_1m: "1", context_tokens: 9, max_output_tokens: 9'
  const file = `vendors: { fireworks: { models: { new-1.5: { ${costs} }, named: { upstream_name: mine, ${costs} } } } }`
  const { catalogue } = await openCatalogue(
    readConfig({ DISCOVER: 'off', FIREWORKS_API_KEY: 'k' }, parseConfigFile(file, 'f', {})),
  )
  expect(catalogue.find('fireworks/named')?.upstreamName).toBe('mine')
  for (const [name, there] of [
    ['new-1.5', 'new-1p5'],
    ['kimi-k2.6', 'kimi-k2p6'],
    ['deepseek-v3p2', 'deepseek-v3p2'],
  ])
    expect(catalogue.find(`fireworks/${name}`)?.upstreamName).toBe(`accounts/fireworks/models/${there}`)
})

test('a vendor of turnpike.yaml without a key is told, with its variable', async () => {
  const config = readConfig({ DISCOVER: 'off' }, parseConfigFile('vendors: { groq: {} }', 'f', {}))
  expect(modelWarnings(config, await openCatalogue(config), 0)).toEqual([
    {
      what: 'turnpike.yaml lists vendors that are off, as they have no key',
      models: 'groq: set GROQ_API_KEY',
    },
  ])
})

test('a model that is listed as its own equal is refused by its place, under whichever name', async () => {
  await expect(
    soldWith('failover: { openai/gpt-6-sol: [openai/gpt-6-luna, openai/gpt-6-sol] }'),
  ).rejects.toThrow("failover.openai/gpt-6-sol: 'openai/gpt-6-sol' is the model itself, not an equal of it")
  await expect(
    soldWith('aliases: { fast: openai/gpt-6-sol }\nfailover: { fast: [openai/gpt-6-sol] }'),
  ).rejects.toThrow("failover.fast: 'openai/gpt-6-sol' is the model itself, not an equal of it")
})

test('a start does not fail because a model that turnpike.yaml names has ended', async () => {
  const ended = 'openai/o1-preview'
  const { catalogue, failover } = await soldWith(
    `aliases: { old: ${ended} }\nprices: { ${ended}: { input_usd_per_1m: 1 } }\nfailover: { openai/gpt-6-sol: [${ended}, openai/gpt-6-luna], ${ended}: [openai/gpt-6-luna] }`,
  )
  expect([catalogue.find('old'), catalogue.find(ended)]).toEqual([undefined, undefined])
  expect([...failover]).toEqual([['openai/gpt-6-sol', ['openai/gpt-6-luna']]])
})

const withPrices = (text: string) => {
  const environment = { CARTESIA_API_KEY: 'key', FIRECRAWL_API_KEY: 'key', DISCOVER: 'off' }
  return openCatalogue(readConfig(environment, parseConfigFile(text, 'turnpike.yaml', environment)))
}

test('a product without a published price is sold for the operator’s, with the markup', async () => {
  const none = await withPrices('{}')
  expect([none.catalogue.find('cartesia/sonic-3'), none.catalogue.find('firecrawl/scrape')]).toEqual([
    undefined,
    undefined,
  ])
  const { catalogue, vendors } = await withPrices(
    "markup: '2x'\nprices:\n  firecrawl/scrape: { credit_usd_per_1m: '830' }\n",
  )
  const model = catalogue.find('firecrawl/scrape')
  expect(model?.product?.price({ url: 'https://example.com' })).toMatchObject({
    price: { rates: { credit: 1_660_000_000 }, version: 'config' },
    most: { credit: 1 },
  })
  expect(vendors.get('firecrawl')?.vendor.media?.models.map(({ name }) => name)).toEqual(['scrape'])
  expect(catalogue.find('cartesia/sonic-3')).toBeUndefined()
})

test('a product is not sold for a price of another unit than it is billed by', async () => {
  const wrong = withPrices("prices:\n  firecrawl/scrape: { page_usd_per_1m: '830' }\n")
  await expect(wrong).rejects.toThrow(
    'prices.firecrawl/scrape.credit_usd_per_1m is missing: calls are billed by credit',
  )
})

test('every product that waits can be given its price', async () => {
  const waiting = vendors.flatMap(({ id, keyVariable, media }) =>
    (media === undefined ? [] : unpricedOf(media)).map((record) => ({
      id: `${id}/${record.name}`,
      keyVariable,
      units: Object.keys(record.most),
    })),
  )
  const environment = {
    DISCOVER: 'off',
    KLING_ACCESS_KEY: 'key',
    ...Object.fromEntries(waiting.map(({ keyVariable }) => [keyVariable, 'key'])),
  }
  const lines = waiting.map(
    ({ id, units }) => `  ${id}: { ${units.map((unit) => `${unit}_usd_per_1m: '1'`).join(', ')} }`,
  )
  const file = parseConfigFile(`prices:\n${lines.join('\n')}\n`, 'turnpike.yaml', environment)
  const { catalogue } = await openCatalogue(readConfig(environment, file))
  expect(waiting.length).toBeGreaterThan(3)
  for (const { id } of waiting) expect([id, catalogue.find(id)?.id]).toEqual([id, id])
})
