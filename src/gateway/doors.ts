/**
 * The doors of a process: how many calls and bytes it has taken in, for whom, and whether it is draining. What a
 * request took is noted in its trace and given back when its answer has ended.
 */
import { newOverload, type Overload } from '../admission/overload.ts'
import { newShares, type Shares } from '../admission/shares.ts'
import { type JsonBody, readJsonBody } from '../core/json-body.ts'
import { must, type Refusal, refuse, retryIn, unavailable } from '../core/refusal.ts'
import { scanJson } from '../core/scan-json.ts'
import type { Counting } from '../transport/exchange.ts'
import type { Trace } from './trace.ts'

export type Doors = {
  /** The process is draining: callers are sent elsewhere. */
  leaving: boolean
  /** Streamed answers in progress. */
  streams: number
  /** How many calls the process is answering, and whether it takes more. */
  readonly overload: Overload
  /** Open calls of models. */
  readonly calls: Shares
  /**
   * Open calls by vendor, and by key and vendor, so that one vendor cannot use up all the calls a key may have open.
   */
  readonly vendors: Shares
  readonly ownVendors: Shares
  /** Bytes kept in memory: bodies, what was parsed of them, whole answers and recordings. */
  readonly bytes: Shares
  /** Open WebSockets. */
  readonly sockets: Shares
}

type DoorLimits = {
  readonly openCallsMax: number
  readonly bufferBytesMax: number
  readonly keySharePercent: number
  readonly vendorSharePercent: number
  readonly socketsMax: number
}

export const newDoors = ({
  openCallsMax,
  bufferBytesMax,
  keySharePercent,
  vendorSharePercent,
  socketsMax,
}: DoorLimits): Doors => ({
  leaving: false,
  streams: 0,
  overload: newOverload(),
  calls: newShares(openCallsMax, keySharePercent),
  vendors: newShares(openCallsMax, vendorSharePercent),
  ownVendors: newShares(openCallsMax, (keySharePercent * vendorSharePercent) / 100),
  bytes: newShares(bufferBytesMax, keySharePercent),
  sockets: newShares(socketsMax, keySharePercent),
})

/**
 * Counts the request as an open call. Throws the 503 of a full process, or the 429 of a key that has used its share.
 */
export const takePlace = ({ calls }: Doors, trace: Trace): void => {
  const owner = ownerOf(trace)
  const taken = calls.take(owner, 1)
  if (taken === 'none left') throw tooBusy()
  if (taken === 'own share used') throw shareUsed('open calls')
  trace.places++
}

/**
 * Moves an open call to the count of this vendor. Returns the refusal when as many calls as allowed already wait for
 * it, because a silent vendor must not take all the places.
 */
export const takeVendor = (doors: Doors, trace: Trace, vendor: string): Refusal | undefined => {
  leaveVendor(doors, trace)
  // Its places were given back, so its caller has gone.
  if (trace.places === 0) return undefined
  const own = `${ownerOf(trace)} ${vendor}`
  if (doors.ownVendors.take(own, 1) !== 'taken') return shareUsed(`open calls at ${vendor}`)
  if (doors.vendors.take(vendor, 1) !== 'taken') {
    doors.ownVendors.giveBack(own, 1)
    return unavailable(`Too many calls are already waiting for the vendor ${vendor}.`)
  }
  trace.atVendor = vendor
  return undefined
}

const leaveVendor = ({ vendors, ownVendors }: Doors, trace: Trace): void => {
  const { atVendor } = trace
  if (atVendor === undefined) return
  vendors.giveBack(atVendor, 1)
  ownVendors.giveBack(`${ownerOf(trace)} ${atVendor}`, 1)
  trace.atVendor = undefined
}

/** Counts a socket of the key until it is closed. Throws the same refusals. */
export const takeSocket = ({ sockets }: Doors, keyId: string): void => {
  const taken = sockets.take(keyId, 1)
  if (taken === 'none left') throw unavailable('The server has reached its limit of open sockets.')
  if (taken === 'own share used') throw shareUsed('open sockets')
}

/** Who the bytes are counted for, and how many so far: the trace of a request, or a stand-in where there is none. */
export type Taker = Pick<Trace, 'owner' | 'keyId' | 'bytes'>

/** Counts what `work` keeps for a key while no request waits for it; all of it is given back at its end. */
export const countedFor = async <T>(
  { bytes }: Doors,
  keyId: string,
  work: (taker: Taker) => Promise<T>,
): Promise<T> => {
  const taker: Taker = { keyId, bytes: 0 }
  try {
    return await work(taker)
  } finally {
    bytes.giveBack(ownerOf(taker), taker.bytes)
  }
}

/** Counts bytes that are about to be kept for the request. Throws the same refusals. */
export const takeBytes = ({ bytes }: Doors, trace: Taker, amount: number): void => {
  const owner = ownerOf(trace)
  const taken = bytes.take(owner, amount)
  if (taken === 'none left') throw unavailable('The server has no memory left for further requests.')
  if (taken === 'own share used') throw shareUsed('memory for requests')
  trace.bytes += amount
}

/**
 * Parses a body whose bytes are already counted. The memory of its values is counted before they are built. Throws the
 * Refusal.
 */
export const readWeighed = (doors: Doors, trace: Trace, bytes: Uint8Array): JsonBody => {
  const scan = scanJson(bytes)
  takeBytes(doors, trace, scan.weight)
  return must(readJsonBody(bytes, scan))
}

/** Smaller answers are not scanned: parsed, they take at most 36 times their bytes, which is little. */
const WEIGHED_FROM = 16 * 1024
const JSON_BEGINS = [0x7b, 0x5b]

/**
 * Counts the memory that a vendor's answer will take once parsed; its bytes are already counted. Throws the same
 * refusals.
 */
const weighAnswer = (doors: Doors, trace: Taker, answer: Uint8Array): void => {
  if (answer.length >= WEIGHED_FROM && JSON_BEGINS.includes(answer[0] ?? 0))
    takeBytes(doors, trace, scanJson(answer, Number.POSITIVE_INFINITY).weight)
}

/** Counts an answer that an exchange reads whole. */
export class CountedAnswer implements Counting {
  readonly #doors: Doors
  readonly #taker: Taker

  constructor(doors: Doors, taker: Taker) {
    this.#doors = doors
    this.#taker = taker
  }

  take(bytes: number): void {
    takeBytes(this.#doors, this.#taker, bytes)
  }

  weigh(answer: Uint8Array): void {
    weighAnswer(this.#doors, this.#taker, answer)
  }
}

/** Gives back all that the request took; does nothing the second time. */
export const letGo = (doors: Doors, trace: Trace): void => {
  const { calls, bytes, overload } = doors
  leaveVendor(doors, trace)
  if (trace.caller !== undefined) overload.leave(trace.caller)
  trace.caller = undefined
  const owner = ownerOf(trace)
  if (trace.places > 0) calls.giveBack(owner, trace.places)
  if (trace.bytes > 0) bytes.giveBack(owner, trace.bytes)
  trace.places = 0
  trace.bytes = 0
}

/** Whose share is used: the key's, if it is known by then; all callers without a key share one. */
const ownerOf = (trace: Taker): string => {
  trace.owner ??= trace.keyId ?? 'guests'
  return trace.owner
}

/**
 * Admits a call, or turns it away before any work is done for it. `caller` is the credential as sent, valid or not:
 * here it only tells callers apart. Throws the 503 of a full or overloaded process.
 */
export const enter = (doors: Doors, openCallsMax: number, caller: string, trace: Trace): void => {
  if (doors.calls.used() >= openCallsMax) throw tooBusy()
  if (doors.overload.turnsAway(caller)) throw overloaded()
  doors.overload.enter(caller)
  trace.caller = caller
}

export const overloaded = (): Refusal => unavailable('The server is overloaded.')

/** The 503 of a server that has reached its limit of open calls. */
const tooBusy = (): Refusal => unavailable('The server has reached its limit of open calls.')

const shareUsed = (what: string): Refusal =>
  refuse(
    'rate_limit_exceeded',
    `Your key has reached its limit of ${what}; try again when some have ended.`,
    retryIn(1),
  )
