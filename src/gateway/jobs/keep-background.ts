/**
 * Looks after responses in the background: writes their events and ends, stops those that were cancelled or deleted
 * elsewhere, and ends those whose process is gone.
 */
import { isObject, parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { refuse } from '../../core/refusal.ts'
import { keptFormOf } from '../../dialects/kept-forms.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import { StoreFault } from '../../store/faults.ts'
import type { Gateway, Present } from '../parts/gateway.ts'
import type { OpenResponse } from '../parts/jobs.ts'
import { awaitResponse } from './follow-response.ts'
import { endUnmade, openResponse, wakeReaders, writtenEnd } from './open-response.ts'

/** How often events are written: a reader hears of them so much later. */
const WRITE_MS = 100
/** How many writes pass between two looks for what others want of our responses. */
const NEWS_TURNS = 10
const LOST_MS = 2_000
/** Responses that one look takes over at most. */
const LOST_MOST = 200
/** The time that an ending process leaves for responses that it must cut. */
const CUT_MS = 1_000
/** How long a cancellation waits for the process that makes the response, and that for what its vendor has said. */
const CANCEL_WAIT_MS = 3_000
const SAID_WAIT_MS = 2_500

/** Takes a response into the care of this process until its end is written. */
export const tendResponses = (gateway: Gateway, open: OpenResponse): void => {
  const { jobs } = gateway.memory
  jobs.responses.set(open.ref.id, open)
  if (!jobs.tending) void tend(gateway)
}

const tend = async (gateway: Gateway): Promise<void> => {
  const { clock } = gateway
  const { jobs } = gateway.memory
  jobs.tending = true
  for (let turn = 1; jobs.responses.size > 0 && !jobs.responsesLeft; turn++) {
    await clock.sleep(WRITE_MS)
    await tried(gateway, write(gateway))
    if (turn % NEWS_TURNS === 0) await tried(gateway, readNews(gateway))
  }
  jobs.tending = false
}

/** What fails is tried again in the next turn. A ledger that is away has a line of its own in the log. */
const tried = ({ log }: Gateway, work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    if (error instanceof StoreFault) return
    log.warn('responses in the background could not be looked after', { error: messageOf(error) })
  })

/** Writes all new events at once, and then each end. */
const write = async (gateway: Gateway): Promise<void> => {
  const { store, memory, options } = gateway
  const all = [...memory.jobs.responses.values()]
  const news = all.filter(({ pending, ended }) => pending.length > 0 && ended === undefined)
  const events = news.map(({ ref, written, pending }) => ({ ...ref, place: written, events: [...pending] }))
  if (news.length > 0) await store.background.append(events)
  for (const [at, open] of news.entries()) {
    const count = events[at]?.events.length ?? 0
    open.written += count
    open.pending.splice(0, count)
    wakeReaders(open)
  }
  for (const open of all.filter(({ ended }) => ended !== undefined)) {
    const written = store.background.end(writtenEnd(open), options.responsesKeptMs).then(() => {
      memory.jobs.responses.delete(open.ref.id)
      wakeReaders(open)
    })
    await tried(gateway, written)
  }
}

/** Stops what was cancelled or deleted at another process. */
const readNews = async (gateway: Gateway): Promise<void> => {
  const { store, instance, memory } = gateway
  const known = [...memory.jobs.responses.values()]
  const cancelled = new Map((await store.background.news(instance)).map(({ id, cancel }) => [id, cancel]))
  for (const open of known) if (cancelled.get(open.ref.id) !== false) cancel(gateway, open)
}

const LEFT = 'The process that made the response ended. What it had said until then is charged.'

/** Ends it now; what its vendor bills is charged by its call. */
const stop = (open: OpenResponse): void => {
  endUnmade(open, 'failed', refuse('upstream_error', LEFT))
  open.stop.abort()
}

/** Stops its call, which notes the end: an answer that is there already is charged and kept, and not cancelled. */
const cancel = ({ clock }: Gateway, open: OpenResponse): void => {
  if (open.stop.signal.aborted) return
  open.stop.abort()
  void clock.sleep(SAID_WAIT_MS).then(() => endUnmade(open, 'cancelled'))
}

/**
 * Ends the responses of processes that are gone, until the returned function is called. That resolves, within its time,
 * when this process makes none any more.
 */
export const keepBackground = (present: Present): ((forMs: number) => Promise<void>) => {
  const { clock, memory } = present.gateway
  const { jobs } = memory
  let stopped = false
  const look = async () => {
    while (!stopped) {
      await tried(present.gateway, endLost(present.gateway))
      await clock.sleep(LOST_MS)
    }
  }
  void look()
  return async (forMs) => {
    const endMs = clock.monotonicMs() + forMs
    const untilNone = async (untilMs: number) => {
      while (jobs.responses.size > 0 && clock.monotonicMs() < untilMs) await clock.sleep(WRITE_MS)
    }
    stopped = true
    await untilNone(endMs - Math.min(CUT_MS, forMs / 2))
    for (const open of jobs.responses.values()) stop(open)
    await untilNone(endMs)
    jobs.responsesLeft = true
  }
}

const endLost = async ({ store, instance, log, options }: Gateway): Promise<void> => {
  for (const { keyId, id, body, next } of await store.background.lost(instance, LOST_MOST)) {
    log.warn('a response in the background lost its process', { call: id })
    const head = parseJson(body)
    const open = openResponse(
      { keyId, id },
      { form: keptFormOf(id), head: isObject(head) ? head : {}, streams: next > 0, written: next },
    )
    stop(open)
    await store.background.end(writtenEnd(open), options.responsesKeptMs)
  }
}

/** Stops a response, and returns it as it is then; undefined if there is none. */
export const cancelResponse = async (gateway: Gateway, ref: ResponseRef) => {
  const open = gateway.memory.jobs.responses.get(ref.id)
  if (open?.ref.keyId === ref.keyId) cancel(gateway, open)
  else await gateway.store.background.askCancel(ref)
  return awaitResponse(gateway, ref, CANCEL_WAIT_MS)
}

/** Deletes a response; one that is being made is stopped. False if there is none. */
export const forgetResponse = async (gateway: Gateway, { keyId, id }: ResponseRef): Promise<boolean> => {
  const forgotten = await gateway.store.responses.forgetResponse(keyId, id)
  const open = gateway.memory.jobs.responses.get(id)
  if (forgotten && open?.ref.keyId === keyId) cancel(gateway, open)
  return forgotten
}
