/** The count of callers without a key: by name and minute, and bounded in memory whatever comes. */
import { expect, test } from 'bun:test'
import { newGuestRates } from './guest-rates.ts'

test('a minute begins with the first request of an address, and gives each its own count', () => {
  const rates = newGuestRates()
  const admitted = (name: string, now: number) => rates.take(name, 2, now).admitted
  expect([admitted('a', 0), admitted('a', 10), admitted('a', 20)]).toEqual([true, true, false])
  expect(rates.take('a', 2, 59_000)).toEqual({ admitted: false, remaining: 0, leftMs: 1_000 })
  expect(admitted('b', 20)).toBe(true)
  expect(admitted('a', 60_000)).toBe(true)
})

test('what is given back may be used again, and no more than that', () => {
  const rates = newGuestRates()
  const admitted = () => rates.take('a', 1, 0).admitted
  expect([admitted(), admitted()]).toEqual([true, false])
  rates.giveBack('a')
  rates.giveBack('a')
  rates.giveBack('unknown')
  expect([admitted(), admitted()]).toEqual([true, false])
})

test('at most so many addresses are remembered: the oldest makes room, and those whose minute is over first', () => {
  const rates = newGuestRates(3)
  const admitted = (name: string, now: number) => rates.take(name, 1, now).admitted
  for (const name of ['a', 'b', 'c', 'd']) expect(admitted(name, 0)).toBe(true)
  expect(['b', 'c', 'd'].map((name) => admitted(name, 1))).toEqual([false, false, false])
  expect(admitted('a', 2)).toBe(true)
  expect(admitted('c', 3)).toBe(false)
  // All minutes are over, so a new name displaces nobody's count.
  expect(admitted('e', 60_000)).toBe(true)
  expect(admitted('a', 60_001)).toBe(false)
})
