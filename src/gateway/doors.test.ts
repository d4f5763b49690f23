/**
 * The doors of a process: what a request takes is given back exactly once, and a refusal names the limit that was
 * reached.
 */
import { expect, test } from 'bun:test'
import { Refusal } from '../core/refusal.ts'
import { enter, letGo, newDoors, takeBytes, takePlace, takeSocket, takeVendor } from './doors.ts'
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
  const doors = newDoors(limits)
  const traces = ['a', 'a', 'b', 'b'].map(traceOf)
  takePlace(doors, traces[0]!)
  takePlace(doors, traces[1]!)
  expect(refused(() => takePlace(doors, traceOf('a')))).toEqual(['rate_limit_exceeded', 429])
  takePlace(doors, traces[2]!)
  takePlace(doors, traces[3]!)
  expect(refused(() => takePlace(doors, traceOf('c')))).toEqual(['service_unavailable', 503])
  letGo(doors, traces[0]!)
  expect(refused(() => takePlace(doors, traceOf('c')))).toBeUndefined()
})

test('what was refused was not taken, and what was taken is given back once', () => {
  const doors = newDoors(limits)
  const trace = traceOf('a')
  takeBytes(doors, trace, 400)
  expect(refused(() => takeBytes(doors, trace, 200))).toEqual(['rate_limit_exceeded', 429])
  expect(trace.bytes).toBe(400)
  takeBytes(doors, trace, 100)
  takePlace(doors, trace)
  letGo(doors, trace)
  letGo(doors, trace)
  expect([doors.bytes.used(), doors.calls.used()]).toEqual([0, 0])
  takeBytes(doors, trace, 500)
  expect(doors.bytes.used()).toBe(500)
})

test('all who call without a key share one part', () => {
  const doors = newDoors(limits)
  takeBytes(doors, traceOf(), 300)
  expect(refused(() => takeBytes(doors, traceOf(), 300))).toEqual(['rate_limit_exceeded', 429])
  expect(refused(() => takeBytes(doors, traceOf('a'), 300))).toBeUndefined()
})

test('what a request took before its key was known is given back to whom it was taken for', () => {
  const doors = newDoors(limits)
  const trace = traceOf()
  takeBytes(doors, trace, 500)
  trace.keyId = 'a'
  letGo(doors, trace)
  expect(doors.bytes.used()).toBe(0)
  takeBytes(doors, traceOf(), 500)
})

test('a full process turns away at the door, before anything is taken', () => {
  const doors = newDoors(limits)
  const trace = traceOf()
  expect(refused(() => enter(doors, 4, 'a', trace))).toBeUndefined()
  expect(trace.caller).toBe('a')
  for (const key of ['a', 'a', 'b', 'b']) takePlace(doors, traceOf(key))
  const late = traceOf()
  expect(refused(() => enter(doors, 4, 'b', late))).toEqual(['service_unavailable', 503])
  expect([late.caller, late.places]).toEqual([undefined, 0])
  letGo(doors, trace)
  expect(trace.caller).toBeUndefined()
})

test('a key has its share of the sockets, and all sockets are counted', () => {
  const doors = newDoors(limits)
  for (const key of ['a', 'a', 'b']) takeSocket(doors, key)
  expect(refused(() => takeSocket(doors, 'a'))).toEqual(['rate_limit_exceeded', 429])
  takeSocket(doors, 'b')
  expect(refused(() => takeSocket(doors, 'c'))).toEqual(['service_unavailable', 503])
})

test('a vendor has its share of the open calls, also of those of one key, and it comes back', () => {
  const doors = newDoors({ ...limits, openCallsMax: 8 })
  const open = (key: string) => {
    const trace = traceOf(key)
    takePlace(doors, trace)
    return trace
  }
  const traces = ['a', 'a', 'b', 'b'].map(open)
  expect(traces.map((trace) => takeVendor(doors, trace, 'dead'))).toEqual(traces.map(() => undefined))
  expect(takeVendor(doors, open('a'), 'dead')?.status).toBe(429)
  const other = open('c')
  expect(takeVendor(doors, other, 'dead')?.status).toBe(503)
  expect(takeVendor(doors, other, 'alive')).toBeUndefined()
  // A call that moves on to another vendor leaves the first.
  expect(takeVendor(doors, traces[0]!, 'alive')).toBeUndefined()
  const next = open('c')
  expect(takeVendor(doors, next, 'dead')).toBeUndefined()
  for (const trace of [...traces, other, next]) letGo(doors, trace)
  expect([doors.vendors.used(), doors.ownVendors.used()]).toEqual([0, 0])
  // A call whose places were given back takes nothing more.
  expect(takeVendor(doors, other, 'dead')).toBeUndefined()
  expect(doors.vendors.used()).toBe(0)
})
