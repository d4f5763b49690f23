/**
 * The doors of a process: how many calls and how many bytes it has taken in, for whom, and whether it is leaving. What a
 * request took is noted in its trace and given back when its answer has ended.
 */
import { newOverload, type Overload } from '../admission/overload.ts'
import { newShares, type Shares } from '../admission/shares.ts'
import { type Refusal, refuse, retryIn, unavailable } from '../core/refusal.ts'
import type { Trace } from './trace.ts'

export type Doors = {
  /** The process drains: callers are told to go elsewhere. */
  leaving: boolean
  /** Whether the process is late with its work. */
  readonly overload: Overload
  /** Calls of models that are open. */
  readonly calls: Shares
  /** Bytes of bodies, whole answers and recordings that are kept in memory. */
  readonly bytes: Shares
}

type Limits = {
  readonly openCallsMax: number
  readonly overloadMs: number
  readonly bufferBytesMax: number
  readonly keySharePercent: number
}

export const newDoors = ({ openCallsMax, overloadMs, bufferBytesMax, keySharePercent }: Limits): Doors => ({
  leaving: false,
  overload: newOverload(overloadMs),
  calls: newShares(openCallsMax, keySharePercent),
  bytes: newShares(bufferBytesMax, keySharePercent),
})

/** Notes that the request is an open call. Throws the 503 of a full process, or the 429 of a key that has its share. */
export const takePlace = ({ calls }: Doors, trace: Trace): void => {
  const owner = ownerOf(trace)
  const taken = calls.take(owner, 1)
  if (taken === 'none left') throw tooBusy()
  if (taken === 'own share used') throw shareUsed('calls open')
  trace.places++
}

/** Counts bytes that are about to be kept for the request. Throws the same. */
export const takeBytes = ({ bytes }: Doors, trace: Trace, amount: number): void => {
  const owner = ownerOf(trace)
  const taken = bytes.take(owner, amount)
  if (taken === 'none left') throw unavailable('The server has as many bytes in hand as it takes.')
  if (taken === 'own share used') throw shareUsed('bytes in hand')
  trace.bytes += amount
}

/** Gives back all that the request took; does nothing when it has. */
export const letGo = ({ calls, bytes }: Doors, trace: Trace): void => {
  const owner = ownerOf(trace)
  if (trace.places > 0) calls.giveBack(owner, trace.places)
  if (trace.bytes > 0) bytes.giveBack(owner, trace.bytes)
  trace.places = 0
  trace.bytes = 0
}

/** For whom it is taken: the key, if it is known by then; those who call without one share one part. */
const ownerOf = (trace: Trace): string => {
  trace.owner ??= trace.keyId ?? 'guests'
  return trace.owner
}

/** Turns a call away before anything is done for it, when the process is full or late. Throws the 503. */
export const checkDoor = ({ doors, options, random }: Door): void => {
  if (doors.calls.used() >= options.openCallsMax) throw tooBusy()
  if (doors.overload.turnsAway(random())) throw unavailable('The server is overloaded.')
}

type Door = { readonly doors: Doors; readonly options: Limits; readonly random: () => number }

/** The 503 of a server that has as many calls open as it takes. */
const tooBusy = (): Refusal => unavailable('The server has as many calls open as it takes.')

const shareUsed = (what: string): Refusal =>
  refuse(
    'rate_limit_exceeded',
    `Your key has as many ${what} at once as one key may have; try again when some calls have ended.`,
    retryIn(1),
  )
