/** A reseller's prices: rounded up by less than a nano-dollar, and each month at the margin set for it. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { billedFor, marginIn } from './margin.ts'

test('what is billed is our price and the margin, rounded up by less than a nano-dollar', () => {
  fc.assert(
    fc.property(
      fc.bigInt(-(10n ** 15n), 10n ** 15n),
      fc.integer({ min: 0, max: 100_000 }),
      (cost, points) => {
        const exact = cost * (10_000n + BigInt(points))
        const over = billedFor(cost, points) * 10_000n - exact
        expect(over >= 0n && over < 10_000n).toBe(true)
      },
    ),
  )
  expect(billedFor(123n, 0)).toBe(123n)
  expect(billedFor(1n, 1)).toBe(2n)
})

test('a price counts from its month on, a tenant’s own before that of all, and null gives it back', () => {
  const margins = [
    { fromMonth: '2026-03', basisPoints: 1_000 },
    { fromMonth: '2026-05', basisPoints: 2_000 },
    { tenantId: 'a', fromMonth: '2026-04', basisPoints: 500 },
    { tenantId: 'a', fromMonth: '2026-06' },
  ]
  const of = (month: string, tenantId?: string) => {
    const { basisPoints, own } = marginIn(margins, month, tenantId)
    return [basisPoints, own]
  }
  expect(of('2026-02', 'a')).toEqual([0, false])
  expect(of('2026-03', 'a')).toEqual([1_000, false])
  expect(of('2026-05', 'a')).toEqual([500, true])
  expect(of('2026-05', 'b')).toEqual([2_000, false])
  expect(of('2026-07', 'a')).toEqual([2_000, false])
  expect(of('2026-07')).toEqual([2_000, false])
})
