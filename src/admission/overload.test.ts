/** Overload against a small model of a process: calls cost time, and what is not done in time is of no use. */
import { describe, expect, test } from 'bun:test'
import { newOverload } from './overload.ts'

const CAPACITY = 500
/** Callers give up after this. */
const PATIENCE_MS = 2_000
const TURN_MS = 50

/** Calls a second that end in time, of so many offered, over ten seconds after ten to settle. Refusing costs a 50th. */
const goodput = (offered: number, tooLateMs: number): number => {
  const overload = newOverload(tooLateMs)
  let seed = 7
  const chance = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  let backlogMs = 0
  let good = 0
  for (let now = 0; now < 20_000; now += TURN_MS) {
    const work = 1_000 / CAPACITY
    for (let calls = 0; calls < (offered * TURN_MS) / 1_000; calls++) {
      const away = overload.turnsAway(chance())
      if (!away && now >= 10_000 && backlogMs < PATIENCE_MS) good++
      backlogMs += away ? work / 50 : work
    }
    backlogMs = Math.max(0, backlogMs - TURN_MS)
    overload.note(TURN_MS, backlogMs)
  }
  return good / 10
}

describe('overload', () => {
  test('what a process can do is let in whole', () => {
    expect(goodput(CAPACITY * 0.8, 250)).toBe(CAPACITY * 0.8)
  })

  test.each([1.2, 2, 3, 5])('at %f times what it can do, nine tenths of that still end well', (times) => {
    expect(goodput(CAPACITY * times, 250)).toBeGreaterThan(CAPACITY * 0.9)
  })

  test('without it next to nothing would', () => {
    expect(goodput(CAPACITY * 3, 0)).toBeLessThan(CAPACITY * 0.1)
  })

  test('a burst turns nobody away, and after an overload all are let in again', () => {
    const overload = newOverload(250)
    for (let step = 0; step < 19; step++) overload.note(50, 900)
    expect(overload.turnsAway(0.999_999)).toBe(false)
    for (let step = 0; step < 200; step++) overload.note(50, 900)
    expect(overload.turnsAway(0.5)).toBe(true)
    expect(overload.turnsAway(0.01)).toBe(false)
    for (let step = 0; step < 100; step++) overload.note(50, 0)
    expect(overload.turnsAway(0.999_999)).toBe(false)
  })
})
