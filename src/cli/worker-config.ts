/**
 * The configuration of several processes on one port: the worker that is asked asks the parent, which asks all workers.
 */
import type { ConfigAsk, ConfigTold } from '../gateway/gateway.ts'

/** A worker's message: somebody asked it, or the answer to what it was asked. */
export type ConfigWord =
  | { readonly type: 'config'; readonly id: number; readonly ask: ConfigAsk }
  | { readonly type: 'configured'; readonly id: number; readonly told: ConfigTold }

type FromParent =
  | { readonly type: 'config-tell'; readonly id: number; readonly ask: ConfigAsk }
  | { readonly type: 'config-all'; readonly id: number; readonly told: readonly ConfigTold[] }

/** Reading asks servers on this machine and at own addresses for their models, which takes seconds. */
const TELL_MS = 30_000
const ANSWER_MS = 40_000

/** In a worker: answers the parent with `own`, and asks it for all. */
export const askAllConfigs = (own: (ask: ConfigAsk) => Promise<ConfigTold>) => {
  let last = 0
  const waiting = new Map<number, (told: readonly ConfigTold[]) => void>()
  const say = (word: ConfigWord): void => void process.send?.(word)
  process.on('message', (message: FromParent) => {
    const { type, id } = message
    if (type === 'config-tell') void own(message.ask).then((told) => say({ type: 'configured', id, told }))
    else if (type === 'config-all') waiting.get(id)?.(message.told)
  })
  return async (ask: ConfigAsk): Promise<readonly ConfigTold[]> => {
    const id = ++last
    const { promise, resolve, reject } = Promise.withResolvers<readonly ConfigTold[]>()
    waiting.set(id, resolve)
    const late = setTimeout(() => reject(new Error('the other processes do not answer')), ANSWER_MS)
    try {
      say({ type: 'config', id, ask })
      return await promise
    } finally {
      clearTimeout(late)
      waiting.delete(id)
    }
  }
}

type Worker = { send(message: FromParent): void }
type Round = { readonly missing: Set<Worker>; readonly told: ConfigTold[]; readonly done: () => void }

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
  const ask = async (what: ConfigAsk): Promise<readonly ConfigTold[]> => {
    if (workers.size === 0) return []
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { missing: new Set(workers), told: [], done: resolve }
    rounds.set(id, round)
    const late = setTimeout(resolve, TELL_MS)
    for (const worker of workers) worker.send({ type: 'config-tell', id, ask: what })
    await promise
    clearTimeout(late)
    rounds.delete(id)
    return round.told
  }

  return {
    ask,
    started: (worker: Worker): void => void workers.add(worker),
    said: async (worker: Worker, word: ConfigWord): Promise<void> => {
      if (word.type === 'config') {
        const told = await ask(word.ask)
        if (workers.has(worker)) worker.send({ type: 'config-all', id: word.id, told })
        return
      }
      const round = rounds.get(word.id)
      round?.told.push(word.told)
      if (round !== undefined) leave(round, worker)
    },
    ended: (worker: Worker): void => {
      workers.delete(worker)
      for (const round of rounds.values()) leave(round, worker)
    },
  }
}
