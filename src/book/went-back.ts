/**
 * A ledger that went back. When the primary database is lost and a standby takes over that lagged behind it, the last
 * things that were acknowledged are missing: charges that callers were told, changes of keys, what people made. Each process
 * remembers for a while what it charged and made and which states of keys it heard of, notices the loss with its next
 * heartbeat, and puts back what is missing before it serves again: revocations first, because a revoked key must not work
 * again; then what was made, and the charges.
 */

import type { Lately } from '../core/lately.ts'
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import type { Settle } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import { type InstanceStore, isOlder } from '../store/calls/instance-port.ts'
import { Violation } from '../store/engine/engine.ts'
import { StoreFault } from '../store/faults.ts'
import type { Store } from '../store/port.ts'
import { isRevoked, type Key, type KeyId } from '../tenancy/key.ts'
import type { LeasePool } from './lease-pool.ts'
import type { Writer } from './writer.ts'

/** Something that a process did for people and acknowledged. */
export type Act = {
  /** What it made, for the log. */
  readonly what: string
  /** The keys that it made. */
  readonly keys: readonly KeyId[]
  /** Does it once more, and returns whether it was missing. */
  readonly again: () => Promise<boolean>
}

type WentBackParts = {
  readonly store: Pick<Store, 'instances' | 'keys' | 'ledger'>
  readonly clock: Clock
  readonly log: Log
  readonly writer: Writer
  /** The states of keys that this process heard of lately: all that any process acknowledged. */
  readonly heard: Lately<Key>
  /** What this process made lately. */
  readonly acts: Lately<Act>
  readonly leases: () => LeasePool
  readonly meters?: Pick<Meters, 'putBack'> | undefined
}

/** How many charges are looked up at once. */
const LOOKUPS = 100
/** After as many heartbeats that could not put back what was lost, the process serves without it. */
const TRIES = 20

/** The heartbeats of a process that first puts back what the ledger has lost since the one before. */
export const beatsAfterLoss = (parts: WentBackParts): InstanceStore['beat'] => {
  const { store, clock, log } = parts
  let failed = false
  let tries = 0
  let goodMs = Number.NEGATIVE_INFINITY
  const putBackOrGoOn = async (): Promise<void> => {
    try {
      await putBack(parts, goodMs)
    } catch (error) {
      if (++tries < TRIES) throw error
      log.error('what the ledger had lost cannot be put back', { error: String(error) })
    }
    tries = 0
  }
  return async (instance, seen, nudge) => {
    const startedMs = clock.monotonicMs()
    try {
      const beat = await store.instances.beat(instance, seen, nudge)
      if (failed || isOlder(beat, seen)) await putBackOrGoOn()
      failed = false
      goodMs = startedMs
      return beat
    } catch (error) {
      failed = true
      throw error
    }
  }
}

/** `goodMs`: what was acknowledged before it was acknowledged by the ledger that may be lost. */
const putBack = async (parts: WentBackParts, goodMs: number): Promise<void> => {
  const { writer, log, meters } = parts
  const last = lastStates(parts)
  const revoked = await putKeysBack(parts, last)
  const acts = await doAgain(parts, last)
  // Those that were made again, as they were changed since.
  const keys = revoked.put + (await putKeysBack(parts, revoked.missing, tellMissing(log))).put
  const lost = await lostCharges(parts, goodMs)
  if (keys + acts + lost.length === 0) return
  // What it lent is lost too: nobody knows what is left of any lease.
  parts.leases().giveUp()
  const back = await Promise.all(lost.map((settle) => writer.resettle(settle)))
  const charges = back.filter((has) => has).length
  meters?.putBack(charges + keys + acts)
  log.error('the ledger went back: what it had acknowledged was missing and is put back', {
    recovered: charges,
    key_changes: keys,
    ops: acts,
  })
}

type States = ReadonlyMap<KeyId, Key>

/** The last state of each key that was heard of. All processes hear of each change before it is acknowledged. */
const lastStates = ({ clock, heard }: WentBackParts): States => {
  const last = new Map<KeyId, Key>()
  for (const { value } of heard.all(clock.monotonicMs()))
    if ((last.get(value.id)?.version ?? 0) <= value.version) last.set(value.id, value)
  return last
}

const tellMissing = (log: Log) => (key: KeyId) =>
  log.error('a key that was made lately is lost with the former ledger', { key })

/**
 * Writes the states that the ledger lacks of keys that it has. The last version is the same for all processes, so whoever
 * comes first writes it.
 */
const putKeysBack = async (
  { store: { keys } }: WentBackParts,
  states: States,
  onMissing: (key: KeyId) => void = () => undefined,
): Promise<{ readonly put: number; readonly missing: States }> => {
  const missing = new Map<KeyId, Key>()
  let put = 0
  for (const [id, key] of states) {
    const kept = await keys.key(id)
    if (kept === undefined) {
      missing.set(id, key)
      onMissing(id)
    } else if (kept.version < key.version && (await keys.putBack(key)) !== undefined) put++
  }
  return { put, missing }
}

/** Whether it was missing; one that collides with what is there was not. */
const doneAgain = async ({ again }: Act): Promise<boolean> => {
  try {
    return await again()
  } catch (error) {
    if (error instanceof Violation) return false
    throw error
  }
}

/** Does again what this process made and the ledger lacks, in order, but no key that was revoked since. */
const doAgain = async ({ clock, acts, log }: WentBackParts, states: States): Promise<number> => {
  const isRevokedSince = (id: KeyId): boolean => {
    const state = states.get(id)
    return state !== undefined && isRevoked(state)
  }
  let missing = 0
  for (const { value: act } of acts.all(clock.monotonicMs())) {
    if (act.keys.some(isRevokedSince)) continue
    try {
      if (await doneAgain(act)) missing++
    } catch (error) {
      if (error instanceof StoreFault) throw error
      log.error('what was acknowledged is lost with the former ledger and cannot be done again', {
        kind: act.what,
        error: messageOf(error),
      })
    }
  }
  return missing
}

/**
 * Charges that the ledger acknowledged and does not have. A standby has all up to some moment and nothing after it, so
 * of those before the last good heartbeat the first missing one is found by halving; later ones may be of either.
 */
const lostCharges = async (
  { store: { ledger }, clock, writer }: WentBackParts,
  goodMs: number,
): Promise<readonly Settle[]> => {
  const all = writer.acknowledged.all(clock.monotonicMs())
  const has = async (settle: Settle | undefined): Promise<boolean> =>
    settle !== undefined && (await ledger.transfersOf(settle.callId)).length > 0
  let [kept, end] = [0, all.filter(({ atMs }) => atMs < goodMs).length]
  while (kept < end) {
    const middle = (kept + end) >> 1
    if (await has(all[middle]?.value)) kept = middle + 1
    else end = middle
  }
  const lost: Settle[] = []
  for (let from = kept; from < all.length; from += LOOKUPS) {
    const some = all.slice(from, from + LOOKUPS).map(({ value }) => value)
    const there = await Promise.all(some.map(has))
    lost.push(...some.filter((_, at) => there[at] === false))
  }
  return lost
}
