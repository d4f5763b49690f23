/** A span of days is the months that cover it, plus some days and minus others. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DAY_MS, monthOf, nextMonthStart } from '../../core/time.ts'
import { coverOf, type Span } from './month-cover.ts'

const daysOf = ({ from, to }: Span): readonly number[] =>
  Array.from({ length: Math.max(0, (to - from) / DAY_MS) }, (_, at) => from + at * DAY_MS)

const day = fc.integer({ min: 19_900, max: 20_800 }).map((number) => number * DAY_MS)

test('every day of the span counts once and no other day does', () => {
  fc.assert(
    fc.property(day, day, (from, to) => {
      const { months, plus, minus } = coverOf({ from, to })
      const counted = new Map<number, number>()
      const count = (span: Span, by: number) => {
        for (const one of daysOf(span)) counted.set(one, (counted.get(one) ?? 0) + by)
      }
      count(months, 1)
      for (const span of plus) count(span, 1)
      for (const span of minus) count(span, -1)
      const present = [...counted].filter(([, times]) => times !== 0).sort(([a], [b]) => a - b)
      expect(present).toEqual(daysOf({ from, to }).map((one) => [one, 1]))
    }),
  )
})

test('months are whole, and of no month more than sixteen days are read', () => {
  fc.assert(
    fc.property(day, day, (from, to) => {
      const { months, plus, minus } = coverOf({ from, to })
      if (months.from < months.to)
        for (const end of [months.from, months.to]) expect(nextMonthStart(end - 1)).toBe(end)
      const read = new Map<string, number>()
      for (const span of [...plus, ...minus]) {
        expect(monthOf(span.from)).toBe(monthOf(span.to - 1))
        const month = monthOf(span.from)
        read.set(month, (read.get(month) ?? 0) + daysOf(span).length)
      }
      for (const days of read.values()) expect(days).toBeLessThanOrEqual(16)
    }),
  )
})
