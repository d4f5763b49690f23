/** Money as answers and commands write it: exact to the last nano-dollar, however large. */
import { expect, test } from 'bun:test'
import { decimalFromNano, exactNumber, nanoFromNumber, usdNumber } from './money.ts'

test.each([
  [0n, '0'],
  [1n, '0.000000001'],
  [250_000_000n, '0.25'],
  [-1_500_000_000n, '-1.5'],
  [123_456_123_456_789n, '123456.123456789'],
  [9_007_199_254_740_993n, '9007199.254740993'],
  [9_999_999_999_999_999n, '9999999.999999999'],
  [-9_007_199_254_740_993n, '-9007199.254740993'],
  [3_999_999_999_999_999_999n, '3999999999.999999999'],
  [4_000_000_000_000_000_000n, '4000000000'],
])('%p nano-dollars are the JSON number %s', (amount, text) => {
  expect(JSON.stringify({ usd: usdNumber(amount) })).toBe(`{"usd":${text}}`)
})

test.each([
  ['20000000.1', 20_000_000_100_000_000n],
  ['999999999.99', 999_999_999_990_000_000n],
  ['8388608.000003', 8_388_608_000_003_000n],
  ['0.30000000000000004', 300_000_000n],
  ['1.5e-7', 150n],
  ['1e-10', undefined],
  ['-0', 0n],
  ['1000000000', 10n ** 18n],
  ['1000000000.1', undefined],
])('the JSON number %s is %p nano-dollars', (text, amount) => {
  expect(nanoFromNumber(JSON.parse(text))).toBe(amount)
})

test('every decimal text is its own JSON number', () => {
  for (let amount = 1n; amount < 4_000_000_000_000_000_000n; amount = amount * 7n + 3n)
    for (const text of [decimalFromNano(amount), decimalFromNano(-amount)])
      expect(JSON.stringify(exactNumber(text))).toBe(text)
})
