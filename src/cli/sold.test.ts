/** What is sold, beside what the catalogue's own tests show: equals that cost the operator more than they bring. */
import { expect, test } from 'bun:test'
import type { Model, Price } from '../core/model.ts'
import { dearerEquals, endingModels } from './sold.ts'

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
const found = (asked: string, ...equals: readonly string[]) =>
  dearerEquals({ catalogue, failover: new Map([[asked, equals]]) })

test('equals whose price is above in any class, at any length, are named', () => {
  const [asked = '', ...equals] = Object.keys(prices)
  expect(found(asked, ...equals)).toEqual([
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
    failover: { 'a/later': ['a/gone', 'a/soon'] },
    aliases: { fast: 'a/soon', old: 'a/other' },
  }
  expect(endingModels(config, dated, now)).toEqual(['a/gone on 2026-11-01', 'a/soon on 2026-12-11'])
})
