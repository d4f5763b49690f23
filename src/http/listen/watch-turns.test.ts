/** How late a process is, measured by the turns of a loop in virtual time. */
import { expect, test } from 'bun:test'
import { newOverload } from '../../admission/overload.ts'
import { watchTurns } from './listen.ts'

/**
 * A loop with turns of these lengths and one request at the start of each; returns how late each note says the loop is.
 */
const loopOf = (turnsMs: readonly number[], queuedMs = 0) => {
  let nowMs = 0
  let wake: (() => void)[] = []
  const clock = {
    monotonicMs: () => nowMs,
    turn: () => new Promise<void>((resolve) => wake.push(resolve)),
  }
  const notes: { elapsedMs: number; lateness: number }[] = []
  const overload = newOverload()
  for (let call = 0; call < 1_000; call++) overload.enter('one')
  const came = watchTurns({
    clock,
    overloadMs: 25,
    queuedMs: () => queuedMs,
    overload: {
      note: (elapsedMs, lateness) => {
        notes.push({ elapsedMs, lateness })
        overload.note(elapsedMs, lateness)
      },
    },
  })
  const run = async () => {
    for (const ms of turnsMs) {
      came(nowMs)
      nowMs += ms
      const ready = wake
      wake = []
      for (const one of ready) one()
      for (let step = 0; step < 10; step++) await Promise.resolve()
    }
    return { notes, overload }
  }
  return run()
}

test('of short turns some are noted', async () => {
  const { notes, overload } = await loopOf(Array<number>(1_000).fill(1))
  expect(notes.length).toBeGreaterThan(50)
  expect(notes.length).toBeLessThan(120)
  expect(Math.max(...notes.map(({ lateness }) => lateness))).toBe(1 / 25)
  expect(overload.limits()).toBe(false)
})

test('each long turn is noted, so that six of them show an overload', async () => {
  const { notes, overload } = await loopOf(Array<number>(6).fill(400))
  expect(notes.map(({ lateness }) => lateness)).toEqual([16, 16, 16, 16])
  expect(notes.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0)).toBe(2_400)
  expect(overload.limits()).toBe(true)
})

test('writes that wait for the ledger are late too', async () => {
  const { notes } = await loopOf([20, 1, 1, 20, 1, 1], 400)
  expect(notes.map(({ lateness }) => lateness)).toEqual([2, 2])
})
