/**
 * A few processes that do the work of built-in products, one piece at a time each. Work that takes too long is killed
 * together with its process, and the next piece gets a new one. Processes start on demand and end when idle.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath, type Subprocess } from 'bun'
import type { Made, Part } from '../../vendors/local/product.ts'
import { MEDIA_WORK } from '../own-program.ts'
import { type PartAsked, type PartGiven, type Work, type WorkReply, WrongInput } from './work.ts'

export type PoolParts = {
  /** The program of a process: see child.ts. */
  readonly program: string
  readonly processes: number
  /** How many pieces may wait for a process. */
  readonly waiting: number
  /** The time that a piece of work may take, not counted while the machine has no processor for it. */
  readonly limitMs: number
  /** How long a piece may take by the clock, however little of the processor it got. */
  readonly longestMs: number
  readonly idleMs: number
}

/** Too much work is waiting already. */
export class Busy extends Error {}

/** The work used up its time or memory, and its inputs are to blame. */
export class TooMuchWork extends Error {}

export type Pool = {
  /**
   * Rejects with WrongInput, TooMuchWork, Busy, or with Error when the process broke or the signal came. After a
   * rejection nobody works on it. `part` reads the stored file that the work is about, if it is about one.
   */
  readonly run: (work: Work, signal?: AbortSignal, part?: Part) => Promise<Made>
  /** Ends all processes; the work in them is rejected. */
  readonly close: () => Promise<void>
}

type Piece = {
  readonly work: Work
  readonly part: Part | undefined
  readonly done: PromiseWithResolvers<Made>
}

type WorkerProcess = {
  readonly process: Subprocess
  piece: Piece | undefined
  timer: Timer | undefined
}

const systemParts: PoolParts = {
  program: fileURLToPath(new URL('./child.ts', import.meta.url)),
  processes: 2,
  waiting: 14,
  limitMs: 120_000,
  longestMs: 1_200_000,
  idleMs: 30_000,
}

/** Linux shows the time of processes in hundredths of a second. */
const TICK_MS = 10

/**
 * A compiled file does not read `.env` by itself, and contains no other program. The process is told whose it is: it may
 * begin after its server has ended.
 */
const commandOf = (program: string): string[] => [
  process.execPath,
  ...(Bun.isStandaloneExecutable ? [MEDIA_WORK] : ['--no-env-file', program]),
  String(process.pid),
]

/** What the process asked for; a part that cannot be read is for the work to cope with. */
const partFor = async (piece: Piece | undefined, { part, start, end }: PartAsked): Promise<PartGiven> => {
  const bytes = await piece?.part?.(start, end).catch(() => undefined)
  // A copy, because a view would take all the memory behind it along.
  return { part, bytes: bytes === undefined ? undefined : new Uint8Array(bytes) }
}

/** The processor's time that the process has had; where the system does not say, all time passes for it. */
const timeOf = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12)
    return (Number(user) + Number(system)) * TICK_MS
  } catch {
    return performance.now()
  }
}

/** Work that waits for a processor is looked at no more often. */
const LOOK_MS = 20

/** Ends the worker's work when it has used its time, or has waited for a processor for too long. */
const limitTime = (
  worker: WorkerProcess,
  { limitMs, longestMs }: Pick<PoolParts, 'limitMs' | 'longestMs'>,
  end: (why: Error) => void,
): void => {
  const { pid } = worker.process
  const [atMs, hadMs] = [performance.now(), timeOf(pid)]
  const look = () => {
    const leftMs = hadMs + limitMs - timeOf(pid)
    if (leftMs <= 0)
      end(new TooMuchWork(`The work takes longer than the ${limitMs / 1_000} s that a call may take`))
    else if (performance.now() - atMs > longestMs) end(new Busy('the work had no processor for too long'))
    else worker.timer = setTimeout(look, Math.max(leftMs, LOOK_MS))
  }
  look()
}

const finish = ({ done }: Piece, answer: WorkReply) => {
  if ('made' in answer) done.resolve(answer.made)
  else if ('wrong' in answer) done.reject(new WrongInput(answer.wrong.field, answer.wrong.message))
  else done.reject(new Error(answer.broken))
}

export const openPool = (given: Partial<PoolParts> = {}): Pool => {
  const parts = { ...systemParts, ...given }
  const workers = new Set<WorkerProcess>()
  const queue: Piece[] = []

  const drop = (worker: WorkerProcess, why: Error) => {
    workers.delete(worker)
    clearTimeout(worker.timer)
    worker.piece?.done.reject(why)
    worker.piece = undefined
    worker.process.kill('SIGKILL')
    goOn()
  }
  const rest = (worker: WorkerProcess) => {
    clearTimeout(worker.timer)
    worker.piece = undefined
    worker.process.unref()
    worker.timer = setTimeout(() => drop(worker, new Error('idle')), parts.idleMs)
    worker.timer.unref()
    goOn()
  }
  const start = (): WorkerProcess => {
    // It reads strangers' files, so it gets none of our keys; a `.env` in its working folder would contain them again.
    const process = Bun.spawn(commandOf(parts.program), {
      env: {},
      cwd: '/',
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore'],
      ipc: async (answer: WorkReply | PartAsked) => {
        const { piece } = worker
        if ('part' in answer) {
          const given = await partFor(piece, answer)
          // Its work may have been given up meanwhile.
          if (worker.piece === piece && workers.has(worker)) process.send(given)
          return
        }
        if (piece !== undefined) finish(piece, answer)
        rest(worker)
      },
      onExit: (_, _code, signal) =>
        drop(
          worker,
          signal === null
            ? new Error('the process ended')
            : new TooMuchWork('The work needs more memory than a call may take'),
        ),
    })
    const worker: WorkerProcess = { process, piece: undefined, timer: undefined }
    workers.add(worker)
    return worker
  }
  const give = (worker: WorkerProcess, piece: Piece) => {
    clearTimeout(worker.timer)
    worker.piece = piece
    worker.process.ref()
    limitTime(worker, parts, (why) => drop(worker, why))
    worker.process.send(piece.work)
  }
  const goOn = () => {
    while (queue.length > 0) {
      const free = [...workers].find(({ piece }) => piece === undefined)
      const worker = free ?? (workers.size < parts.processes ? start() : undefined)
      const next = worker === undefined ? undefined : queue.shift()
      if (worker === undefined || next === undefined) return
      give(worker, next)
    }
  }
  const giveUp = (piece: Piece) => {
    const why = new Error('nobody waits')
    const worker = [...workers].find((one) => one.piece === piece)
    if (worker !== undefined) return drop(worker, why)
    queue.splice(queue.indexOf(piece), 1)
    piece.done.reject(why)
  }
  return {
    run: (work, signal, part) => {
      if (signal?.aborted === true) return Promise.reject(new Error('nobody waits'))
      if (queue.length >= parts.waiting) return Promise.reject(new Busy('too many calls wait'))
      const piece: Piece = { work, part, done: Promise.withResolvers() }
      queue.push(piece)
      goOn()
      const leave = () => giveUp(piece)
      signal?.addEventListener('abort', leave)
      return piece.done.promise.finally(() => signal?.removeEventListener('abort', leave))
    },
    close: async () => {
      for (const { done } of queue.splice(0)) done.reject(new Error('closed'))
      const ended = [...workers].map(({ process }) => process.exited)
      for (const worker of [...workers]) drop(worker, new Error('closed'))
      await Promise.all(ended)
    },
  }
}
