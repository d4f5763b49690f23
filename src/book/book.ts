/**
 * The book of one process: the keys it knows, the money it leased, the calls it has open; backed by the store. This
 * file puts the parts together. `callers.ts` knows who calls; `open-holds.ts` holds their money, taken from the
 * `lease-pool.ts`; `writer.ts` makes it durable; `heartbeat.ts` and `news.ts` bring what others changed; `upkeep.ts` is
 * the process's life and its end.
 */

import { Lately } from '../core/lately.ts'
import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import type { Store } from '../store/port.ts'
import { AdmissionGate } from './admission-gate.ts'
import { createCallers, createKnownKeys, createKnownRules } from './callers.ts'
import type { Book, BookHealth } from './contract.ts'
import { createHeartbeat, type Heartbeat, type Nudge } from './heartbeat.ts'
import { createKeyChanges } from './key-changes.ts'
import { LeasePool } from './lease-pool.ts'
import { createNews, newHeard } from './news.ts'
import { OpenHolds } from './open-holds.ts'
import { OperationQueue } from './operation-queue.ts'
import type { Outbox } from './outbox.ts'
import { createRates } from './rates.ts'
import { newTouch } from './touch.ts'
import { drain, expireForEver, reapForEver, settleLeft } from './upkeep.ts'
import { type Act, beatsAfterLoss } from './went-back.ts'
import { Writer } from './writer.ts'

type GivenParts = {
  readonly store: Pick<
    Store,
    'instances' | 'keys' | 'ledger' | 'rates' | 'subWallets' | 'tenants' | 'wallets'
  >
  readonly clock: Clock
  /** Name of this process; never used again after it ends. */
  readonly instance: InstanceId
  readonly random: () => number
  readonly log: Log
  readonly nudge?: Nudge
  /** Where settlements wait while the ledger is away, or cannot be written. */
  readonly outbox?: Outbox | undefined
  /** Whether the ledger is in this process, which knows of each commit whether it was made. */
  readonly local?: boolean
  /** The longest time a call may run; after it, orphans of a crash are charged and closed. */
  readonly longestCallMs?: number
  readonly meters?: Pick<Meters, 'committed' | 'commitFailed' | 'ledgerLost' | 'putBack'> | undefined
  /** What this process made lately for people, to be made again if the ledger loses it. */
  readonly acts?: Lately<Act>
  /** How many leases may be kept for keys that do not call now. */
  readonly keptMost?: number | undefined
}

type BookParts = ReturnType<typeof partsOf>

const partsOf = (given: GivenParts) => {
  const { store, clock, instance, random, log, nudge, outbox, local, meters, keptMost } = given
  const { acts = new Lately<Act>() } = given
  const rules = createKnownRules(store.wallets)
  const keys = createKnownKeys(store.keys, clock, rules)
  const queue = new OperationQueue()
  const writer: Writer = new Writer({
    store: store.ledger,
    clock,
    instance,
    log,
    outbox,
    local,
    queue,
    meters,
    inTouch: () => heartbeat.fresh(),
  })
  const heard = newHeard()
  const told = new Set<string>()
  const { beat, losses } = beatsAfterLoss({
    store,
    told,
    clock,
    log,
    writer,
    heard,
    acts,
    meters,
    leases: () => leases,
  })
  const heartbeat: Heartbeat = createHeartbeat({
    store: { ...store.instances, beat },
    clock,
    instance,
    log,
    nudge,
    meters,
    onBeat: (beat, how) => onBeat(beat, how),
  })
  const touch = newTouch(heartbeat.fresh)
  const gate = new AdmissionGate({ clock, keys, heartbeat, queue })
  const stillRefused = gate.stillRefused.bind(gate)
  const draining = () => gate.draining
  const leases: LeasePool = new LeasePool({
    store: store.ledger,
    clock,
    instance,
    random,
    keys,
    stillRefused,
    draining,
    keptMost,
  })
  const holds = new OpenHolds({ gate, heartbeat, keys, leases, touch, writer, log, instance })
  const rates = createRates({ store: store.rates, clock, instance, heartbeat, draining })
  const learn = createNews({ keys, rules, leases, clock, heard })
  let lossesSeen = 0
  const onBeat: Parameters<typeof createHeartbeat>[0]['onBeat'] = (beat, { unbroken, forgotMs }): void => {
    const isSound = unbroken && losses() === lossesSeen
    lossesSeen = losses()
    void learn({ keys: beat.changed, rules: beat.rules, subWallets: beat.subWallets })
    leases.beaten({ ...beat, unbroken })
    rates.beaten({ ...beat, doubtFromMs: isSound ? forgotMs : Number.NEGATIVE_INFINITY })
  }
  return { ...given, nudge, losses, keys, rules, heartbeat, touch, writer, gate, leases, holds, rates, learn }
}

export const createBook = (given: GivenParts): Book => {
  const parts = partsOf(given)
  const { keys, holds, touch } = parts
  return {
    ...createCallers(parts),
    ...createKeyChanges(parts),
    whileInTouch: touch.insist,
    lookAgain: keys.lookAgain,
    isEndedTrial: keys.isEndedTrial,
    onKeyChanged: keys.onChanged,
    hold: holds.hold.bind(holds),
    holdBeside: holds.holdBeside.bind(holds),
    start: () => start(parts),
    health: () => healthOf(parts),
    leased: () => parts.leases.sums(),
    drain: (deadlineMs, it = {}) => drain(parts, deadlineMs, it),
  }
}

const start = async (parts: BookParts): Promise<void> => {
  const { outbox, writer, heartbeat, log } = parts
  const leftSettled = settleLeft(outbox, writer).catch((error: unknown) =>
    log.error('a journal cannot be read', { error: String(error) }),
  )
  await heartbeat.start()
  void reapForEver(parts)
  void expireForEver(parts)
  await leftSettled
}

const healthOf = ({ heartbeat, gate, holds, writer, outbox }: BookParts): BookHealth => ({
  fresh: heartbeat.fresh(),
  draining: gate.draining,
  openCalls: holds.count,
  queued: writer.queued(),
  oldestQueuedMs: writer.oldestMs(),
  beatAgeMs: heartbeat.ageMs(),
  instances: heartbeat.liveInstances(),
  journal: outbox?.waiting() ?? 0,
})
