/** A replica of the ledger, from which reports are read while it follows closely enough. */
import { type Engine, once } from './engine.ts'
import { openEngine } from './open-engine.ts'
import { countOf, textOf } from './row.ts'

export type ReplicaAddress = {
  /** `postgres://…` of a standby that answers reads. */
  readonly url: string
  /** How old what is read there may be, in milliseconds. */
  readonly lagMs: number
}

export type Replica = {
  /** Reports go there, or to the ledger; everything else goes to the ledger. */
  readonly engine: Engine
  /**
   * Looks how far the replica is behind, in milliseconds: the age of the newest heartbeat of a process that has arrived
   * there. Undefined when that is not known: it does not answer, or its rows are of another ledger.
   */
  readonly lagMs: () => Promise<number | undefined>
}

/** Where there is none the ledger answers everything. */
export const noReplica = (ledger: Engine): Replica => ({ engine: ledger, lagMs: async () => undefined })

/**
 * What is read of a replica is at most `lagMs` old: what a look found, and the time since that look. Nobody waits for a
 * look, so a replica that hangs delays no report. One that fails in the middle of a report is left out until the next look,
 * and the ledger answers.
 */
export const replicaOf = (ledger: Engine, { url, lagMs }: ReplicaAddress): Replica => {
  const replica = openEngine({ url })
  /** Until when of this process's monotonic clock its rows are fresh enough. */
  let fits = Number.NEGATIVE_INFINITY
  const look = async (): Promise<number | undefined> => {
    const asked = performance.now()
    const { now } = ledger.dialect
    const processes = await once(ledger, 'relaxed', `select id, ${now} as now from instance`)
    const ids = JSON.stringify(processes.map((row) => textOf(row, 'id')))
    const arrived = `select max(beat_at) as beat from instance
      where id in (select j.value #>> '{}' from ${ledger.dialect.each('$1')} j)`
    const [there] = await once(replica, 'reading', arrived, ids).catch(() => [])
    const [of] = processes
    if (of === undefined || there === undefined || there.beat === null) return undefined
    const behind = Math.max(0, countOf(of, 'now') - countOf(there, 'beat'))
    fits = asked + lagMs - behind
    return behind
  }
  return {
    lagMs: look,
    engine: {
      ...ledger,
      batch: async (lane, statements) => {
        if (lane !== 'reading' || performance.now() > fits) return ledger.batch(lane, statements)
        try {
          return await replica.batch(lane, statements)
        } catch {
          fits = Number.NEGATIVE_INFINITY
          return ledger.batch(lane, statements)
        }
      },
      close: async () => {
        await Promise.all([replica.close(), ledger.close()])
      },
    },
  }
}
