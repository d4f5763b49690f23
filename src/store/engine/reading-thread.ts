/**
 * Reads SQLite on a separate thread, with a connection that cannot write: a report over many calls takes seconds, and
 * would block the thread that serves calls.
 */
import { moduleAt } from '../../transport/own-program.ts'
import type { Row, Statement } from './engine.ts'

export type ReadRequest = {
  readonly id: number
  readonly path: string
  readonly statements: readonly Statement[]
}
export type ReadAnswer = { readonly id: number } & (
  | { readonly rows: readonly (readonly Row[])[] }
  | { readonly error: string }
)

type ReadingThread = {
  /** Runs the statements on one state of the database. */
  readonly batch: (statements: readonly Statement[]) => Promise<readonly (readonly Row[])[]>
  readonly close: () => void
}

type Waiting = PromiseWithResolvers<readonly (readonly Row[])[]>

/** The thread starts with its first read. */
export const readingThread = (path: string): ReadingThread => {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let lastId = 0
  const failAll = (error: Error) => {
    for (const one of waiting.values()) one.reject(error)
    waiting.clear()
    worker?.terminate()
    worker = undefined
  }
  const take = ({ data }: MessageEvent<ReadAnswer>) => {
    const one = waiting.get(data.id)
    waiting.delete(data.id)
    if ('rows' in data) one?.resolve(data.rows)
    else one?.reject(new Error(data.error))
    if (waiting.size === 0) worker?.unref()
  }
  const start = (): Worker => {
    const started = new Worker(moduleAt('store/engine/reading-worker.ts'))
    started.onmessage = take
    started.onerror = ({ message }) => failAll(new Error(message))
    return started
  }
  return {
    batch: (statements) => {
      worker ??= start()
      // Nobody ends the process while somebody waits.
      worker.ref()
      const one: Waiting = Promise.withResolvers()
      const id = ++lastId
      waiting.set(id, one)
      worker.postMessage({ id, path, statements } satisfies ReadRequest)
      return one.promise
    },
    close: () => failAll(new Error('the database was closed')),
  }
}
