/** Prices are shown to their last digit, amounts short; what is typed is sent as it is, or not at all; a count brings its word. */
import { expect, test } from 'bun:test'
import { counted, priceUsd, shortUsd, typedUsd } from './format.ts'

test('a price is shown whole, where an amount ends at the cent', () => {
  expect(['2.875000000000', '0.0115', '11.5', '1250', '0.000000000001', '0'].map(priceUsd)).toEqual([
    '$2.875',
    '$0.0115',
    '$11.50',
    '$1,250.00',
    '$0.000000000001',
    '$0.00',
  ])
  expect(shortUsd('2.875')).toBe('$2.87')
})

test('an amount that no number can say is none', () => {
  for (const [text, sent] of [
    ['', ''],
    ['$ 25', 'null'],
    ['$25', '25'],
    ['007.50', '7.5'],
    ['0', '0'],
    ['100', '100'],
    ['0.000000001', '1e-9'],
    ['20000000.10', '20000000.1'],
    ['999999999.999999', '999999999.999999'],
    ['999999999.123456789', 'null'],
    ['999999999.999999999', 'null'],
    ['1000000000', 'null'],
    ['1.', 'null'],
    ['1e3', 'null'],
  ] as const)
    expect([text, JSON.stringify(typedUsd(text)) ?? '']).toEqual([text, sent])
})

test('one has a word of its own', () => {
  expect([0, 1, 2, 1_234].map((count) => counted(count, 'day'))).toEqual([
    '0 days',
    '1 day',
    '2 days',
    '1,234 days',
  ])
  expect([1, 2].map((count) => counted(count, 'tenant owes', 'tenants owe'))).toEqual([
    '1 tenant owes',
    '2 tenants owe',
  ])
})
