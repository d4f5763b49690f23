/** Sums of invoices: lines add up to the total, nothing is off by a unit, and the total is the exact sum rounded once. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { seed } from '../../test/seed.ts'
import { billSums, inDecimals, inUnits, placesOf } from './bill-sums.ts'

const cents = (text: string): bigint => BigInt(text.replace('.', ''))
const sum = (all: readonly bigint[]) => all.reduce((one, more) => one + more, 0n)

test(`lines add up to the total, SEED=${seed}`, () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt(-(10n ** 15n), 10n ** 17n), { maxLength: 60 }),
      fc.bigInt(1n, 20_000n * 10n ** 9n),
      fc.constantFrom(0, 2, 3),
      fc.array(fc.record({ name: fc.constant('tax'), percent: fc.integer({ min: 0, max: 100_000 }) }), {
        maxLength: 3,
      }),
      (amounts, rate, places, thousandths) => {
        const taxes = thousandths.map(({ name, percent }) => ({ name, percent: percent / 1_000 }))
        const { lines, net, taxes: taxed, total } = billSums(amounts, { rate, places, taxes })
        const unit = 10n ** BigInt(18 - places)
        const exact = sum(amounts) * rate
        expect(sum(lines.map(cents))).toBe(cents(net))
        expect(cents(net) + sum(taxed.map(({ amount }) => cents(amount)))).toBe(cents(total))
        // Rounded once, a half up: at most half a unit away.
        const off = 2n * (cents(net) * unit - exact)
        expect(off > -unit && off <= unit).toBe(true)
        for (const [at, line] of lines.entries()) {
          const lost = cents(line) * unit - (amounts[at] ?? 0n) * rate
          expect(lost > -unit && lost < unit).toBe(true)
        }
        for (const [at, { amount }] of taxed.entries()) {
          const wrong = 2n * (cents(amount) * 100_000n - cents(net) * BigInt(thousandths[at]?.percent ?? 0))
          expect(wrong > -100_000n && wrong <= 100_000n).toBe(true)
        }
      },
    ),
    { seed },
  )
})

test.each([
  [[333n, 333n, 334n], 100n, [3n, 3n, 4n]],
  [[50n], 100n, [1n]],
  [[49n], 100n, [0n]],
  [[-149n, 10n], 100n, [-1n, 0n]],
  [[10n, 10n, 10n, 10n, 10n], 100n, [1n, 0n, 0n, 0n, 0n]],
  [[], 100n, []],
])('%p in units of %p is %p', (exact, unit, parts) => {
  expect(inUnits(exact, unit)).toEqual(parts)
})

test('amounts have the decimals of their currency', () => {
  expect(['USD', 'EUR', 'JPY', 'KWD'].map(placesOf)).toEqual([2, 2, 0, 3])
  expect([inDecimals(5n, 2), inDecimals(-1_230n, 2), inDecimals(7n, 0), inDecimals(0n, 3)]).toEqual([
    '0.05',
    '-12.30',
    '7',
    '0.000',
  ])
})
