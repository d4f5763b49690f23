/**
 * The capacity of a process: what a request takes is given back exactly once, and a refusal names the limit that was
 * reached.
 */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import {
  enter,
  letGo,
  newCapacity,
  newTaken,
  takeBytes,
  takePlace,
  takeSocket,
  takeVendor,
} from './capacity.ts'

const limits = {
  openCallsMax: 4,
  socketsMax: 4,
  bufferBytesMax: 1_000,
  keySharePercent: 50,
  vendorSharePercent: 50,
}

/** The refusal that is thrown; undefined when there is none. */
const refused = (action: () => void): readonly [string, number] | undefined => {
  try {
    action()
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown
    return [thrown.code, thrown.status]
  }
}

test('a key has its share of the places, and others still find one', () => {
  const capacity = newCapacity(limits)
  const all = ['a', 'a', 'b', 'b'].map((key) => newTaken(key))
  takePlace(capacity, all[0]!)
  takePlace(capacity, all[1]!)
  expect(refused(() => takePlace(capacity, newTaken('a')))).toEqual(['rate_limit_exceeded', 429])
  takePlace(capacity, all[2]!)
  takePlace(capacity, all[3]!)
  expect(refused(() => takePlace(capacity, newTaken('c')))).toEqual(['service_unavailable', 503])
  letGo(capacity, all[0]!)
  expect(refused(() => takePlace(capacity, newTaken('c')))).toBeUndefined()
})

test('what was refused was not taken, and what was taken is given back once', () => {
  const capacity = newCapacity(limits)
  const taken = newTaken('a')
  takeBytes(capacity, taken, 400)
  expect(refused(() => takeBytes(capacity, taken, 200))).toEqual(['rate_limit_exceeded', 429])
  expect(taken.bytes).toBe(400)
  takeBytes(capacity, taken, 100)
  takePlace(capacity, taken)
  letGo(capacity, taken)
  letGo(capacity, taken)
  expect([capacity.bytes.used(), capacity.calls.used()]).toEqual([0, 0])
  takeBytes(capacity, taken, 500)
  expect(capacity.bytes.used()).toBe(500)
})

test('all who call without a key share one part', () => {
  const capacity = newCapacity(limits)
  takeBytes(capacity, newTaken(), 300)
  expect(refused(() => takeBytes(capacity, newTaken(), 300))).toEqual(['rate_limit_exceeded', 429])
  expect(refused(() => takeBytes(capacity, newTaken('a'), 300))).toBeUndefined()
})

test('what a request took before its key was known is given back to whom it was taken for', () => {
  const capacity = newCapacity(limits)
  const taken = newTaken()
  takeBytes(capacity, taken, 500)
  taken.owner ??= 'a'
  letGo(capacity, taken)
  expect(capacity.bytes.used()).toBe(0)
  takeBytes(capacity, newTaken(), 500)
})

test('a full process turns away at the door, before anything is taken', () => {
  const capacity = newCapacity(limits)
  const taken = newTaken()
  expect(refused(() => enter(capacity, 4, 'a', taken))).toBeUndefined()
  expect(taken.caller).toBe('a')
  for (const key of ['a', 'a', 'b', 'b']) takePlace(capacity, newTaken(key))
  const late = newTaken()
  expect(refused(() => enter(capacity, 4, 'b', late))).toEqual(['service_unavailable', 503])
  expect([late.caller, late.places]).toEqual([undefined, 0])
  letGo(capacity, taken)
  expect(taken.caller).toBeUndefined()
})

test('a key has its share of the sockets, and all sockets are counted', () => {
  const capacity = newCapacity(limits)
  for (const key of ['a', 'a', 'b']) takeSocket(capacity, key)
  expect(refused(() => takeSocket(capacity, 'a'))).toEqual(['rate_limit_exceeded', 429])
  takeSocket(capacity, 'b')
  expect(refused(() => takeSocket(capacity, 'c'))).toEqual(['service_unavailable', 503])
})

test('a vendor has its share of the open calls, also of those of one key, and it comes back', () => {
  const capacity = newCapacity({ ...limits, openCallsMax: 8 })
  const open = (key: string) => {
    const taken = newTaken(key)
    takePlace(capacity, taken)
    return taken
  }
  const all = ['a', 'a', 'b', 'b'].map(open)
  expect(all.map((taken) => takeVendor(capacity, taken, 'dead'))).toEqual(all.map(() => undefined))
  expect(takeVendor(capacity, open('a'), 'dead')?.status).toBe(429)
  const other = open('c')
  expect(takeVendor(capacity, other, 'dead')?.status).toBe(503)
  expect(takeVendor(capacity, other, 'alive')).toBeUndefined()
  // A call that moves on to another vendor leaves the first.
  expect(takeVendor(capacity, all[0]!, 'alive')).toBeUndefined()
  const next = open('c')
  expect(takeVendor(capacity, next, 'dead')).toBeUndefined()
  for (const taken of [...all, other, next]) letGo(capacity, taken)
  expect([capacity.vendors.used(), capacity.ownVendors.used()]).toEqual([0, 0])
  // A call whose places were given back takes nothing more.
  expect(takeVendor(capacity, other, 'dead')).toBeUndefined()
  expect(capacity.vendors.used()).toBe(0)
})
