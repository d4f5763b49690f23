/** The looks at an unpaid checkout: soon at first, then seldom, and none once it cannot be paid any more. */
import { expect, test } from 'bun:test'
import { isOver, nextLookMs } from './looks.ts'

test('an unpaid checkout is looked at for a day and not for ever, and a paid one not again', () => {
  let [looks, atMs] = [0, 0]
  for (let pause = nextLookMs(looks, false); pause !== false; pause = nextLookMs(looks, false)) {
    expect([isOver(looks), pause]).toEqual([false, looks < 180 ? 1_000 : 30_000])
    looks++
    atMs += pause
  }
  expect([isOver(looks), atMs >= 86_400_000, looks < 3_200]).toEqual([true, true, true])
  expect(nextLookMs(1, true)).toBe(false)
})
