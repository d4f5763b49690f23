/** Ids are short, grow with time, and stand among UUIDs of their time. */
import { expect, test } from 'bun:test'
import { leastId, timeOf } from '../store/months/call-ids.ts'
import { newId, newIdOf } from './time.ts'

test('an id has 25 letters and says when it was made', () => {
  const before = Date.now()
  const id = newId()
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}[0-9a-z]{12}$/)
  expect(timeOf(id)).toBeGreaterThanOrEqual(before)
  expect(timeOf(id)).toBeLessThanOrEqual(Date.now())
  expect(newIdOf('key')).toMatch(/^key_[0-9a-f]{12}[0-9a-z]{12}$/)
})

test('no two of 20,000 are the same; they grow, and each has a place between the milliseconds around it', () => {
  const ids = Array.from({ length: 20_000 }, newId)
  expect(new Set(ids).size).toBe(ids.length)
  const letters = new Set(ids.flatMap((id) => [...id.slice(-9)]))
  expect(letters.size).toBe(32)
  expect(ids.toSorted()).toEqual(ids)
  // As SQLite and PostgreSQL's collations "C" and of a language put them.
  const orders = [(a: string, b: string) => (a < b ? -1 : 1), new Intl.Collator('en').compare]
  for (const id of ids.slice(0, 2_000))
    for (const order of orders) {
      expect(order(leastId(timeOf(id) - 1), id)).toBe(-1)
      expect(order(id, leastId(timeOf(id) + 1))).toBe(-1)
    }
})

test('an id and a UUID of version 7 sort by the time that they were made', async () => {
  const made: string[] = []
  for (let turn = 0; turn < 20; turn++) {
    made.push(turn % 2 === 0 ? newId() : Bun.randomUUIDv7())
    await Bun.sleep(2)
  }
  expect(made.toSorted()).toEqual(made)
})
