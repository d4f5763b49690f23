/**
 * Lines that their vendor runs in its own batches: they are submitted in parts, of one model each, and parts are asked for
 * until they have ended. A part and its lines are durable before the vendor hears of it.
 */
import { warning } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { Refusal } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import { type Deployment, orderOf } from '../../routing/deployments.ts'
import { vendorDown } from '../../routing/vendor-errors.ts'
import type { BatchPart } from '../../store/batches/batch-port.ts'
import type { Gateway, Present } from '../parts/gateway.ts'
import { askForPart, PART_AGAIN_MS } from './ask-part.ts'
import { nextPlaceOn, placeOfPart } from './part-place.ts'
import { readResults } from './part-results.ts'
import { endOf } from './run-line.ts'
import { submitPart } from './submit-part.ts'
import { tidyPart } from './tidy-part.ts'
import { keyOf, noteMoney, PARTS, type Part, stopFor, type Working } from './working.ts'

const LOOK_MS = 1_000
/** Parts that one batch has at vendors at once. */
const PARTS_MOST = 20
/** A young part is asked for more often than an old one: after a tenth of its age, from one second to a minute. */
const PAUSE_LEAST_MS = 1_000
const PAUSE_MOST_MS = 60_000
const AGE_SHARE = 10
/** How often in a row a vendor may not know a part, and how often results may lack lines. */
const MISSING_MAX = 3
const READS_MAX = 3
/** How long after the batch has expired its vendor may still end a part. */
const GRACE_MS = 30 * 60_000

type Keeping = {
  readonly present: Present
  /** Whether this process goes on with its batches. */
  readonly goesOn: () => boolean
}

/** Runs until the batch has ended, or is no longer this process's. */
export const keepParts = async ({ present, goesOn }: Keeping, it: Working): Promise<void> => {
  const { clock, log } = present.gateway
  let knows = false
  for (; goesOn() && !it.lost && !it.over; await clock.sleep(LOOK_MS)) {
    if (it.batch.leaves) continue
    // While one is submitted or read, this process does not leave.
    it.open.add(PARTS)
    try {
      if (!knows) await adoptParts(present.gateway, it)
      knows = true
      await look(present.gateway, it)
    } catch (error) {
      // A part may have begun, and only the answer was lost.
      knows = false
      log.warn('a step of a batch at its vendor failed', { call: it.batch.id, error: messageOf(error) })
    }
    it.open.delete(PARTS)
  }
}

/** Goes on with parts that others left, or that this process does not know of. What was not submitted was no fault of the vendor's. */
const adoptParts = async (gateway: Gateway, it: Working): Promise<void> => {
  for (const one of await gateway.store.batches.parts(it.batch.id))
    if (!it.parts.has(one.id))
      it.parts.set(one.id, newPart(gateway, one, one.ref === undefined ? 0 : PART_AGAIN_MS))
}

const newPart = ({ clock }: Gateway, part: BatchPart, againMs: number): Part => {
  const sinceMs = clock.monotonicMs()
  return { ...part, sinceMs, dueMs: sinceMs, missing: 0, reads: 0, cancelled: false, againMs }
}

const look = async (gateway: Gateway, it: Working): Promise<void> => {
  const { clock, log } = gateway
  for (const part of it.parts.values()) {
    if (part.dueMs > clock.monotonicMs() || it.batch.leaves) continue
    await follow(gateway, it, part).catch(
      warning(log, 'a part of a batch could not be asked for', { call: part.id }),
    )
    const nowMs = clock.monotonicMs()
    const age = (nowMs - part.sinceMs) / AGE_SHARE
    const pauseMs = Math.min(PAUSE_MOST_MS, Math.max(PAUSE_LEAST_MS, age))
    part.dueMs = nowMs + pauseMs * (1 + 0.2 * gateway.random())
    if (isOverdue(it) && it.parts.has(part.id)) await giveUp(gateway, it, part)
  }
  if (!gateway.book.health().fresh) return
  for (const route of it.routes)
    while (it.batch.waiting > 0 && it.parts.size < PARTS_MOST && (await submitNext(gateway, it, route)));
}

/** Submits a part of the next lines that go this way. False if there is none. */
const submitNext = async (gateway: Gateway, it: Working, route: string): Promise<boolean> => {
  const { store, clock, instance, offering, random } = gateway
  const { batch } = it
  const place = nextPlaceOn(gateway, route)
  if (place === undefined) return false
  const key = await keyOf(gateway, batch)
  if (key instanceof Refusal) {
    await stopFor(gateway, it, key)
    return false
  }
  const nowMs = clock.monotonicMs()
  const [at] = orderOf(place.deployments, offering.traffic, { nowMs, random })
  if (at === undefined) return false
  const { callsMost, bytesMost } = place.form
  const part = newPart(gateway, { id: newId(), route, deployment: at.key }, PART_AGAIN_MS)
  const taken = await store.batches.take(batch.id, {
    ...{ owner: instance, route, part: { ...part, bytesMost } },
    callIds: Array.from({ length: callsMost }, () => newId()),
  })
  if (taken === undefined) return false
  await noteMoney(gateway, it, route, taken)
  if (taken.lines.length === 0) return false
  it.parts.set(part.id, part)
  const done = await submitPart(gateway, {
    ...{ it, part, at, key },
    ...{ form: place.form, named: place.named, bucket: place.bucket, lines: taken.lines },
  })
  if (done === 'ended') await forget(gateway, it, part)
  return true
}

/** The vendor's key that a part was submitted with, or another one if that is gone. */
const placedAt = (
  { deployments }: NonNullable<ReturnType<typeof placeOfPart>>,
  part: Part,
): Deployment | undefined => deployments.find(({ key }) => key === part.deployment) ?? deployments[0]

/** Asks for a part, and reads its results when it has ended. */
const follow = async (gateway: Gateway, it: Working, part: Part): Promise<void> => {
  const place = placeOfPart(gateway, part)
  const at = place && placedAt(place, part)
  // Another process may sell what this one does not.
  if (place === undefined || at === undefined) return
  const asked = { form: place.form, at, it, part, named: place.named, bucket: place.bucket }
  const state = await askForPart(gateway, asked)
  if (state === 'running') {
    part.missing = 0
    return
  }
  if (state === 'unknown' && ++part.missing < MISSING_MAX) return
  if (state === 'unknown' || state === 'lost') return lose(gateway, it, part)
  const read = await readResults(gateway, asked, state)
  if (read === 'later') return
  const hasMore = state.files.length + state.lines.length > 0
  if (read === 'some' && hasMore && ++part.reads < READS_MAX) return
  await lose(gateway, it, part)
}

/** Lines of a part without a result: they were not run, as far as their vendor says. */
const lose = async (gateway: Gateway, it: Working, part: Part): Promise<void> => {
  const lines = await gateway.store.batches.partLines(part.id)
  const vendor = part.deployment.split('#')[0] ?? ''
  const lost = vendorDown(vendor, undefined)
  if (lines.length > 0)
    gateway.log.warn('lines of a batch have no result of their vendor', { call: part.id, ops: lines.length })
  await Promise.all(lines.map((line) => it.endLine(endOf(lost, line, part.againMs))))
  await forget(gateway, it, part)
}

const isOverdue = ({ batch: { now, expiresAt } }: Working): boolean => now >= expiresAt + GRACE_MS

/** Its vendor never ended it: its lines expire. */
const giveUp = async (gateway: Gateway, it: Working, part: Part): Promise<void> => {
  const lines = await gateway.store.batches.partLines(part.id)
  gateway.log.warn('a part of a batch did not end in time; what its vendor bills is a loss', {
    ...{ call: part.id, vendor: part.deployment.split('#')[0] ?? '', ops: lines.length },
  })
  await Promise.all(lines.map(({ n, callId }) => it.endLine({ n, callId, state: 'waiting', pauseMs: 0 })))
  await forget(gateway, it, part)
}

/** Its objects are removed first: who finds the part after a kill removes what is left. */
const forget = async (gateway: Gateway, it: Working, part: Part): Promise<void> => {
  const place = placeOfPart(gateway, part)
  const at = place && placedAt(place, part)
  if (place !== undefined && at !== undefined) await tidyPart(gateway, { ...place, at, it, part })
  await gateway.store.batches.endPart(part.id)
  it.parts.delete(part.id)
}
