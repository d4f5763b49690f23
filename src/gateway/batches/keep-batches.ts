/**
 * Runs batches while a process runs: sends their lines behind all other calls, ends them, and takes over those of silent
 * processes. Each batch belongs to one process at a time, and each try of a line to one call; a try that was taken over
 * cannot end its line.
 */

import type { Assets } from '../../assets/assets.ts'
import { warning } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import type { LineEnd, TendedBatch } from '../../store/batches/batch-port.ts'
import type { Gateway, Present } from '../parts/gateway.ts'
import { OWNER_MS } from '../parts/jobs.ts'
import { sendBatchWebhooks } from './batch-webhooks.ts'
import { behindCalls } from './behind-calls.ts'
import { endBatch } from './end-batch.ts'
import { keepParts } from './keep-parts.ts'
import { newEnds } from './line-ends.ts'
import { nextPlaceOn } from './part-place.ts'
import { lineReader } from './read-lines.ts'
import { endAndSend, type Keeping, roomFor, sendOn } from './send-lines.ts'
import type { Working } from './working.ts'

const TICK_MS = 1_000
/** How long a batch waits that has nothing to send, and before a step that failed is tried again. */
const IDLE_MS = 100
const AGAIN_MS = 1_000
/** A line whose process died is sent again; one that kills processes is not. */
const TRIES = 3

/** Runs until the returned function is called; that resolves within its time, when no line is open here any more. */
export const keepBatches = (present: Present, assets: Assets): ((forMs: number) => Promise<void>) => {
  const { clock, log, store, instance } = present.gateway
  const keeping: Keeping = {
    ...{ present, assets, working: new Map(), open: 0, stopped: false, left: false },
    behind: behindCalls(present.gateway),
  }
  const run = async (): Promise<void> => {
    for (; !keeping.left; await clock.sleep(TICK_MS)) {
      await tend(keeping).catch(warning(log, 'batches could not be looked after'))
    }
  }
  void run()
  return async (forMs) => {
    keeping.stopped = true
    const untilMs = clock.monotonicMs() + forMs
    while (keeping.working.size > 0 && clock.monotonicMs() < untilMs) await clock.sleep(IDLE_MS)
    keeping.left = true
    await store.batches.leave(instance).catch(warning(log, 'batches could not be left to others'))
  }
}

const tend = async (keeping: Keeping): Promise<void> => {
  const { gateway } = keeping.present
  const { store, instance, memory } = gateway
  const mine = new Map((await store.batches.tend(instance, OWNER_MS)).map((batch) => [batch.id, batch]))
  for (const [id, working] of keeping.working) {
    const batch = mine.get(id)
    if (batch === undefined) working.lost = true
    else working.batch = batch
  }
  for (const batch of mine.values()) {
    if (keeping.stopped || keeping.working.has(batch.id)) continue
    // Its process died while it read the lines: nothing is held, and its caller was told of no batch.
    if (batch.state === 'validating') {
      if (!memory.jobs.newBatches.has(batch.id)) await store.batches.drop(batch.id, instance)
    } else void work(keeping, batch)
  }
  await sendBatchWebhooks(gateway)
}

/** Runs a batch to its end, or until it is another process's. */
const work = async (keeping: Keeping, batch: TendedBatch): Promise<void> => {
  const { gateway } = keeping.present
  const { clock, log } = gateway
  const it: Working = {
    ...{ batch, lost: false, over: false, knows: false, open: new Set<string>(), routes: [] },
    endLine: newEnds(gateway, {
      ...{ id: batch.id, behind: keeping.behind },
      write: (ends) => endAndSend(keeping, it, ends),
    }),
    read: lineReader(keeping.assets, batch.input),
    readOne: lineReader(keeping.assets, batch.input, 0),
    ended: Promise.withResolvers(),
    shortMs: new Map(),
    parts: new Map(),
  }
  keeping.working.set(batch.id, it)
  while (!it.lost && !it.over && !(keeping.stopped && it.open.size === 0)) {
    try {
      if (!it.knows) await adopt(keeping, it)
      if (await step(keeping, it)) break
    } catch (error) {
      log.warn('a step of a batch failed', { call: batch.id, error: messageOf(error) })
      await clock.sleep(AGAIN_MS)
    }
  }
  it.over = true
  keeping.working.delete(batch.id)
}

/** Goes on with a batch, wherever the process before left it, or this one when the ledger did not answer. */
const adopt = async (keeping: Keeping, it: Working): Promise<void> => {
  const { present } = keeping
  const { store } = present.gateway
  it.knows = true
  try {
    await sendAgain(present.gateway, it)
    if (it.routes.length > 0) return
    it.routes = await store.batches.routes(it.batch.id)
  } catch (error) {
    it.knows = false
    throw error
  }
  if (it.routes.some((route) => route !== '')) void keepParts({ present, goesOn: () => !keeping.stopped }, it)
}

/**
 * Lines that no living process runs wait again. Nothing was charged for them; what their vendors may bill is the house's
 * loss.
 */
const sendAgain = async ({ store, log }: Gateway, { batch: { id }, open }: Working): Promise<void> => {
  const left = (await store.batches.sentLines(id)).filter(({ callId }) => !open.has(callId))
  if (left.length === 0) return
  log.warn('lines of a batch lost their process and are sent again', { call: id, ops: left.length })
  const message = `The line was sent ${TRIES} times, and each time its process ended. Nothing was charged.`
  const lost = JSON.stringify({ code: 'internal_error', message })
  const ends = left.map(
    ({ n, callId, tries }): LineEnd =>
      tries < TRIES
        ? { n, callId, state: 'waiting', pauseMs: 0 }
        : { n, callId, state: 'errored', result: lost },
  )
  await store.batches.end(id, ends)
}

/** Sends what may be sent, or waits. True when the batch has ended, or is not this process's any more. */
const step = async (keeping: Keeping, it: Working): Promise<boolean> => {
  const { gateway } = keeping.present
  if (it.batch.leaves && it.open.size === 0) return letGo(gateway, it)
  const most = it.batch.leaves ? 0 : roomFor(keeping)
  let over = most > 0 && it.batch.waiting + it.batch.sent === 0
  for (const route of most > 0 ? it.routes : []) {
    if (nextPlaceOn(gateway, route) !== undefined) continue
    const taken = await sendOn(keeping, it, { route, most })
    over = taken === undefined || taken.waiting + taken.sent === 0
    if (over) break
    if (taken !== undefined && taken.lines.length > 0) return false
  }
  if (over && (await finish(keeping, it))) return true
  await Promise.race([gateway.clock.sleep(IDLE_MS), it.ended.promise])
  return false
}

/** Its organisation is about to leave, and no line of it is open here: it goes along. */
const letGo = async ({ store, instance }: Gateway, it: Working): Promise<true> => {
  // Its parts are not looked at any more.
  it.over = true
  await store.batches.letGo(it.batch.id, instance)
  return true
}

const finish = async ({ present: { gateway }, assets }: Keeping, it: Working): Promise<boolean> => {
  const { store, instance } = gateway
  const { id, keyId } = it.batch
  if (!(await store.batches.release(id, instance))) return it.lost
  const batch = await store.batches.batchFor(id, keyId)
  if (batch !== undefined) await endBatch(gateway, assets, batch)
  return true
}
