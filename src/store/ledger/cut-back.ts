/**
 * Cleaning up in recovery: closed leases and old counters are deleted, and times that a fast clock wrote are cut back.
 */
import { AHEAD_MS } from '../engine/due.ts'
import { type Engine, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { isProcess } from './silence.ts'

const HOUR_MS = 60 * 60 * 1000
/** A closed lease is kept this long, for settlements that arrive late. */
const CLOSED_KEPT_MS = 7 * 24 * HOUR_MS
/** No lease of a process lives longer. */
const LEASE_MOST_MS = 60_000

export const expiredLeases = (now: string): Expired => ({
  table: 'lease',
  key: 'id',
  where: `x.state = 'closed' and x.expires_at < ${now} - ${CLOSED_KEPT_MS}`,
})

export const expiredBudgets = (now: string): Expired => ({
  table: 'budget',
  key: 'scope',
  where: `x.keep_until < ${now} and x.held = 0`,
})

/**
 * Cuts back leases and heartbeats that lie hours in the future, left by a database clock that was ahead and then
 * corrected. A process times its lease by its own clock and is done with it sooner; a living process sends heartbeats
 * again.
 */
export const cutBack = (engine: Engine): Promise<unknown> => {
  const { now, lockFree } = engine.dialect
  return engine.batch('control', [
    statement(
      `update lease set expires_at = ${now} + ${LEASE_MOST_MS} where id in (select l.id from lease l
         where l.state in ('open', 'quarantined') and ${isProcess('l.instance')} and l.expires_at > ${now} + ${LEASE_MOST_MS + AHEAD_MS}${lockFree('l')})`,
    ),
    statement(
      `update instance set beat_at = ${now} where id in (select i.id from instance i
         where i.beat_at > ${now} + ${AHEAD_MS}${lockFree('i')})`,
    ),
  ])
}
