/**
 * Virtual time for one book or a few: sleepers wake in order, and everything that is ready runs before time goes on.
 */
import type { Clock } from '../src/core/time.ts'

const STEP_MS = 10

export const virtualTime = (start: number) => {
  let time = 0
  let sleepers: { readonly at: number; readonly wake: () => void }[] = []
  const settle = async () => {
    for (let turns = 0; turns < 300; turns++) await Promise.resolve()
  }
  const clock: Clock = {
    now: () => start + time,
    monotonicMs: () => time,
    sleep: (ms) =>
      new Promise<void>((wake) => {
        sleepers.push({ at: time + ms, wake })
      }),
    turn: () => Promise.resolve(),
  }
  return {
    now: () => time,
    clock,
    pass: async (ms: number) => {
      for (const until = time + ms; time < until; time += STEP_MS) {
        const due = sleepers.filter(({ at }) => at <= time)
        sleepers = sleepers.filter(({ at }) => at > time)
        for (const { wake } of due) wake()
        await settle()
      }
    },
  }
}
