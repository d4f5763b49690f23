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
/** How far ahead the time of a process's lease may lie: an open one ends with its day, a fenced one has ended. */
const AHEAD_MOST_MS = { open: 24 * HOUR_MS, quarantined: 0 } as const

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
 * Cuts back leases and heartbeats that lie in the future, left by a database clock that was ahead and then corrected. A
 * living process has asked again for what its calls use and released the rest, and sends heartbeats again.
 */
export const cutBack = (engine: Engine): Promise<unknown> => {
  const { now, lockFree } = engine.dialect
  const leases = Object.entries(AHEAD_MOST_MS).map(([state, mostMs]) =>
    statement(
      `update lease set expires_at = ${now} + ${mostMs} where id in (select l.id from lease l
         where l.state = '${state}' and ${isProcess('l.instance')} and l.expires_at > ${now} + ${mostMs + AHEAD_MS}${lockFree('l')})`,
    ),
  )
  return engine.batch('control', [
    ...leases,
    statement(
      `update instance set beat_at = ${now} where id in (select i.id from instance i
         where i.beat_at > ${now} + ${AHEAD_MS}${lockFree('i')})`,
    ),
  ])
}
