/** What is remembered for the case that the ledger goes back is bounded by time, number and letters. */
import { expect, test } from 'bun:test'
import { Lately } from './lately.ts'

test('what was acknowledged is remembered for a minute, and within bounds of number and letters', () => {
  const names = (lately: Lately<number>) => lately.all(200_000).map(({ value }) => value)
  const lately = new Lately<number>()
  for (let at = 0; at < 200; at++) lately.add(at, at * 1_000)
  expect(lately.all(199_000).map(({ value }) => value)).toEqual(
    Array.from({ length: 61 }, (_, at) => 139 + at),
  )
  expect(lately.all(259_000).map(({ value }) => value)).toEqual([199])
  for (let at = 0; at < Lately.MOST + 5; at++) lately.add(at, 200_000)
  expect([names(lately).length, names(lately)[0]]).toEqual([Lately.MOST, 5])
  lately.add(-1, 200_000, Lately.LETTERS_MOST - 1)
  expect(names(lately).length).toBe(Lately.MOST)
  lately.add(-2, 200_000, 2)
  expect(names(lately)).toEqual([-2])
})
