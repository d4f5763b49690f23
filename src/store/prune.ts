/** Chores of the reaper: what has served its time is deleted, and what a clock that was ahead wrote is cut back. */
import type { Engine, Statement } from './engine.ts'
import { statement } from './engine.ts'

/** Rows that one statement deletes at most: a statement over all there is would run out of its time, and never end. */
const BATCH = 5_000
const HOUR_MS = 60 * 60 * 1000
/** A closed lease is kept this long, for settlements that arrive late. */
const CLOSED_KEPT_MS = 7 * 24 * HOUR_MS
/** No lease is granted for longer. */
const LEASE_MOST_MS = 60_000
/** Clocks a little ahead are usual, and do no harm. */
export const AHEAD_MS = 5_000

type Expired = { readonly table: string; readonly key: string; readonly where: string }

const batchOf = ({ words: { lockFree } }: Engine, { table, key, where }: Expired): Statement =>
  statement(
    `delete from ${table} where (${key}) in (select ${key} from ${table} x where ${where} limit ${BATCH}${lockFree('x')})`,
  )

/**
 * Deletes a batch each of closed leases, stored answers, kept responses, instances that are long gone, and counters of old
 * days; the next round goes on.
 */
export const prune = (engine: Engine): Promise<unknown> => {
  const { now } = engine.words
  const expired: readonly Expired[] = [
    { table: 'lease', key: 'id', where: `x.state = 'closed' and x.expires_at < ${now} - ${CLOSED_KEPT_MS}` },
    { table: 'idempotency', key: 'key_id, endpoint, idem_key', where: `x.expires_at < ${now}` },
    { table: 'kept_response', key: 'key_id, id', where: `x.expires_at < ${now}` },
    { table: 'instance', key: 'id', where: `x.beat_at < ${now} - ${HOUR_MS}` },
    { table: 'budget', key: 'scope', where: `x.keep_until < ${now} and x.held = 0` },
  ]
  return engine.batch(
    'control',
    expired.map((rows) => batchOf(engine, rows)),
  )
}

/**
 * Cuts back leases and beats that end hours from now, as a database clock that was ahead and was set right leaves them.
 * A process counts the life of its lease by its own clock and is done with it sooner; a process that lives beats again.
 */
export const cutBack = (engine: Engine): Promise<unknown> => {
  const { now, lockFree } = engine.words
  return engine.batch('control', [
    statement(
      `update lease set expires_at = ${now} + ${LEASE_MOST_MS} where id in (select l.id from lease l
         where l.state in ('open', 'quarantined') and l.expires_at > ${now} + ${LEASE_MOST_MS + AHEAD_MS}${lockFree('l')})`,
    ),
    statement(
      `update instance set beat_at = ${now} where id in (select i.id from instance i
         where i.beat_at > ${now} + ${AHEAD_MS}${lockFree('i')})`,
    ),
  ])
}
