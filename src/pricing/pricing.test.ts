/** Prices: hand-computed bills, and the law that no charge exceeds its quote. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { knowledgeOf } from '../../scripts/catalogue-knowledge.ts'
import type { InputSize } from '../core/call.ts'
import type { Model, Price } from '../core/model.ts'
import { inputTokens, type Usage, usageClasses } from '../core/usage.ts'
import { vendors } from '../vendors/index.ts'
import { buildCatalogue, type Override } from './catalogue.ts'
import { chargeFor, costDetails, priceOf, rateOf, ratesFor, withCall } from './charge.ts'
import { affordableOutput, ceiling, inputBound } from './quote.ts'

/** A day after some models have ended and before others do. */
const TODAY = Date.parse('2026-11-21')
const parts = {
  vendors: vendors.map(({ id, shortIds }) => ({ id, shortIds: shortIds === true })),
  extra: [],
  overrides: {},
  markup: '1',
  discount: '0.5',
  now: () => TODAY,
}
const catalogue = buildCatalogue(parts)
const models = catalogue.list()
const price = (rates: Price['rates'], tiers: Price['tiers'] = []): Price => ({ rates, tiers, version: 't' })

// Rates in pico-dollars per token: 0.15 USD per million is 150 000.
const mini = price({ input: 150_000, cache_read: 75_000, output: 600_000 })
const tiered = price({ input: 2_500_000, cache_read: 250_000, output: 15_000_000 }, [
  { aboveInputTokens: 271_999, rates: { input: 5_000_000, cache_read: 500_000, output: 22_500_000 } },
])

const bills: readonly (readonly [string, Price, Usage, bigint])[] = [
  ['plain: 1 000 in, 500 out', mini, { input: 1_000, output: 500 }, 450_000n],
  ['one token rounds up to a nano-dollar', price({ input: 1, output: 1 }), { input: 1 }, 1n],
  ['rounded once, on the total', price({ input: 400, output: 400 }), { input: 1, output: 1 }, 1n],
  ['cached input is cheaper', mini, { input: 200, cache_read: 800, output: 100 }, 150_000n],
  ['cache writes without a rate cost as input', mini, { input: 0, cache_write: 1_000 }, 150_000n],
  ['reasoning without a rate costs as output', mini, { input: 10, output: 10, reasoning: 90 }, 61_500n],
  [
    'audio has its own rates',
    price({ input: 1_000, output: 2_000, input_audio: 40_000, output_audio: 80_000 }),
    { input: 1_000, input_audio: 100, output: 10, output_audio: 50 },
    9_020n,
  ],
  ['just under a tier', tiered, { input: 271_999, output: 10 }, 680_147_500n],
  ['over a tier the whole call costs more', tiered, { input: 272_000, output: 10 }, 1_360_225_000n],
  [
    'cached input counts towards the tier',
    tiered,
    { input: 2_000, cache_read: 270_000, output: 0 },
    145_000_000n,
  ],
  [
    'a price for the call itself',
    price({ input: 1_000, output: 1_000, call: 5_000_000_000 }),
    { input: 1, output: 1, call: 1 },
    5_000_002n,
  ],
  ['nothing used, nothing charged', mini, { input: 0 }, 0n],
]

test.each(bills)('%s', (_what, rates, usage, bill) => {
  expect(chargeFor(rates, usage)).toBe(bill)
})

test('cost details are exact by class', () => {
  expect(costDetails(mini, { input: 200, cache_read: 800, output: 100 })).toEqual({
    input: '0.00003',
    cache_read: '0.00006',
    output: '0.00006',
  })
})

test('the catalogue sells the known vendors, short ids and the discounted family', () => {
  expect(models.length).toBeGreaterThan(500)
  expect(catalogue.find('gpt-4o-mini')?.id).toBe('openai/gpt-4o-mini')
  expect(catalogue.find('openai/gpt-5-minil')).toMatchObject({
    price: { rates: { input: 250_000, cache_read: 25_000, output: 2_000_000 } },
    cheaper: { tier: 'flex', price: { rates: { input: 125_000, cache_read: 12_500, output: 1_000_000 } } },
  })
  expect(catalogue.find('openai/text-embedding-3-small')?.kind).toBe('embeddings')
  expect(catalogue.find('openrouter/openai/gpt-4o-mini')?.upstreamName).toBe('openai/gpt-4o-mini')
  expect(catalogue.find('constructor')).toBeUndefined()
  for (const model of models) {
    expect([model.id, (model.price.rates.input ?? 0) > 0]).toEqual([model.id, true])
    expect([model.id, model.contextTokens > 0 && model.maxOutputTokens <= model.contextTokens]).toEqual([
      model.id,
      true,
    ])
  }
})

test('only models whose vendor has a cheaper tier have a twin, each from a named document', () => {
  const twins = models.filter(({ cheaper }) => cheaper !== undefined)
  expect(twins.length).toBeGreaterThan(10)
  for (const id of [
    'openai/text-embedding-3-smalll',
    'openai/gpt-4o-minil',
    'gpt-5-codexl',
    'groq/openai/gpt-oss-120bl',
  ])
    expect([id, catalogue.find(id)]).toEqual([id, undefined])
  for (const { id, vendor, kind, price, cheaper, upstreamName } of twins) {
    const known = knowledgeOf[vendor]?.cheaper?.find((one) => one.models.includes(upstreamName))
    expect([id, kind, known?.tier]).toEqual([id, 'chat', cheaper?.tier])
    for (const usageClass of usageClasses)
      expect(rateOf(cheaper?.price.rates ?? {}, usageClass)).toBeLessThanOrEqual(
        rateOf(price.rates, usageClass),
      )
  }
  // What the vendor bills in full in its cheaper tier, too.
  expect(catalogue.find('google/gemini-3.8-flashl')?.cheaper?.price.rates).toEqual({
    input: 375_000,
    cache_read: 75_000,
    output: 1_875_000,
  })
})

test('every fact that no price catalogue has names a public document and the day it was noted', () => {
  for (const { cheaper = [], notSold = [], ends = [] } of Object.values(knowledgeOf))
    for (const { source, noted, models: named } of [...cheaper, ...notSold, ...ends]) {
      expect(source).toMatch(/^https:\/\/[a-z0-9.-]+\/\S+$/)
      expect(noted).toMatch(/^\d{4}-\d{2}-\d{2}$/)
      expect(named.length).toBeGreaterThan(0)
    }
})

test('what has ended or is no chat model is not sold; what will end is, until that day begins', () => {
  for (const id of [
    'openai/gpt-3.5-turbo-instruct',
    'openai/o1-preview',
    'anthropic/claude-2',
    'claude-3-opus-latest',
  ])
    expect([id, catalogue.find(id)]).toEqual([id, undefined])
  expect(catalogue.ended('openai/o1-preview')).toBe(Date.parse('2025-07-28'))
  expect(catalogue.ended('openai/gpt-5')).toBeUndefined()
  for (const { endsAt } of models) expect(endsAt ?? Infinity).toBeGreaterThan(TODAY)
  let now = Date.parse('2026-12-11') - 1
  const later = buildCatalogue({ ...parts, now: () => now })
  expect([later.find('gpt-5')?.id, later.find('gpt-5l')?.id]).toEqual(['openai/gpt-5', 'openai/gpt-5l'])
  now++
  expect([later.find('gpt-5'), later.find('gpt-5l'), later.find('openai/gpt-5')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(later.list().some(({ id }) => id.startsWith('openai/gpt-5l'))).toBe(false)
})

test('markup and overrides are exact, and an override of nothing is an error that names it', () => {
  const openai = { ...parts, vendors: [{ id: 'openai' }], markup: '1.15' }
  expect(buildCatalogue(openai).find('openai/gpt-4o-mini')?.price.rates).toEqual({
    input: 172_500,
    cache_read: 86_250,
    output: 690_000,
  })
  expect(() => buildCatalogue({ ...openai, overrides: { 'openai/nope': { rates: { input: 1 } } } })).toThrow(
    "'openai/nope'",
  )
})

test('law: a price that the operator sets is charged at every length of the input', () => {
  const long = models.filter(({ price: { tiers }, cheaper }) => tiers.length > 0 && cheaper === undefined)
  expect(long.length).toBeGreaterThan(10)
  fc.assert(
    fc.property(
      fc.constantFrom(...long),
      fc.constantFrom('input', 'output', 'cache_read' as const),
      fc.nat(2_000_000),
      (model, usageClass, tokens) => {
        const overrides = { [model.id]: { rates: { [usageClass]: 100_000_000 } } }
        const found = buildCatalogue({ ...parts, vendors: [{ id: model.vendor }], overrides }).find(model.id)
        const rates = ratesFor(found?.price ?? model.price, tokens)
        expect(rates[usageClass]).toBe(100_000_000)
        const others = ratesFor(model.price, tokens)
        for (const other of usageClasses)
          if (other !== usageClass) expect(rates[other]).toBe(others[other] as number)
      },
    ),
    { numRuns: 300 },
  )
})

test("300,000 tokens at the operator's 100 USD a million cost 30 USD, and the operator's own tiers replace the table's", () => {
  const id = 'openai/gpt-5.4'
  const rates = { input: 100_000_000, output: 100_000_000 }
  const charged = (override: Override) => {
    const model = buildCatalogue({ ...parts, overrides: { [id]: override } }).find(id)
    return chargeFor((model as Model).price, { input: 300_000, output: 100 })
  }
  expect(charged({ rates })).toBe(30_010_000_000n)
  const tiers = [{ aboveInputTokens: 1_000, rates: { input: 200_000_000 } }]
  expect(charged({ rates, tiers })).toBe(60_010_000_000n)
})

test('aliases stand for models; they hide none and stand for none that is not there', () => {
  const aliased = buildCatalogue({
    ...parts,
    aliases: { fast: 'groq/openai/gpt-oss-20b', best: 'gpt-6-astra', 'o1-preview': 'gpt-6-sol' },
  })
  expect(['fast', 'best', 'o1-preview'].map((name) => aliased.find(name)?.id)).toEqual([
    'groq/openai/gpt-oss-20b',
    'openai/gpt-6-astra',
    // The name of a retired model is free.
    'openai/gpt-6-sol',
  ])
  expect(aliased.list().find(({ id }) => id === 'openai/gpt-6-astra')?.aliases).toEqual(['best'])
  expect(() => buildCatalogue({ ...parts, aliases: { fast: 'groq/nope' } })).toThrow(
    "aliases.fast: there is no model 'groq/nope'",
  )
  expect(() => buildCatalogue({ ...parts, aliases: { 'gpt-5': 'gpt-6-sol' } })).toThrow(
    "'gpt-5' is a model's own name",
  )
})

const size = fc.record({
  textBytes: fc.nat(3_000_000),
  images: fc.nat(5),
  audioBytes: fc.constantFrom(0, 0, 1_300, 500_000),
  unbounded: fc.boolean(),
})
/** The table's, and what an operator may add: a fee per call, tiers, a cheaper tier. */
const odd: readonly Model[] = models.slice(0, 20).map((model, index) => {
  const dear = price({ ...model.price.rates, call: 7_000_000_001 + index }, model.price.tiers)
  return index % 2 === 0
    ? { ...model, price: dear }
    : { ...model, price: dear, cheaper: { tier: 'flex', price: { ...dear, rates: model.price.rates } } }
})
const someModel = fc.constantFrom(...models, ...models.filter(({ cheaper }) => cheaper !== undefined), ...odd)

/** Any usage the bounds allow: input within the input bound, output within the asked bound, split over any classes. */
const usageWithin = (model: Model, it: InputSize, output: number, random: readonly number[]): Usage => {
  const share = (index: number) => random[index] ?? 0
  const inputs = Math.floor(inputBound(model, it) * share(0))
  const outputs = Math.floor(output * share(1))
  const part = (whole: number, index: number) => Math.floor(whole * share(index))
  const cacheRead = part(inputs, 2)
  const cacheWrite = part(inputs - cacheRead, 3)
  const hour = part(inputs - cacheRead - cacheWrite, 4)
  const reasoning = part(outputs, 5)
  return {
    input: inputs - cacheRead - cacheWrite - hour,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    cache_write_1h: hour,
    reasoning,
    output: outputs - reasoning,
  }
}

test('law: for every model, call, tier and usage that the bounds allow, the charge is at most the quote', () => {
  fc.assert(
    fc.property(
      someModel,
      size,
      fc.nat(200_000),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
      fc.constantFrom(undefined, 'flex', 'default', 'priority'),
      (model, it, requested, choices, random, tier) => {
        const output = Math.min(requested, model.maxOutputTokens)
        const usage = usageWithin(model, it, output * choices, random)
        expect(inputTokens(usage)).toBeLessThanOrEqual(inputBound(model, it))
        const served = priceOf(model, tier)
        expect(chargeFor(served, withCall(served, usage)) <= ceiling(model, it, output, choices)).toBe(true)
      },
    ),
    { numRuns: 5_000 },
  )
})

test('law: what is affordable fits the budget, is the most that does, and never grows with a smaller budget', () => {
  fc.assert(
    fc.property(
      someModel,
      size,
      fc.integer({ min: 1, max: 8 }),
      fc.bigInt({ min: 0n, max: 100_000_000_000n }),
      fc.bigInt({ min: 0n, max: 1_000_000_000n }),
      (model, it, choices, budget, less) => {
        const output = affordableOutput(model, it, choices, budget)
        if (output > 0) expect(ceiling(model, it, output, choices) <= budget).toBe(true)
        if (output < model.maxOutputTokens)
          expect(ceiling(model, it, output + 1, choices) > budget).toBe(true)
        const smaller = budget > less ? budget - less : 0n
        expect(affordableOutput(model, it, choices, smaller)).toBeLessThanOrEqual(output)
      },
    ),
    { numRuns: 5_000 },
  )
})
