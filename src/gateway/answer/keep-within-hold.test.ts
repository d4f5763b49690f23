/** A stream that has used up its hold waits for a ledger that is away, and no pause of its process counts as waiting. */
import { expect, test } from 'bun:test'
import { testModel } from '../../../test/server/harness.ts'
import type { Extended } from '../../book/contract.ts'
import { type Covered, holdKeeper } from './keep-within-hold.ts'

/**
 * Asks for a stream that has used up its hold, after a pause in which all timers became due; each answer of the ledger
 * comes in some turns, and the last one again and again.
 */
const coversAfterPause = async (turns: number, ...answers: Extended[]): Promise<Covered> => {
  const gateway = {
    book: { rules: async () => ({}) },
    options: { ledgerPatienceMs: 30_000 },
    // Time has gone by: whoever sleeps is woken at once.
    clock: { monotonicMs: () => 0, sleep: () => Promise.resolve() },
  }
  const hold = {
    amount: () => 1_000_000n,
    checkpoint: () => undefined,
    extend: async () => {
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? 'refused'
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
  expect(await coversAfterPause(8, 'extended')).toBe('covered')
})

test('money that never comes is waited for no longer than told', async () => {
  expect(await coversAfterPause(1_000, 'extended')).toBe('away')
})

test('if there is none, the stream ends', async () => {
  expect(await coversAfterPause(1, 'refused')).toBe('spent')
})

test('a ledger that is away is asked again for as long as told, and what it says then counts', async () => {
  expect(await coversAfterPause(1, 'away', 'away', 'away', 'extended')).toBe('covered')
  expect(await coversAfterPause(1, 'away', 'away', 'refused')).toBe('spent')
  expect(await coversAfterPause(1, 'away')).toBe('away')
})
