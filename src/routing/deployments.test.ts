/** The order of attempts, and how failures and successes change it. */
import { expect, test } from 'bun:test'
import type { Model } from '../core/model.ts'
import { Secret } from '../core/secret.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import {
  deploymentsOf,
  isResting,
  newTraffic,
  noteAttempt,
  noteFailure,
  noteNothing,
  noteSuccess,
  orderOf,
  restingOf,
  takeRetry,
  trafficAfter,
} from './deployments.ts'

const model = { id: 'v/m' } as Model
const setupOf = (keys: number, more: Partial<VendorSetup> = {}): VendorSetup => ({
  vendor: { id: 'v' } as VendorSetup['vendor'],
  baseUrl: 'http://v.invalid',
  secrets: Array.from({ length: keys }, (_, index) => new Secret(`k${index}`)),
  ...more,
})

/** A generator of numbers from 0 to 1 (mulberry32), so that the draws are the same each time. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const random = randomFrom(7)
const at = (nowMs: number) => ({ nowMs, random })

test('the first attempt follows the weights', () => {
  const places = deploymentsOf(setupOf(3, { weights: [1, 2, 7] }), model)
  const firsts = [0, 0, 0]
  for (let call = 0; call < 10_000; call++) {
    const index = places.indexOf(orderOf(places, newTraffic(), at(0))[0]!)
    firsts[index] = (firsts[index] ?? 0) + 1
  }
  for (const [index, share] of [0.1, 0.2, 0.7].entries())
    expect(firsts[index]! / 10_000).toBeCloseTo(share, 1)
})

test('a lower priority goes first, whatever the weights; another vendor comes after all', () => {
  const own = deploymentsOf(setupOf(2, { weights: [1000, 1], priorities: [1, 0] }), model)
  const other = deploymentsOf({ ...setupOf(1), vendor: { id: 'w' } as VendorSetup['vendor'] }, model, 1_000)
  for (let call = 0; call < 100; call++)
    expect(orderOf([...own, ...other], newTraffic(), at(0)).map(({ key }) => key)).toEqual([
      'v#1',
      'v#0',
      'w#0',
    ])
})

test('a failure rests a deployment, longer each time, and as long as the vendor asked', () => {
  const traffic = newTraffic()
  const [first, second] = deploymentsOf(setupOf(2), model)
  noteFailure(traffic, first!, { scope: 'model', nowMs: 0, restMs: undefined })
  expect([isResting(traffic, first!, 999), isResting(traffic, first!, 1_000)]).toEqual([true, false])
  noteFailure(traffic, first!, { scope: 'model', nowMs: 1_000, restMs: undefined })
  expect([isResting(traffic, first!, 2_999), isResting(traffic, first!, 3_000)]).toEqual([true, false])
  noteFailure(traffic, second!, { scope: 'model', nowMs: 0, restMs: 7_000 })
  expect([isResting(traffic, second!, 6_999), isResting(traffic, second!, 7_000)]).toEqual([true, false])
  expect(orderOf([first!, second!], traffic, at(3_500))[0]).toBe(first!)
})

test('a model that failed rests at its key alone; a key that was refused rests with all its models', () => {
  const traffic = newTraffic()
  const [own] = deploymentsOf(setupOf(2), model)
  const [other, elsewhere] = deploymentsOf(setupOf(2), { id: 'v/other' } as Model)
  noteFailure(traffic, own!, { scope: 'model', nowMs: 0, restMs: 5_000 })
  expect([own!, other!, elsewhere!].map((one) => isResting(traffic, one, 1))).toEqual([true, false, false])
  noteFailure(traffic, other!, { scope: 'key', nowMs: 0, restMs: 2_000 })
  expect([own!, other!, elsewhere!].map((one) => isResting(traffic, one, 1))).toEqual([true, true, false])
  expect(restingOf(setupOf(2), traffic, 1)).toEqual({ resting: 1, of: 2 })
  noteSuccess(traffic, other!)
  expect([own!, other!].map((one) => isResting(traffic, one, 1))).toEqual([true, false])
})

test('a vendor that asks for a day is probed after ten minutes', () => {
  const traffic = newTraffic()
  const [one] = deploymentsOf(setupOf(2), model)
  noteFailure(traffic, one!, { scope: 'model', nowMs: 0, restMs: 86_400_000 })
  expect([isResting(traffic, one!, 599_999), isResting(traffic, one!, 600_000)]).toEqual([true, false])
})

test('after its rest one call probes a deployment; its success closes the circuit, a lost probe frees it', () => {
  const traffic = newTraffic()
  const [one] = deploymentsOf(setupOf(2), model)
  noteFailure(traffic, one!, { scope: 'model', nowMs: 0, restMs: undefined })
  noteAttempt(traffic, one!, true)
  expect(isResting(traffic, one!, 5_000)).toBe(true)
  noteNothing(traffic, one!)
  expect(isResting(traffic, one!, 5_000)).toBe(false)
  noteAttempt(traffic, one!, true)
  noteSuccess(traffic, one!)
  expect(isResting(traffic, one!, 0)).toBe(false)
})

test('retries have a budget that calls fill', () => {
  const traffic = newTraffic()
  const [one] = deploymentsOf(setupOf(1), model)
  let taken = 0
  while (takeRetry(traffic)) taken++
  expect(taken).toBe(20)
  for (let call = 0; call < 10; call++) noteAttempt(traffic, one!, true)
  expect([takeRetry(traffic), takeRetry(traffic), takeRetry(traffic)]).toEqual([true, true, false])
})

test('keys that are there as before rest on under their new places; another key or address begins anew', () => {
  const before = new Map([['v', setupOf(3)]])
  const [first, second, third] = deploymentsOf(setupOf(3), model)
  const traffic = newTraffic()
  noteFailure(traffic, first!, { scope: 'key', nowMs: 0, restMs: 5_000 })
  noteFailure(traffic, second!, { scope: 'model', nowMs: 0, restMs: 7_000 })
  noteAttempt(traffic, third!, true)
  // The first key is a new one, and the second was the first before.
  const secrets = ['k1', 'new', 'k2'].map((key) => new Secret(key))
  const now = setupOf(3, { secrets })
  const places = deploymentsOf(now, model)
  const after = trafficAfter({ traffic, vendors: before }, new Map([['v', now]]))
  expect(places.map((place) => isResting(after, place, 1_000))).toEqual([true, false, false])
  expect(isResting(after, places[0]!, 7_001)).toBe(false)
  expect(isResting(traffic, first!, 1_000)).toBe(true)
  const moved = new Map([['v', { ...now, baseUrl: 'http://elsewhere.invalid' }]])
  expect(trafficAfter({ traffic, vendors: before }, moved).health.size).toBe(0)
  expect(trafficAfter({ traffic, vendors: before }, new Map()).health.size).toBe(0)
})

test('a probe that runs while vendors are set up anew does not keep its key at rest for ever', () => {
  const setups = new Map([['v', setupOf(1)]])
  const [place] = deploymentsOf(setupOf(1), model)
  const traffic = newTraffic()
  noteFailure(traffic, place!, { scope: 'key', nowMs: 0, restMs: 1_000 })
  noteAttempt(traffic, place!, true)
  expect(isResting(traffic, place!, 2_000)).toBe(true)
  expect(isResting(trafficAfter({ traffic, vendors: setups }, setups), place!, 2_000)).toBe(false)
})
