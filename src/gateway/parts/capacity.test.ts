/**
 * The capacity of a process: what a request takes is given back exactly once, and a refusal names the limit that was
 * reached.
 */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import { enter, letGo, newCapacity, takeBytes, takePlace, takeSocket, takeVendor } from './capacity.ts'
import { newTrace, type Trace } from './trace.ts'

const limits = {
  openCallsMax: 4,
  socketsMax: 4,
  bufferBytesMax: 1_000,
  keySharePercent: 50,
  vendorSharePercent: 50,
}
const traceOf = (keyId?: string): Trace => ({
  ...newTrace('call', 0),
  ...(keyId === undefined ? {} : { keyId }),
})

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
  const traces = ['a', 'a', 'b', 'b'].map(traceOf)
  takePlace(capacity, traces[0]!)
  takePlace(capacity, traces[1]!)
  expect(refused(() => takePlace(capacity, traceOf('a')))).toEqual(['rate_limit_exceeded', 429])
  takePlace(capacity, traces[2]!)
  takePlace(capacity, traces[3]!)
  expect(refused(() => takePlace(capacity, traceOf('c')))).toEqual(['service_unavailable', 503])
  letGo(capacity, traces[0]!)
  expect(refused(() => takePlace(capacity, traceOf('c')))).toBeUndefined()
})

test('what was refused was not taken, and what was taken is given back once', () => {
  const capacity = newCapacity(limits)
  const trace = traceOf('a')
  takeBytes(capacity, trace, 400)
  expect(refused(() => takeBytes(capacity, trace, 200))).toEqual(['rate_limit_exceeded', 429])
  expect(trace.bytes).toBe(400)
  takeBytes(capacity, trace, 100)
  takePlace(capacity, trace)
  letGo(capacity, trace)
  letGo(capacity, trace)
  expect([capacity.bytes.used(), capacity.calls.used()]).toEqual([0, 0])
  takeBytes(capacity, trace, 500)
  expect(capacity.bytes.used()).toBe(500)
})

test('all who call without a key share one part', () => {
  const capacity = newCapacity(limits)
  takeBytes(capacity, traceOf(), 300)
  expect(refused(() => takeBytes(capacity, traceOf(), 300))).toEqual(['rate_limit_exceeded', 429])
  expect(refused(() => takeBytes(capacity, traceOf('a'), 300))).toBeUndefined()
})

test('what a request took before its key was known is given back to whom it was taken for', () => {
  const capacity = newCapacity(limits)
  const trace = traceOf()
  takeBytes(capacity, trace, 500)
  trace.keyId = 'a'
  letGo(capacity, trace)
  expect(capacity.bytes.used()).toBe(0)
  takeBytes(capacity, traceOf(), 500)
})

test('a full process turns away at the door, before anything is taken', () => {
  const capacity = newCapacity(limits)
  const trace = traceOf()
  expect(refused(() => enter(capacity, 4, 'a', trace))).toBeUndefined()
  expect(trace.caller).toBe('a')
  for (const key of ['a', 'a', 'b', 'b']) takePlace(capacity, traceOf(key))
  const late = traceOf()
  expect(refused(() => enter(capacity, 4, 'b', late))).toEqual(['service_unavailable', 503])
  expect([late.caller, late.places]).toEqual([undefined, 0])
  letGo(capacity, trace)
  expect(trace.caller).toBeUndefined()
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
    const trace = traceOf(key)
    takePlace(capacity, trace)
    return trace
  }
  const traces = ['a', 'a', 'b', 'b'].map(open)
  expect(traces.map((trace) => takeVendor(capacity, trace, 'dead'))).toEqual(traces.map(() => undefined))
  expect(takeVendor(capacity, open('a'), 'dead')?.status).toBe(429)
  const other = open('c')
  expect(takeVendor(capacity, other, 'dead')?.status).toBe(503)
  expect(takeVendor(capacity, other, 'alive')).toBeUndefined()
  // A call that moves on to another vendor leaves the first.
  expect(takeVendor(capacity, traces[0]!, 'alive')).toBeUndefined()
  const next = open('c')
  expect(takeVendor(capacity, next, 'dead')).toBeUndefined()
  for (const trace of [...traces, other, next]) letGo(capacity, trace)
  expect([capacity.vendors.used(), capacity.ownVendors.used()]).toEqual([0, 0])
  // A call whose places were given back takes nothing more.
  expect(takeVendor(capacity, other, 'dead')).toBeUndefined()
  expect(capacity.vendors.used()).toBe(0)
})
