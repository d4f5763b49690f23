/** Prices are shown to their last digit, amounts short. */
import { expect, test } from 'bun:test'
import { priceUsd, shortUsd } from './format.ts'

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
