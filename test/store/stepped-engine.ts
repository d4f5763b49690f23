/**
 * PostgreSQL under a conductor: each statement of each transaction, and each commit, waits for its turn, so that
 * transactions interleave at any boundary between two statements, in an order that a seed gives. The server does the
 * rest: what a statement sees, and which locks it waits for, is read committed as it is.
 */
import { SQL } from 'bun'
import { type Engine, type Run, runAll, type Statement } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'

export type Conductor = {
  /**
   * An engine with its own connections, as a process has them. After this many turns its process falls silent for good,
   * and the test learns of it.
   */
  readonly engine: (turns?: number, silent?: () => void) => Engine
  /** Runs all of this at once, statement by statement. Rejects with the first failure. */
  readonly play: (parts: readonly (() => Promise<void>)[]) => Promise<void>
  /** Steps so far in which a statement waited for the lock of another transaction. */
  readonly waits: () => number
  readonly close: () => Promise<void>
}

const LOOK_MS = 1
/** A transaction may be held up for as long as the others need; that of a silent process is ended in its time. */
const LONGEST_MS = 10 * 60_000
/** So many times must nothing change before we believe that a part waits for nothing at the gate. */
const STILL = 15

export const openConductor = (url: string, below: (limit: number) => number): Conductor => {
  const admin = new SQL({ url, max: 1, connection: { application_name: 'conductor' } })
  const gate: (() => void)[] = []
  let playing = false
  let inFlight = 0
  let changes = 0
  let waits = 0

  const turn = (): Promise<void> => {
    if (!playing) return Promise.resolve()
    changes++
    return new Promise((go) => gate.push(go))
  }

  /** Statements that were issued without waiting run in their order, each in its turn. */
  const stepped = (run: Run, turn: () => Promise<void>): Run => {
    let before: Promise<unknown> = Promise.resolve()
    return (text, params) => {
      const mine = before.then(async () => {
        await turn()
        inFlight++
        try {
          return await run(text, params)
        } finally {
          inFlight--
          changes++
        }
      })
      before = mine.catch(() => undefined)
      return mine
    }
  }

  const engine = (turns = Number.POSITIVE_INFINITY, silent = () => {}): Engine => {
    const own = openEngine(turns < Number.POSITIVE_INFINITY ? { url } : { url, longestMs: LONGEST_MS })
    let taken = 0
    const ownTurn = (): Promise<void> => {
      if (!playing || ++taken <= turns) return turn()
      silent()
      return new Promise(() => undefined)
    }
    const transaction: Engine['transaction'] = (lane, work) =>
      own.transaction(lane, async (run) => {
        const step = stepped(run, ownTurn)
        const last: Statement[] = []
        const result = await work(step, (statements) => void last.push(...statements))
        await runAll(step, last)
        await ownTurn()
        return result
      })
    return {
      ...own,
      transaction,
      // The same statements one by one: to the server a pipeline is no more than that.
      batch: (lane, statements) =>
        transaction(lane, (run) => Promise.all(statements.map(({ text, params }) => run(text, params)))),
    }
  }

  const waiting = async (): Promise<number> => {
    const [row] = await admin.unsafe(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and application_name = 'turnpike' and wait_event_type = 'Lock'`,
    )
    return row.waiting
  }

  /** Gives turns until nobody plays: each time all that can run have come to the gate, or wait for a lock. */
  const conduct = async (left: () => number): Promise<void> => {
    let still = 0
    for (let known = changes; left() > 0; known = changes) {
      await Bun.sleep(LOOK_MS)
      still = known === changes ? still + 1 : 0
      const locked = inFlight === 0 ? 0 : await waiting()
      if (gate.length === 0 || inFlight > locked) continue
      if (gate.length + inFlight < left() && still < STILL) continue
      if (locked > 0) waits++
      const [go] = gate.splice(below(gate.length), 1)
      changes++
      go?.()
    }
  }

  return {
    engine,
    play: async (parts) => {
      let left = parts.length
      playing = true
      const all = parts.map((part) =>
        part().finally(() => {
          left--
          changes++
        }),
      )
      const ended = Promise.all(all)
      ended.catch(() => undefined)
      await conduct(() => left)
      playing = false
      await ended
    },
    waits: () => waits,
    close: () => admin.close(),
  }
}
