/** Prices of models in vendors' batches. */
import { expect, test } from 'bun:test'
import type { Model } from '../core/model.ts'
import { inBatches } from './batch-price.ts'

const model = (): Model => ({
  id: 'v/m',
  vendor: 'v',
  upstreamName: 'm',
  kind: 'chat',
  price: {
    rates: { input: 3_000_001, cache_read: 300_000, output: 15_000_000, web_search: 10_000_000 },
    tiers: [{ aboveInputTokens: 100, rates: { input: 6_000_000, cache_read: 600_000 } }],
    version: 'p1',
  },
  contextTokens: 1_000,
  maxOutputTokens: 100,
  capabilities: [],
  imageTokensMax: 0,
})

test('tokens cost half, rounded up, in every tier; what is not counted in tokens costs what it did', () => {
  expect(inBatches(model(), 'half').price).toEqual({
    rates: { input: 1_500_001, cache_read: 150_000, output: 7_500_000, web_search: 10_000_000 },
    tiers: [{ aboveInputTokens: 100, rates: { input: 3_000_000, cache_read: 300_000 } }],
    version: 'p1:batch',
  })
})

test('cached input costs what its vendor says: as outside of batches, or as other input of the batch, or half of that', () => {
  const whole = inBatches(model(), 'whole').price
  expect([whole.rates.cache_read, whole.tiers[0]?.rates.cache_read]).toEqual([300_000, 600_000])
  const asInput = inBatches(model(), 'as input').price
  expect([asInput.rates.cache_read, asInput.tiers[0]?.rates.cache_read]).toEqual([undefined, undefined])
  const halfOfInput = inBatches(model(), 'half of input').price
  expect([halfOfInput.rates.cache_read, halfOfInput.tiers[0]?.rates.cache_read]).toEqual([750_001, 1_500_000])
})

test('a model has one price in batches, however often it is asked for', () => {
  const one = model()
  expect(inBatches(one, 'half')).toBe(inBatches(one, 'half'))
})
