/**
 * Metrics of several processes on one port. The worker that is asked asks the parent, which asks all workers and merges
 * their answers. Workers that have ended are included, because sums only grow.
 */
import type { SharedMetrics } from '../../gateway/parts/gateway.ts'
import { countersOf, merged, type Snapshot } from '../../metrics/snapshot.ts'
import { tellWorker } from './tell-worker.ts'

/** A worker's message about its metrics. */
export type MetricsMessage =
  | { readonly type: 'ask'; readonly id: number }
  | { readonly type: 'report'; readonly id: number; readonly snapshot: Snapshot }

type FromParent =
  | { readonly type: 'ask'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly snapshot: Snapshot }

/** What a killed worker has counted since then is lost, if nobody asked for it. */
const EVERY_MS = 5_000
/** A report that nobody asked for; the rounds of the parent begin at 1. */
const UNASKED = 0

/** If a worker is busy for longer, its last report is used. */
const REPORT_MS = 1_000
const ANSWER_MS = 3_000

/** In a worker: asks the parent for all, and tells it the worker's own figures now and then. */
export const askParent = (everyMs = EVERY_MS): SharedMetrics => {
  let last = 0
  let own: () => Snapshot = () => ({})
  const report = (id: number): void => send({ type: 'report', id, snapshot: own() })
  const waiting = new Map<number, (snapshot: Snapshot) => void>()
  process.on('message', (message: FromParent) => {
    if (message.type === 'ask') report(message.id)
    else if (message.type === 'answer') waiting.get(message.id)?.(message.snapshot)
  })
  return {
    register: (read) => {
      own = read
      const timer = setInterval(report, everyMs, UNASKED)
      return () => {
        clearInterval(timer)
        report(UNASKED)
      }
    },
    all: async () => {
      const id = ++last
      const answered = Promise.withResolvers<Snapshot>()
      waiting.set(id, answered.resolve)
      const late = setTimeout(
        () => answered.reject(new Error('the other processes do not answer')),
        ANSWER_MS,
      )
      try {
        send({ type: 'ask', id })
        return await answered.promise
      } finally {
        clearTimeout(late)
        waiting.delete(id)
      }
    },
  }
}

const send = (message: MetricsMessage): void => {
  process.send?.(message)
}

type Worker = { send(message: FromParent): void }

/** In the parent: call it on each worker's start, message and end. */
export const gatherMetrics = () => {
  /** The last report of each living worker. */
  const known = new Map<Worker, Snapshot>()
  let ended: Snapshot = {}
  let round = 0
  let gathering: { readonly id: number; readonly missing: Set<Worker>; readonly done: () => void } | undefined
  let running: Promise<void> | undefined

  /** Asks all workers; requests that come meanwhile share the answer. */
  const gather = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gathering = { id: ++round, missing: new Set(known.keys()), done: resolve }
    const late = setTimeout(resolve, REPORT_MS)
    for (const worker of known.keys()) if (!tellWorker(worker, { type: 'ask', id: round })) reported(worker)
    await promise
    clearTimeout(late)
    gathering = undefined
    running = undefined
  }

  const reported = (worker: Worker): void => {
    gathering?.missing.delete(worker)
    if (gathering?.missing.size === 0) gathering.done()
  }

  return {
    started: (worker: Worker): void => void known.set(worker, {}),
    received: async (worker: Worker, message: MetricsMessage): Promise<void> => {
      if (message.type === 'ask') {
        running ??= gather()
        await running
        if (known.has(worker))
          tellWorker(worker, {
            type: 'answer',
            id: message.id,
            snapshot: merged([ended, ...known.values()]),
          })
        return
      }
      if (known.has(worker)) known.set(worker, message.snapshot)
      if (message.id === gathering?.id) reported(worker)
    },
    ended: (worker: Worker): void => {
      ended = merged([ended, countersOf(known.get(worker) ?? {})])
      known.delete(worker)
      reported(worker)
    },
  }
}
