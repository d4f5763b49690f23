/** Waits for a silent ledger share one heartbeat and one deadline, however many they are. */
import { expect, test } from 'bun:test'
import { openTestStore } from '../../test/memory-ledger.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import { systemClock } from '../core/time.ts'
import type { Beat } from '../store/calls/instance-port.ts'
import { StoreFault } from '../store/faults.ts'
import type { Store } from '../store/port.ts'
import { createHeartbeat } from './heartbeat.ts'
import { newTouch, storeInTouch } from './touch.ts'

test('all who ask while a heartbeat runs share the next one', async () => {
  const beats: PromiseWithResolvers<Beat>[] = []
  const heartbeat = createHeartbeat({
    store: {
      beat: () => {
        const one = Promise.withResolvers<Beat>()
        beats.push(one)
        return one.promise
      },
      unaware: async () => [],
      leave: async () => undefined,
      liveInstances: async () => 1,
    } as never,
    clock: systemClock,
    instance: 'i',
    log: silentLog,
    nudge: undefined,
    onBeat: () => undefined,
  })
  const first = heartbeat.beatNow()
  const rest = Array.from({ length: 50 }, () => heartbeat.beatNow())
  expect(beats).toHaveLength(1)
  beats[0]?.reject(new Error('silent'))
  await first
  while (beats.length < 2) await Bun.sleep(0)
  beats[1]?.reject(new Error('silent'))
  await Promise.all(rest)
  expect(beats).toHaveLength(2)
})

test('what is waited for ends when touch is lost, and what comes of it later is handed over', async () => {
  let inTouch = true
  const touch = newTouch(() => inTouch)
  const late: number[] = []
  const works = [1, 2, 3].map(() => Promise.withResolvers<number>())
  const [first, second, third] = works.map(({ promise }) =>
    touch.whileInTouch(promise, (outcome) => late.push(outcome)),
  )
  works[0]?.resolve(1)
  expect(await first).toBe(1)
  touch.check()
  inTouch = false
  touch.check()
  expect(await second).toBeInstanceOf(Refusal)
  expect(await third).toBeInstanceOf(Refusal)
  works[1]?.resolve(2)
  works[2]?.reject(new Error('gone'))
  await works[1]?.promise
  await Bun.sleep(0)
  expect(late).toEqual([2])
})

test('each port of the store that answers callers ends its waits when touch is lost', async () => {
  let inTouch = true
  const touch = newTouch(() => inTouch)
  const opened = await openTestStore({ url: 'sqlite::memory:' })
  const silent: Store = {
    ...opened,
    wallets: { ...opened.wallets, wallet: () => new Promise(() => undefined) },
  }
  const store = storeInTouch(silent, { whileInTouch: touch.insist })
  expect(await store.keys.key('nobody')).toBeUndefined()
  const waits = store.wallets.wallet('w')
  inTouch = false
  touch.check()
  await expect(waits).rejects.toBeInstanceOf(StoreFault)
  await opened.close()
})
