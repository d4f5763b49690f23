/** Laws of a played day: loads are neither made nor lost by placing them, and room never places worse than chance by much. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { seed } from '../../test/seed.ts'
import { planDay } from './plan-day.ts'

const day = {
  cells: 16,
  organisations: 20_000,
  calls: 750_000,
  capacity: 64_000,
  rows: 5_000,
  days: 30,
  seed: 1,
}

test(`a day is the same for the same seed, and its figures agree, SEED=${seed}`, () => {
  fc.assert(
    fc.property(
      fc.record({
        cells: fc.integer({ min: 1, max: 32 }),
        organisations: fc.integer({ min: 1, max: 3_000 }),
        calls: fc.integer({ min: 1, max: 1_000_000 }),
        capacity: fc.integer({ min: 1, max: 1_000_000 }),
        rows: fc.integer({ min: 1, max: 100_000 }),
        days: fc.integer({ min: 1, max: 400 }),
        seed: fc.integer({ min: 1, max: 1_000_000 }),
      }),
      (it) => {
        const played = planDay(it)
        expect(planDay(it)).toEqual(played)
        expect(played.largest).toBeLessThanOrEqual(it.capacity)
        expect(played.tooLarge).toBeLessThanOrEqual(it.organisations)
        for (const { ofMean, toMove, moves } of played.placements) {
          // The busiest of one cell is the mean; of several it is between the mean and all.
          expect(ofMean).toBeGreaterThan(1 - 1e-9)
          expect(ofMean).toBeLessThan(it.cells + 1e-9)
          expect(toMove > 0 || moves === 0).toBe(true)
        }
      },
    ),
    { seed, numRuns: 60 },
  )
})

test('twice the rows a second let twice as large an organisation move, and a cell give away twice as much', () => {
  const [slow, fast] = [planDay(day), planDay({ ...day, rows: 2 * day.rows })]
  expect(fast.largestMoved).toBeCloseTo(2 * slow.largestMoved)
  expect(fast.givenInADay).toBeCloseTo(2 * slow.givenInADay)
  expect(fast.tooLarge).toBeLessThan(slow.tooLarge)
})

test('where there is room is better than by chance', () => {
  const [byHash, byRoom] = planDay(day).placements
  expect(byRoom?.ofMean).toBeLessThan(byHash?.ofMean ?? 0)
})
