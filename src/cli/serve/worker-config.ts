/**
 * The configuration of several processes on one port: the worker that is asked asks the parent, which asks all workers.
 */
import type { ConfigAction, ConfigReport } from '../../gateway/parts/gateway.ts'
import { tellWorker } from './tell-worker.ts'

/** A worker's message: somebody asked it, or the answer to what it was asked. */
export type ConfigMessage =
  | { readonly type: 'config'; readonly id: number; readonly action: ConfigAction }
  | { readonly type: 'configured'; readonly id: number; readonly report: ConfigReport }

type FromParent =
  | { readonly type: 'config-ask'; readonly id: number; readonly action: ConfigAction }
  | { readonly type: 'config-all'; readonly id: number; readonly reports: readonly ConfigReport[] }

/** Reading asks servers on this machine and at own addresses for their models, which takes seconds. */
const REPORT_MS = 30_000
const ANSWER_MS = 40_000

/** In a worker: answers the parent with `own`, and asks it for all. */
export const askAllConfigs = (own: (action: ConfigAction) => Promise<ConfigReport>) => {
  let last = 0
  const waiting = new Map<number, (reports: readonly ConfigReport[]) => void>()
  const send = (message: ConfigMessage): void => void process.send?.(message)
  process.on('message', (message: FromParent) => {
    const { type, id } = message
    if (type === 'config-ask')
      void own(message.action).then((report) => send({ type: 'configured', id, report }))
    else if (type === 'config-all') waiting.get(id)?.(message.reports)
  })
  return async (action: ConfigAction): Promise<readonly ConfigReport[]> => {
    const id = ++last
    const { promise, resolve, reject } = Promise.withResolvers<readonly ConfigReport[]>()
    waiting.set(id, resolve)
    const late = setTimeout(() => reject(new Error('the other processes do not answer')), ANSWER_MS)
    try {
      send({ type: 'config', id, action })
      return await promise
    } finally {
      clearTimeout(late)
      waiting.delete(id)
    }
  }
}

type Worker = { send(message: FromParent): void }
type Round = { readonly missing: Set<Worker>; readonly reports: ConfigReport[]; readonly done: () => void }

/** In the parent: call it on each worker's start, message and end. */
export const gatherConfig = () => {
  const workers = new Set<Worker>()
  const rounds = new Map<number, Round>()
  let last = 0

  const leave = (round: Round, worker: Worker): void => {
    round.missing.delete(worker)
    if (round.missing.size === 0) round.done()
  }

  /** Asks all living workers. One that ends meanwhile, or says nothing, is missing from the answer. */
  const ask = async (action: ConfigAction): Promise<readonly ConfigReport[]> => {
    if (workers.size === 0) return []
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { missing: new Set(workers), reports: [], done: resolve }
    rounds.set(id, round)
    const late = setTimeout(resolve, REPORT_MS)
    for (const worker of workers)
      if (!tellWorker(worker, { type: 'config-ask', id, action })) leave(round, worker)
    await promise
    clearTimeout(late)
    rounds.delete(id)
    return round.reports
  }

  return {
    ask,
    started: (worker: Worker): void => void workers.add(worker),
    received: async (worker: Worker, message: ConfigMessage): Promise<void> => {
      if (message.type === 'config') {
        const reports = await ask(message.action)
        if (workers.has(worker)) tellWorker(worker, { type: 'config-all', id: message.id, reports })
        return
      }
      const round = rounds.get(message.id)
      round?.reports.push(message.report)
      if (round !== undefined) leave(round, worker)
    },
    ended: (worker: Worker): void => {
      workers.delete(worker)
      for (const round of rounds.values()) leave(round, worker)
    },
  }
}
