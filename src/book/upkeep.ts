/**
 * What a process does by itself while it lives: it ends waits in time, and settles what dead processes left. And its orderly
 * end: open calls end, what they queued is committed, leases go back.
 */
import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { InstanceStore } from '../store/calls/instance-port.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { DrainWith } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { LeasePool } from './lease-pool.ts'
import type { OpenHolds } from './open-holds.ts'
import type { Outbox } from './outbox.ts'
import type { Rates } from './rates.ts'
import type { Touch } from './touch.ts'
import type { Writer } from './writer.ts'

const REAP_MS = 1_000
const EXPIRE_MS = 250
const REAP_GRACE_MS = 1_000
const LONGEST_CALL_MS = 15 * 60_000
/** The part of the drain time that is reserved for settling calls that were cut, and for leaving the ledger. */
const LEAVE_MS = 2_000

type UpkeepParts = {
  readonly store: {
    readonly ledger: Pick<LedgerStore, 'reap'>
    readonly instances: Pick<InstanceStore, 'leave'>
  }
  readonly clock: Clock
  readonly instance: InstanceId
  readonly random: () => number
  readonly log: Log
  readonly longestCallMs?: number
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'beatNow' | 'fresh' | 'steady' | 'stop'>
  readonly holds: OpenHolds
  readonly leases: LeasePool
  readonly rates: Pick<Rates, 'end'>
  readonly touch: Touch
  readonly writer: Writer
}

/** Charges and closes calls of processes that died, until this process drains. */
export const reapForEver = async (parts: UpkeepParts): Promise<void> => {
  const { store, clock, random, log, gate, heartbeat } = parts
  while (!gate.draining) {
    await clock.sleep(REAP_MS * (1 + random()))
    if (gate.draining) return
    // Read immediately before, so that the clock can hardly jump unnoticed in between.
    await heartbeat.beatNow()
    // Out of touch it may not have put back yet what the ledger lost.
    if (!heartbeat.fresh() || !heartbeat.steady()) continue
    const reaped = await store.ledger
      .reap({ graceMs: REAP_GRACE_MS, longestCallMs: parts.longestCallMs ?? LONGEST_CALL_MS })
      .catch(() => undefined)
    if (reaped !== undefined && reaped.recovered > 0)
      log.warn('orphaned calls were charged', { recovered: reaped.recovered })
  }
}

/** Not part of the heartbeat, so that intents are given up in time while the ledger does not answer. */
export const expireForEver = async ({ clock, gate, holds, touch, writer }: UpkeepParts): Promise<void> => {
  while (!gate.draining || holds.count > 0) {
    await clock.sleep(EXPIRE_MS)
    writer.expire()
    touch.check()
  }
}

/** Brings into the ledger what killed processes left in their outboxes. */
export const settleLeft = async (outbox: Outbox | undefined, writer: Writer): Promise<void> => {
  for (const { settles, remove } of (await outbox?.left()) ?? []) {
    const charged = await Promise.all(settles.map((settle) => writer.resettle(settle)))
    if (charged.every((one) => one)) await remove()
  }
}

/** See Book. */
export const drain = async (
  parts: UpkeepParts,
  deadlineMs: number,
  { cut, others }: DrainWith,
): Promise<void> => {
  const { clock, gate, holds, writer } = parts
  gate.close()
  const leaveMs = Math.min(LEAVE_MS, deadlineMs / 2)
  const callsMs = deadlineMs - leaveMs
  const ended = Promise.all([holds.allEnded(), others?.(callsMs)])
  const inTime = await Promise.race([ended, clock.sleep(callsMs)])
  if (inTime === undefined) cut?.()
  const settled = ended.then(() => writer.idle())
  await Promise.race([settled, clock.sleep(leaveMs / 2)])
  await Promise.race([leave(parts), clock.sleep(leaveMs / 2)])
}

const leave = async ({ store, instance, heartbeat, leases, rates }: UpkeepParts): Promise<void> => {
  await heartbeat.stop()
  await Promise.all([leases.giveBackAll(), rates.end()])
  await store.instances.leave(instance).catch(() => undefined)
}
