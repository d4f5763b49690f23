/**
 * A ledger that went back. When the primary database is lost and a standby takes over that lagged behind it, the last
 * things that were acknowledged are missing: charges that callers were told, changes of keys and of limits, what people made. Each process
 * remembers for a while what it charged and made and which states of keys and limits it heard of, notices the loss with its next
 * heartbeat, and puts back what is missing before it serves again: revocations first, because a revoked key must not work
 * again; then what was made, limits, and the charges.
 */

import type { Lately } from '../core/lately.ts'
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock, Instant } from '../core/time.ts'
import type { Settle } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import type { Beat, InstanceStore } from '../store/calls/instance-port.ts'
import { Violation } from '../store/engine/engine.ts'
import { Elsewhere, StoreFault } from '../store/faults.ts'
import type { Store } from '../store/port.ts'
import { isRevoked, type Key, type KeyId } from '../tenancy/key.ts'
import type { LeasePool } from './lease-pool.ts'
import type { Heard } from './news.ts'
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
  readonly store: Pick<Store, 'instances' | 'keys' | 'ledger' | 'subWallets' | 'wallets'>
  readonly clock: Clock
  readonly log: Log
  readonly writer: Writer
  readonly heard: Heard
  /** What this process made lately. */
  readonly acts: Lately<Act>
  readonly leases: () => LeasePool
  /** Keys that are known to be lost. */
  readonly told: Set<KeyId>
  readonly meters?: Pick<Meters, 'putBack'> | undefined
}

/** How many are looked up at once. */
const LOOKUPS = 1_000
/** After as many heartbeats that could not put back what was lost, the process serves without it. */
const TRIES = 20

type BeatsAfterLoss = {
  readonly beat: InstanceStore['beat']
  /** How often another server took over, or the ledger was found to be older. */
  readonly losses: () => number
}

/** What the last heartbeat saw: the ledger's time, and which server answered. */
type Last = { readonly seen: Instant | undefined; readonly server: string | undefined }

/** Whether another server answers than did last, or one without the last heartbeat that it acknowledged. */
const isAnother = ({ before, server }: Beat, last: Last): boolean =>
  last.seen !== undefined && (server !== last.server || (before !== undefined && before < last.seen))

/** The heartbeats of a process that first puts back what the ledger has lost since the one before. */
export const beatsAfterLoss = (parts: WentBackParts): BeatsAfterLoss => {
  const { store, log } = parts
  let server: string | undefined
  let losses = 0
  let failed = false
  let tries = 0
  const putBackOrGoOn = async (): Promise<void> => {
    try {
      await putBack(parts)
    } catch (error) {
      if (++tries < TRIES) throw error
      log.error('what the ledger had lost cannot be put back', { error: String(error) })
    }
    tries = 0
  }
  const beat: InstanceStore['beat'] = async (instance, seen, nudge) => {
    try {
      const beat = await store.instances.beat(instance, seen, nudge)
      const isLoss = isAnother(beat, { seen, server })
      server = beat.server
      if (isLoss) losses++
      if (failed || isLoss) await putBackOrGoOn()
      failed = false
      return beat
    } catch (error) {
      failed = true
      throw error
    }
  }
  return { beat, losses: () => losses }
}

const putBack = async (parts: WentBackParts): Promise<void> => {
  const { writer, log, meters } = parts
  const last = parts.heard.keys.all(parts.clock.monotonicMs())
  const revoked = await putKeysBack(parts, last)
  const acts = await doAgain(parts, last)
  // Those that were made again, as they were changed since.
  const keys = revoked.put + (await putKeysBack(parts, revoked.missing, tellMissing(log, parts.told))).put
  const settings = await putSettingsBack(parts)
  const lost = await lostCharges(parts)
  // The former ledger had forgotten them; this one may take them for open, and would charge them some day.
  for (const callId of writer.acknowledged.free.all()) writer.void(callId, () => undefined)
  if (keys + acts + settings + lost.length === 0) return
  // What it lent is lost too: nobody knows what is left of any lease.
  parts.leases().giveUp()
  const back = await Promise.all(lost.map((settle) => chargeAgain(writer, settle)))
  const charges = back.filter((has) => has).length
  meters?.putBack(charges + keys + acts + settings)
  log.error('the ledger went back: what it had acknowledged was missing and is put back', {
    recovered: charges,
    key_changes: keys,
    settings,
    ops: acts,
  })
}

/**
 * The lease may be smaller than it was, or have been charged otherwise. A call that is not open is charged late, under its
 * limits or by the house.
 */
const chargeAgain = async (writer: Writer, settle: Settle): Promise<boolean> => {
  if (await writer.resettle(settle)) return true
  await new Promise<unknown>((done) => writer.void(settle.callId, done))
  return writer.resettle(settle)
}

type States = ReadonlyMap<KeyId, Key>

/** Tells of each key once. */
const tellMissing = (log: Log, told: Set<KeyId>) => (key: KeyId) => {
  if (!told.has(key)) log.error('a key that was made lately is lost with the former ledger', { key })
  told.add(key)
}

/**
 * Writes the states that the ledger lacks of keys that it has. The last version is the same for all processes, so whoever
 * comes first writes it. Keys whose organisation leaves it, or has left, are changed by its move alone.
 */
const putKeysBack = async (
  { store: { keys } }: WentBackParts,
  states: States,
  onMissing: (key: KeyId) => void = () => undefined,
): Promise<{ readonly put: number; readonly missing: States }> => {
  const kept = new Map<KeyId, Key>()
  for (const lot of inLots([...states.keys()]))
    for (const key of await keys.keysOf(lot)) kept.set(key.id, key)
  const missing = new Map<KeyId, Key>()
  let put = 0
  for (const [id, key] of states) {
    const there = kept.get(id)
    if (there === undefined) {
      missing.set(id, key)
      onMissing(id)
    } else if (
      there.version < key.version &&
      there.cell === undefined &&
      (await keys.putBack(key)) !== undefined
    )
      put++
  }
  return { put, missing }
}

/** The rules of wallets and the ceilings of sub-wallets; those of another process may be written by now. */
const putSettingsBack = async ({
  store: { wallets, subWallets },
  clock,
  heard,
}: WentBackParts): Promise<number> => {
  let put = 0
  for (const known of heard.rules.all(clock.monotonicMs()).values())
    if (await wallets.putRulesBack(known)) put++
  for (const sub of heard.subs.all(clock.monotonicMs()).values()) if (await subWallets.putBack(sub)) put++
  return put
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
      if (error instanceof StoreFault && !(error instanceof Elsewhere)) throw error
      log.error('what was acknowledged is lost with the former ledger and cannot be done again', {
        kind: act.what,
        error: messageOf(error),
      })
    }
  }
  return missing
}

/** Runs of what is asked for at once. */
const inLots = <One>(all: readonly One[]): readonly (readonly One[])[] =>
  Array.from({ length: Math.ceil(all.length / LOOKUPS) }, (_, lot) =>
    all.slice(lot * LOOKUPS, (lot + 1) * LOOKUPS),
  )

/** Charges that the ledger acknowledged and does not have. */
const lostCharges = async ({
  store: { ledger },
  clock,
  writer,
}: WentBackParts): Promise<readonly Settle[]> => {
  const lost: Settle[] = []
  for (const lot of inLots(writer.acknowledged.charges.all(clock.monotonicMs()))) {
    const there = await ledger.charged(lot.map(({ value }) => value.callId))
    lost.push(...lot.flatMap(({ value }) => (there.has(value.callId) ? [] : [value])))
  }
  return lost
}
