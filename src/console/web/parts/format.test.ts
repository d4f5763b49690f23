/** Prices are shown to their last digit, amounts short, and one thing is not called several. */
import { expect, test } from 'bun:test'
import { counted, priceUsd, shortUsd } from './format.ts'

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
