/** A stream that has used up its hold waits for more money, and no pause of its process counts as waiting. */
import { expect, test } from 'bun:test'
import { testModel } from '../../test/server/harness.ts'
import { holdKeeper } from './keep-within-hold.ts'

/** Asks for a stream that has used up its hold, after a pause in which all timers became due; more comes in some turns. */
const coversAfterPause = async (turns: number, grants: boolean): Promise<boolean> => {
  const gateway = {
    book: { rules: async () => ({}) },
    // Time has gone by: whoever sleeps is woken at once.
    clock: { monotonicMs: () => 0, sleep: () => Promise.resolve() },
  }
  const hold = {
    amount: () => 1_000_000n,
    checkpoint: () => undefined,
    extend: async () => {
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      return grants
    },
  }
  const model = testModel('small')
  const task = {
    key: { walletId: 'w' },
    call: {
      choices: 1,
      body: { bytes: new Uint8Array() },
      size: { textBytes: 10, images: 0, audioBytes: 0 },
    },
    model,
    hold,
    fullOutput: 1_000,
    heldOutput: 10,
  }
  return holdKeeper(gateway as never, task as never).covers({ letters: 400, contentEvents: 20 } as never)
}

test('a pause of the process is no wait: the money that came meanwhile counts', async () => {
  expect(await coversAfterPause(8, true)).toBe(true)
})

test('money that never comes is waited for no longer than told', async () => {
  expect(await coversAfterPause(1_000, true)).toBe(false)
})

test('if there is none, the stream ends', async () => {
  expect(await coversAfterPause(1, false)).toBe(false)
})
