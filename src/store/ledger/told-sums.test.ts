/** Sums that are only told: made again each time where they are cheap, once a second where they are not. */
import { expect, test } from 'bun:test'
import { FEW_LEASES, ToldSums } from './told-sums.ts'

const row = (name: string, sum: number, leases: number) => ({ name, sum, leases })

test('a sum over few leases is due each time, one over many is known for a while', () => {
  const told = new ToldSums()
  expect(told.due(['few', 'many', 'few'])).toEqual(['few', 'many'])
  const read = told.with([row('few', 5, FEW_LEASES), row('many', 7, FEW_LEASES + 1)])
  expect([read.get('few'), read.get('many')]).toEqual([5n, 7n])
  expect(told.due(['few', 'many'])).toEqual(['few'])
  const next = told.with([row('few', 6, FEW_LEASES)])
  expect([next.get('few'), next.get('many')]).toEqual([6n, 7n])
})
