/**
 * The connection from a process to the database: slow, and it loses requests or answers, so that outcomes are unknown.
 */
import type { CommitBatch } from '../../src/ledger/types.ts'
import { Violation } from '../../src/store/engine/engine.ts'
import { StoreFault } from '../../src/store/faults.ts'
import type { LedgerStore } from '../../src/store/ledger/ledger-port.ts'
import type { Store } from '../../src/store/port.ts'
import type { Draws, World } from './world.ts'

export type Link = {
  partitioned: boolean
  /** All answers take long. */
  slow: boolean
  readonly alive: () => boolean
  /** Nothing is lost on it. */
  readonly reliable?: boolean
  /** Runs what reaches the process: later, while the machine is paused. */
  readonly reach?: (run: () => void) => void
}

export type Outage = {
  down: boolean
  /** How often another server took over: what the former one has on its way gets lost. */
  takeovers?: number
}

/** How long a process waits for a lost message. */
const GIVE_UP_MS = 1_500
const LOST_REQUEST = 0.01
const LOST_ANSWER = 0.015
/** Some answers take long, so that much happens between a decision and the news of it. */
const SLOW_ANSWER = 0.03

type Method = (...args: never[]) => Promise<unknown>

export type Connection = {
  /** The process of this connection: each of its methods has draws of its own. */
  readonly name: string
  readonly link: Link
  readonly outage?: Outage
  /** Runs after each call that arrived. */
  readonly arrived?: () => void
  /** Settlements of a commit that arrived. */
  readonly settled?: (calls: readonly string[]) => void
  /** The schema's constraints had to stop something. They are the last line, and the protocol must never need them. */
  readonly refused: (law: string) => void
}

const untroubled = { outage: { down: false } as Outage, arrived: () => undefined, settled: () => undefined }

/** The store as one process sees it: every method goes over the network. */
export const overNetwork = (store: Store, world: World, connection: Connection): Store => {
  const { link, outage, arrived, settled, refused } = { ...untroubled, ...connection }
  const { reliable = false, reach = (run) => run() } = link
  const send = (method: Method, args: never[], { random, pick }: Draws): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (!link.alive()) return
      const tell = (ms: number, run: () => void) => world.after(ms, () => reach(() => link.alive() && run()))
      const lost = () => tell(GIVE_UP_MS, () => reject(new StoreFault('no answer')))
      if (link.partitioned || outage.down || (!reliable && random() < LOST_REQUEST)) return lost()
      world.after(pick(1, 8), () => {
        if (outage.down) return lost()
        const loseAnswer = !reliable && random() < LOST_ANSWER
        const slow = link.slow || (!reliable && random() < SLOW_ANSWER)
        const back = slow ? pick(50, 600) : pick(1, 8)
        const { takeovers } = outage
        const answer = (run: () => void) =>
          tell(back, () => (outage.takeovers === takeovers ? run() : reject(new StoreFault('it is gone'))))
        method(...args).then(
          (value) => {
            arrived()
            if (loseAnswer || link.partitioned) lost()
            else answer(() => resolve(value))
          },
          (error: unknown) => {
            if (error instanceof Violation) refused(error.message)
            answer(() => reject(error))
          },
        )
      })
    })
  const methods = new Map<string, Draws>()
  const drawsOf = (path: string): Draws => {
    const known = methods.get(path) ?? world.draws(path)
    methods.set(path, known)
    return known
  }
  const far = <Part extends object>(part: Part, path: string): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member = Reflect.get(target, name)
        const its = `${path}.${String(name)}`
        if (typeof member === 'function')
          return (...args: never[]) => send(member.bind(target), args, drawsOf(its))
        return typeof member === 'object' && member !== null ? far(member, its) : member
      },
    })
  const watched: LedgerStore = {
    ...store.ledger,
    commit: async (batch: CommitBatch) => {
      const result = await store.ledger.commit(batch)
      settled([...result.settled.keys()])
      return result
    },
  }
  return far({ ...store, ledger: watched }, connection.name)
}
