/** Patience with readers: a stream ends when its reader takes nothing for the whole time, and no other stream does. */
import { expect, test } from 'bun:test'
import type { Clock } from '../../core/time.ts'
import { newPace, newPatience } from './patience.ts'

/** Time that passes on demand; sleepers wake as it passes. */
const handClock = () => {
  let now = 0
  let sleepers: { readonly at: number; readonly wake: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    monotonicMs: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: now + ms, wake })),
    turn: () => Promise.resolve(),
  }
  const pass = async (ms: number): Promise<void> => {
    for (const end = now + ms; now < end; ) {
      now++
      const due = sleepers.filter(({ at }) => at <= now)
      sleepers = sleepers.filter(({ at }) => at > now)
      for (const { wake } of due) wake()
      // The sleeper that woke looks, and sleeps again.
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    }
  }
  return { clock, pass, sleeping: () => sleepers.length }
}

const LONGEST = 400
const watched = () => {
  const hand = handClock()
  const patience = newPatience(hand.clock, LONGEST)
  const pace = newPace()
  let stops = 0
  patience.watch(pace, () => {
    stops++
  })
  return { ...hand, patience, pace, stops: () => stops }
}

test('a reader that takes nothing of what is offered is ended once, not before its time', async () => {
  const { pass, pace, stops, sleeping } = watched()
  pace.offered = true
  await pass(LONGEST - 1)
  expect(stops()).toBe(0)
  await pass(LONGEST)
  expect(stops()).toBe(1)
  await pass(5 * LONGEST)
  expect(stops()).toBe(1)
  expect(sleeping()).toBe(0)
})

test('one that takes a piece now and then is not ended, however slow', async () => {
  const { pass, pace, stops } = watched()
  pace.offered = true
  for (let piece = 0; piece < 10; piece++) {
    await pass(LONGEST - 150)
    pace.taken++
  }
  expect(stops()).toBe(0)
})

test('nobody is ended while it is the vendor that is slow', async () => {
  const { pass, pace, stops } = watched()
  await pass(10 * LONGEST)
  expect(stops()).toBe(0)
  pace.offered = true
  await pass(2 * LONGEST)
  expect(stops()).toBe(1)
})

test('a stream that is over is forgotten, and the next one is watched again', async () => {
  const { pass, pace, patience, stops, sleeping } = watched()
  pace.offered = true
  patience.end(pace)
  await pass(2 * LONGEST)
  expect([stops(), sleeping()]).toEqual([0, 0])
  const next = newPace()
  next.offered = true
  let ended = false
  patience.watch(next, () => {
    ended = true
  })
  await pass(2 * LONGEST)
  expect(ended).toBe(true)
})

test('what a stream holds is let go when it is over, and not at the next look', async () => {
  const { patience } = watched()
  const kept: WeakRef<object>[] = []
  const pass = () => {
    const [pace, held] = [newPace(), { bytes: new Uint8Array(1_000) }]
    kept.push(new WeakRef(held))
    patience.watch(pace, () => held.bytes.fill(1))
    patience.end(pace)
  }
  for (let stream = 0; stream < 100; stream++) pass()
  await Bun.sleep(0)
  Bun.gc(true)
  // A few may still be on the stack.
  expect(kept.filter((one) => one.deref() !== undefined).length).toBeLessThan(10)
})
