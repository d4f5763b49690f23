/** When steps of batches may begin, and how large they are, by the calls that come meanwhile. */
import { expect, test } from 'bun:test'
import { newCapacity } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { behindCalls } from './behind-calls.ts'

const rig = () => {
  let nowMs = 0
  const capacity = newCapacity({
    ...{ openCallsMax: 10, bufferBytesMax: 10, socketsMax: 10 },
    ...{ keySharePercent: 100, vendorSharePercent: 100 },
  })
  const sleeps: number[] = []
  const clock = {
    monotonicMs: () => nowMs,
    turn: async () => undefined,
    sleep: async (ms: number) => {
      sleeps.push(ms)
      nowMs += ms
    },
  }
  const behind = behindCalls({ clock, capacity } as unknown as Gateway)
  return {
    behind,
    overload: capacity.overload,
    sleeps,
    clock,
    passes: (ms: number) => {
      nowMs += ms
    },
  }
}

test('without calls steps are large, and follow each other at once', async () => {
  const { behind, sleeps } = rig()
  expect(behind.lines()).toBe(32)
  await behind.step()
  expect(sleeps).toEqual([])
})

test('a call makes steps small, and each leaves the loop idle before it, until no call came for a while', async () => {
  const { behind, overload, sleeps, passes } = rig()
  overload.enter('a')
  overload.leave('a')
  expect(behind.lines()).toBe(8)
  await behind.step()
  await behind.step()
  expect(sleeps).toEqual([5, 5])
  passes(490)
  await behind.step()
  expect([sleeps.length, behind.lines()]).toEqual([2, 32])
})

test('a step waits for a call that is open, but not for one that stays open', async () => {
  const { behind, overload, sleeps, clock } = rig()
  overload.enter('a')
  const sleep = clock.sleep
  clock.sleep = async (ms) => {
    await sleep(ms)
    if (sleeps.length === 3) overload.leave('a')
  }
  await behind.step()
  expect(sleeps).toEqual([5, 1, 1])
  overload.enter('b')
  await behind.step()
  expect(sleeps).toEqual([5, 1, 1, 5, 1, 1, 1, 1, 1])
})

test('steps follow one another, whoever asks for them', async () => {
  const { behind, overload, sleeps } = rig()
  overload.enter('a')
  overload.leave('a')
  await Promise.all([behind.step(), behind.step(), behind.step()])
  expect(sleeps).toEqual([5, 5, 5])
})
