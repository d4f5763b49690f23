/** Lines of a way wait until there are enough of it; those that stay too few are run here, at the price of that. */
import { expect, test } from 'bun:test'
import { enoughLines } from './enough-lines.ts'

const line = (n: number, route: string) => ({ n, customId: `${n}`, at: n, bytes: 1, bound: 5n, route })
const few = { least: 3, bound: () => 10n }
const told = (lines: readonly { n: number; route: string; bound: bigint }[]) =>
  lines.map(({ n, route, bound }) => [n, route, bound])

test('enough of one way go on together, and each later one at once; others are run here', () => {
  const { add, rest } = enoughLines(true)
  expect(add(line(1, 'a'), few)).toEqual([])
  expect(told(add(line(2, ''), undefined))).toEqual([[2, '', 5n]])
  expect(add(line(3, 'b'), few)).toEqual([])
  expect(add(line(4, 'a'), few)).toEqual([])
  expect(told(add(line(5, 'a'), few))).toEqual([1, 4, 5].map((n) => [n, 'a', 5n]))
  expect(told(add(line(6, 'a'), few))).toEqual([[6, 'a', 5n]])
  expect(told(rest())).toEqual([[3, '', 10n]])
})

test('where none are handed on, each is run here', () => {
  const { add, rest } = enoughLines(false)
  for (const n of [1, 2, 3, 4]) expect(told(add(line(n, 'a'), few))).toEqual([[n, '', 10n]])
  expect(rest()).toEqual([])
})
