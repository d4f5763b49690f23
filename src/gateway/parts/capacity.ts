/**
 * The capacity of a process: how many calls and bytes it has taken in, for whom, and whether it is draining. What a
 * request took is noted as `Taken` and given back when its answer has ended.
 */
import { newOverload, type Overload } from '../../admission/overload.ts'
import { type JsonBody, readJsonBody } from '../../core/json-body.ts'
import { must, type Refusal, refuse, retryIn, unavailable } from '../../core/refusal.ts'
import { scanJson } from '../../core/scan-json.ts'
import type { Counting } from '../../transport/requester.ts'

export type Capacity = {
  /** The process is draining: callers are sent elsewhere. */
  draining: boolean
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

/** What a request, or work that no request waits for, has taken of the process. */
export type Taken = {
  /** Whose share it is taken from: the key's, if that is known by then; all callers without a key share one. */
  owner?: string
  /** Whose call it counts as. */
  caller?: string | undefined
  places: number
  /** The vendor whose open calls it is counted among. */
  atVendor?: string | undefined
  bytes: number
}

/** Nothing yet, for the key if it is known. */
export const newTaken = (keyId?: string): Taken => ({
  ...(keyId === undefined ? {} : { owner: keyId }),
  places: 0,
  bytes: 0,
})

type CapacityLimits = {
  readonly openCallsMax: number
  readonly bufferBytesMax: number
  readonly keySharePercent: number
  readonly vendorSharePercent: number
  readonly socketsMax: number
}

export const newCapacity = ({
  openCallsMax,
  bufferBytesMax,
  keySharePercent,
  vendorSharePercent,
  socketsMax,
}: CapacityLimits): Capacity => ({
  draining: false,
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
export const takePlace = ({ calls }: Capacity, taken: Taken): void => {
  const answer = calls.take(ownerOf(taken), 1)
  if (answer === 'none left') throw tooBusy()
  if (answer === 'own share used') throw shareUsed('open calls')
  taken.places++
}

/**
 * Moves an open call to the count of this vendor. Returns the refusal when as many calls as allowed already wait for
 * it, because a silent vendor must not take all the places.
 */
export const takeVendor = (capacity: Capacity, taken: Taken, vendor: string): Refusal | undefined => {
  leaveVendor(capacity, taken)
  // Its places were given back, so its caller has gone.
  if (taken.places === 0) return undefined
  const own = `${ownerOf(taken)} ${vendor}`
  if (capacity.ownVendors.take(own, 1) !== 'taken') return shareUsed(`open calls at ${vendor}`)
  if (capacity.vendors.take(vendor, 1) !== 'taken') {
    capacity.ownVendors.giveBack(own, 1)
    return unavailable(`Too many calls are already waiting for the vendor ${vendor}.`)
  }
  taken.atVendor = vendor
  return undefined
}

const leaveVendor = ({ vendors, ownVendors }: Capacity, taken: Taken): void => {
  const { atVendor } = taken
  if (atVendor === undefined) return
  vendors.giveBack(atVendor, 1)
  ownVendors.giveBack(`${ownerOf(taken)} ${atVendor}`, 1)
  taken.atVendor = undefined
}

/** Counts a socket of the key until it is closed. Throws the same refusals. */
export const takeSocket = ({ sockets }: Capacity, keyId: string): void => {
  const answer = sockets.take(keyId, 1)
  if (answer === 'none left') throw unavailable('The server has reached its limit of open sockets.')
  if (answer === 'own share used') throw shareUsed('open sockets')
}

/** Counts what `work` keeps for a key while no request waits for it; all of it is given back at its end. */
export const countedFor = async <T>(
  { bytes }: Capacity,
  keyId: string,
  work: (taken: Taken) => Promise<T>,
): Promise<T> => {
  const taken = newTaken(keyId)
  try {
    return await work(taken)
  } finally {
    bytes.giveBack(ownerOf(taken), taken.bytes)
  }
}

/** Counts bytes that are about to be kept for the request. Throws the same refusals. */
export const takeBytes = ({ bytes }: Capacity, taken: Taken, amount: number): void => {
  const answer = bytes.take(ownerOf(taken), amount)
  if (answer === 'none left') throw unavailable('The server has no memory left for further requests.')
  if (answer === 'own share used') throw shareUsed('memory for requests')
  taken.bytes += amount
}

/** Gives back a part of the counted bytes. */
export const giveBackBytes = ({ bytes }: Capacity, taken: Taken, amount: number): void => {
  bytes.giveBack(ownerOf(taken), amount)
  taken.bytes -= amount
}

/**
 * Parses a body whose bytes are already counted. The memory of its values is counted before they are built. Throws the
 * Refusal.
 */
export const readWeighed = (capacity: Capacity, taken: Taken, bytes: Uint8Array): JsonBody => {
  const scan = scanJson(bytes)
  takeBytes(capacity, taken, scan.weight)
  return must(readJsonBody(bytes, scan))
}

/** Smaller answers are not scanned: parsed, they take at most 36 times their bytes, which is little. */
const WEIGHED_FROM = 16 * 1024
const JSON_BEGINS = [0x7b, 0x5b]

/**
 * Counts the memory that a vendor's answer will take once parsed; its bytes are already counted. Throws the same
 * refusals.
 */
const weighAnswer = (capacity: Capacity, taken: Taken, answer: Uint8Array): void => {
  if (answer.length >= WEIGHED_FROM && JSON_BEGINS.includes(answer[0] ?? 0))
    takeBytes(capacity, taken, scanJson(answer, Number.POSITIVE_INFINITY).weight)
}

/** Counts an answer that an exchange reads whole. */
export class CountedAnswer implements Counting {
  readonly #capacity: Capacity
  readonly #taken: Taken

  constructor(capacity: Capacity, taken: Taken) {
    this.#capacity = capacity
    this.#taken = taken
  }

  take(bytes: number): void {
    takeBytes(this.#capacity, this.#taken, bytes)
  }

  weigh(answer: Uint8Array): void {
    weighAnswer(this.#capacity, this.#taken, answer)
  }
}

/** Gives back all that the request took; does nothing the second time. */
export const letGo = (capacity: Capacity, taken: Taken): void => {
  const { calls, bytes, overload } = capacity
  leaveVendor(capacity, taken)
  if (taken.caller !== undefined) overload.leave(taken.caller)
  taken.caller = undefined
  const owner = ownerOf(taken)
  if (taken.places > 0) calls.giveBack(owner, taken.places)
  if (taken.bytes > 0) bytes.giveBack(owner, taken.bytes)
  taken.places = 0
  taken.bytes = 0
}

const ownerOf = (taken: Taken): string => {
  taken.owner ??= 'guests'
  return taken.owner
}

/**
 * Admits a call, or turns it away before any work is done for it. `caller` is the credential as sent, valid or not:
 * here it only tells callers apart. Throws the 503 of a full or overloaded process.
 */
export const enter = (capacity: Capacity, openCallsMax: number, caller: string, taken: Taken): void => {
  if (capacity.calls.used() >= openCallsMax) throw tooBusy()
  if (capacity.overload.turnsAway(caller)) throw overloaded()
  capacity.overload.enter(caller)
  taken.caller = caller
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

type ShareTaken =
  | 'taken'
  /** Nobody can have that much now. */
  | 'none left'
  /** This owner already has as much as one may have. */
  | 'own share used'

type Shares = {
  take(owner: string, amount: number): ShareTaken
  giveBack(owner: string, amount: number): void
  readonly used: () => number
}

/** `percent`: how much of `most` one owner may have. */
export const newShares = (most: number, percent: number): Shares => {
  const ownMost = Math.max(1, Math.floor((most * percent) / 100))
  const owners = new Map<string, number>()
  let used = 0
  return {
    take: (owner, amount) => {
      if (used + amount > most) return 'none left'
      const own = (owners.get(owner) ?? 0) + amount
      if (own > ownMost) return 'own share used'
      used += amount
      owners.set(owner, own)
      return 'taken'
    },
    giveBack: (owner, amount) => {
      used -= amount
      const own = (owners.get(owner) ?? 0) - amount
      if (own > 0) owners.set(owner, own)
      else owners.delete(owner)
    },
    used: () => used,
  }
}
