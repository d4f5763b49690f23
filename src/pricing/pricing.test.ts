/** Prices: hand-computed bills, and the law that no charge exceeds its quote. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { InputSize } from '../core/call.ts'
import type { Model, Price } from '../core/model.ts'
import { inputTokens, type Usage } from '../core/usage.ts'
import { vendors } from '../vendors/index.ts'
import { buildCatalogue } from './catalogue.ts'
import { chargeFor, costDetails, costOf, priceOf, withCall } from './charge.ts'
import { affordableOutput, ceiling, inputBound } from './quote.ts'

const models = buildCatalogue({
  vendors: vendors.map(({ id, hostedRatesOf }) => ({
    id,
    ...(hostedRatesOf === undefined ? {} : { hostedRatesOf }),
  })),
  extra: [],
  overrides: {},
  markup: '1',
  discount: '0.5',
  now: () => Date.parse('2026-11-21'),
}).list()
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

const saved = (...of: Parameters<typeof costOf>) => costOf(...of).cacheSaved

test('what a cache saved is what its tokens would have cost beside it, at the same length of input', () => {
  const dear = price({
    input: 1_000_000,
    cache_read: 100_000,
    cache_write: 1_250_000,
    cache_write_1h: 2_000_000,
  })
  expect(saved(dear, { input: 5, cache_read: 1_000 })).toBe(900_000n)
  expect(saved(dear, { cache_write: 1_000, cache_write_1h: 10 })).toBe(-260_000n)
  expect(saved(dear, { cache_read: 1_000, cache_write: 3_600 })).toBe(0n)
  // Cached tokens count towards a tier, and would without the cache.
  expect(saved(tiered, { input: 2_000, cache_read: 270_000 })).toBe(270_000n * 4_500n)
  const sound = price({ input: 1_000, input_audio: 40_000, cache_read_audio: 10_000 })
  expect(saved(sound, { cache_read_audio: 1_000 })).toBe(30_000n)
})

const plainSize = fc.record({
  textBytes: fc.nat(3_000_000),
  images: fc.nat(5),
  audioBytes: fc.constantFrom(0, 0, 1_300, 500_000),
  unbounded: fc.boolean(),
})
const size: fc.Arbitrary<InputSize> = fc.oneof(
  { weight: 3, arbitrary: plainSize },
  {
    weight: 1,
    arbitrary: fc
      .record({ rounds: fc.integer({ min: 2, max: 12 }), searches: fc.nat(20) })
      .map((hosted) => ({ textBytes: 9, images: 0, audioBytes: 0, unbounded: true, hosted })),
  },
)
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
    web_search: part(it.hosted?.searches ?? 0, 2),
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

/** The least sizes of a call whose input may reach each tier of the model, and one below them. */
const sizesOf = ({ price: { tiers }, contextTokens }: Model): readonly InputSize[] =>
  [0, ...tiers.map(({ aboveInputTokens }) => Math.min(aboveInputTokens, contextTokens))].flatMap(
    (textBytes) => [0, 500_000].map((audioBytes) => ({ textBytes, images: 1, audioBytes })),
  )

const textIn = ['input', 'cache_read', 'cache_write', 'cache_write_1h', 'input_image'] as const
const soundIn = [...textIn, 'input_audio', 'cache_read_audio'] as const
const textOut = ['output', 'reasoning'] as const
const soundOut = [...textOut, 'output_audio', 'output_image'] as const

/** Tiers that vendors name, and one of which nobody has heard. */
const namedTiers = [undefined, 'flex', 'default', 'standard', 'on_demand', 'priority', 'scale', 'ultrafast']

test('law: every model in every tier, each class of usage at its bound: the charge is at most the quote', () => {
  const above: string[] = []
  for (const model of [...models, ...odd])
    for (const it of sizesOf(model)) {
      const [tokens, output] = [inputBound(model, it), model.maxOutputTokens]
      const quote = ceiling(model, it, output, 1)
      for (const into of it.audioBytes > 0 ? soundIn : textIn)
        for (const out of model.capabilities.includes('audio') ? soundOut : textOut)
          for (const served of new Set(namedTiers.map((tier) => priceOf(model, tier)))) {
            const usage = withCall(served, { [into]: tokens, [out]: output })
            if (chargeFor(served, usage) > quote) above.push(`${model.id}: ${into}, ${out}`)
          }
    }
  expect(above).toEqual([])
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
