/** Rates against a store that counts: never above the limit, exact up to it, nothing kept from others for long. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { openStore } from '../store/open-store.ts'
import { createRates } from './rates.ts'

const START = Date.UTC(2026, 10, 21, 12, 0, 0)

const scene = async (instances: number) => {
  let time = 0
  const store = await openStore({ url: 'sqlite::memory:', now: () => START + time })
  await store.createWallet({ id: 'w', orgId: 'o', name: 'w' })
  await store.createKey({
    id: 'k',
    hash: 'h',
    orgId: 'o',
    walletId: 'w',
    label: 'k',
    prefix: 'k',
    limits: {},
  })
  const never = () => new Promise<void>(() => undefined)
  const clock = {
    now: () => START + time,
    monotonicMs: () => time,
    sleep: never,
    turn: () => Promise.resolve(),
  }
  const rates = Array.from({ length: instances }, () =>
    createRates({ store, clock, liveInstances: () => instances }),
  )
  return {
    rates,
    pass: (ms: number) => {
      time += ms
    },
    store,
  }
}

test('three processes together admit just the limit, whoever is asked', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(1, 5, 60, 600),
      fc.array(fc.nat(2), { minLength: 700, maxLength: 700 }),
      async (limit, asked) => {
        const { rates, store } = await scene(3)
        const verdicts = await Promise.all(asked.map((who) => rates[who]!.take('k', limit)))
        expect(verdicts.filter(({ admitted }) => admitted).length).toBe(limit)
        expect(verdicts.every(({ remaining }) => remaining >= 0 && remaining <= limit)).toBe(true)
        await store.close()
      },
    ),
    { numRuns: 12 },
  )
})

test('a large limit is taken in chunks, never above it, and chunks that lie unused come back', async () => {
  const { rates, pass, store } = await scene(2)
  const [busy, idle] = [rates[0]!, rates[1]!]
  await idle.take('k', 1_000)
  let admitted = 1
  for (let tries = 0; tries < 1_500; tries++) if ((await busy.take('k', 1_000)).admitted) admitted++
  expect(admitted).toBeLessThan(1_000)
  expect(admitted).toBeGreaterThan(800)
  // The first beat sees that the chunk was touched, the second returns it.
  idle.returnIdle()
  idle.returnIdle()
  pass(300)
  for (let tries = 0; tries < 1_500; tries++) if ((await busy.take('k', 1_000)).admitted) admitted++
  expect(admitted).toBe(1_000)
  await store.close()
})

test('a token of one minute is not spent in the next', async () => {
  const { rates, pass, store } = await scene(1)
  await rates[0]!.take('k', 1_000)
  pass(59_990)
  let admitted = 0
  for (let tries = 0; tries < 1_200; tries++) if ((await rates[0]!.take('k', 1_000)).admitted) admitted++
  // What the chunk of the first minute had left is gone at its end.
  expect(admitted).toBeLessThanOrEqual(1_000)
  pass(60_000)
  expect((await rates[0]!.take('k', 1_000)).admitted).toBe(true)
  await store.close()
})
