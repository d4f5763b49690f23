/** Heartbeats of the processes that serve, with the proof of which key changes each has read. */

import { keyOf } from '../accounts/key-row.ts'
import { changedSubs, subNewsOf } from '../accounts/sub-wallet-store.ts'
import { knownRulesOf } from '../accounts/wallet-rules-row.ts'
import { AHEAD_MS } from '../engine/due.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'
import { SILENT_MS } from '../ledger/silence.ts'
import { stateOf } from '../ledger/sums.ts'
import type { InstanceStore } from './instance-port.ts'
import { BY_NAME, noteByName } from './short-form.ts'

/**
 * A change gets its time before it commits. No transaction may live this long, so reading back this far misses none.
 */
const COMMIT_SLACK_MS = 10_000
/** An instance that is silent for longer does not count as live. */
const LIVE_MS = 2_000
const GONE_MS = 60 * 60 * 1000

/** Instances that ended long ago, and have no open leases: that an instance is silent is what ends them. */
export const expiredInstances = (now: string): Expired => ({
  table: 'instance',
  key: 'id',
  where: `x.beat_at < ${now} - ${GONE_MS}
    and not exists (select 1 from lease l where l.instance = x.id and l.state = 'open')`,
})

/** What the server knew of the process until now. No two servers have started in the same microsecond. */
const WHO_ANSWERS = `coalesce((select i.beat_at from instance i where i.id = $1), 0) as before,
  cast(pg_postmaster_start_time() as text) as server`

export const instanceStore = (engine: Engine): InstanceStore => {
  const { now } = engine.dialect
  // A change dated by a clock that was hours ahead was committed before the clock was corrected, so an instance that
  // has seen anything since then has seen it.
  const seenUpTo = `case when cast($1 as bigint) > ${now} + ${AHEAD_MS} then seen else cast($1 as bigint) end`
  const write = `insert into instance (id, beat_at, seen, nudge, keeps, shares, short_details) values ($1, ${now}, $2, $3, 1, 1, 1)
    on conflict (id) do update set beat_at = excluded.beat_at, seen = excluded.seen, nudge = excluded.nudge
    returning beat_at, ${engine.name === 'postgres' ? WHO_ANSWERS : 'null as before, null as server'}`
  return {
    beat: async (instance, seen, nudge) => {
      // Two transactions: the reads must start after the heartbeat is committed, or they would prove nothing.
      const row = onlyRow(await once(engine, 'relaxed', write, instance, seen ?? null, nudge ?? null))
      const at = countOf(row, 'beat_at')
      // A time that was seen under a clock that was ahead is later than now.
      const since = Math.min(seen ?? at, at) - COMMIT_SLACK_MS
      const [keys = [], leases = [], live = [], rules = [], subs = [], shares = []] = await engine.batch(
        'relaxed',
        [
          statement('select * from api_key where changed_at > $1 order by changed_at', since),
          statement(
            // With the bare state PostgreSQL may choose the index of all open leases.
            `select l.id from lease l where l.instance = $1 and l.recall = 1 and ${stateOf('l')} = 'open' order by l.id`,
            instance,
          ),
          statement(
            `select cast(count(*) as bigint) as live, cast(coalesce(sum(keeps), 0) as bigint) as keep,
             cast(coalesce(sum(shares), 0) as bigint) as share, ${BY_NAME} as by_name
           from instance where beat_at > ${now} - ${LIVE_MS}`,
          ),
          statement('select * from wallet_rules where changed_at > $1 order by changed_at', since),
          statement(changedSubs, since),
          statement('select name from rate_share where instance = $1 and recall = 1 order by name', instance),
        ],
      )
      noteByName(engine, countOf(onlyRow(live), 'by_name'))
      return {
        at,
        before: row.before === null ? undefined : countOf(row, 'before'),
        server: maybeText(row, 'server'),
        changed: keys.map(keyOf),
        rules: rules.map(knownRulesOf),
        subWallets: subs.map(subNewsOf),
        recalled: leases.map((lease) => textOf(lease, 'id')),
        liveInstances: countOf(onlyRow(live), 'live'),
        recalledShares: shares.map((share) => textOf(share, 'name')),
        allShare: countOf(onlyRow(live), 'live') === countOf(onlyRow(live), 'share'),
        allKeep: countOf(onlyRow(live), 'live') === countOf(onlyRow(live), 'keep'),
      }
    },
    unaware: async (since, freshMs) => {
      const rows = await once(
        engine,
        'control',
        `select id, nudge from instance where (seen is null or seen > ${now} or seen < ${seenUpTo})
             and beat_at > ${now} - cast($2 as bigint) order by id`,
        since,
        freshMs,
      )
      return rows.map((row) => {
        const nudge = maybeText(row, 'nudge')
        return { id: textOf(row, 'id'), ...(nudge === undefined ? {} : { nudge }) }
      })
    },
    leave: async (instance) => {
      await once(
        engine,
        'control',
        // A loan that it asked for may still be lent: it counts as silent, which ends its leases.
        `update instance set beat_at = ${now} - ${SILENT_MS} where id = $1`,
        instance,
      )
    },
  }
}
