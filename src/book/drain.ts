/** The orderly end of a process: open calls end, what they queued is committed, leases go back. */
import type { Clock } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { InstanceStore } from '../store/calls/instance-port.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { DrainWith } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { LeasePool } from './lease-pool.ts'
import type { OpenHolds } from './open-holds.ts'
import type { Rates } from './rates.ts'
import type { Writer } from './writer.ts'

/** The part of the drain time that is reserved for settling calls that were cut, and for leaving the ledger. */
const LEAVE_MS = 2_000

type DrainParts = {
  readonly store: { readonly instances: Pick<InstanceStore, 'leave'> }
  readonly clock: Clock
  readonly instance: InstanceId
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'stop'>
  readonly holds: OpenHolds
  readonly leases: LeasePool
  readonly rates: Pick<Rates, 'end'>
  readonly writer: Writer
}

/** See Book. */
export const drain = async (
  parts: DrainParts,
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

const leave = async ({ store, instance, heartbeat, leases, rates }: DrainParts): Promise<void> => {
  await heartbeat.stop()
  await Promise.all([leases.giveBackAll(), rates.end()])
  await store.instances.leave(instance).catch(() => undefined)
}
