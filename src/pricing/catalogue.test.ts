/** The catalogue: what is sold under which names, at whose prices, and until when. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { knowledgeOf } from '../../scripts/catalogue-knowledge.ts'
import type { Model } from '../core/model.ts'
import { usageClasses } from '../core/usage.ts'
import { vendors } from '../vendors/index.ts'
import { buildCatalogue, inTier, type Override } from './catalogue.ts'
import { chargeFor, dearerThan, rateOf, ratesFor } from './charge.ts'

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

test('law: no tier that a model is asked in costs more than its listed price, in any class at any length', () => {
  const twins = models.filter(({ cheaper }) => cheaper !== undefined)
  expect(twins.length).toBeGreaterThan(20)
  for (const { id, cheaper, price } of twins)
    expect([id, cheaper !== undefined && dearerThan(cheaper.price, price)]).toEqual([id, false])
})

test('law: a tier chooses the discounted model where there is one, and no other', () => {
  for (const model of models) {
    const sold = inTier(catalogue, model, 'flex')
    const twin = model.cheaper === undefined ? catalogue.find(`${model.id}l`) : model
    expect(sold).toBe(twin?.cheaper?.tier === 'flex' ? twin : undefined)
    if (sold !== undefined)
      expect([sold.upstreamName, sold.vendor]).toEqual([model.upstreamName, model.vendor])
    expect(inTier(catalogue, model, 'priority')).toBeUndefined()
  }
})
