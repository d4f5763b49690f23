/** The processes that serve, with what each has borrowed; and what trials and referrals got. */
import { dayOf } from '../../core/time.ts'
import { clockOf } from '../engine/clock.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once } from '../engine/engine.ts'
import { onlyRow } from '../engine/row.ts'
import { SILENT_MS } from '../ledger/silence.ts'
import type { GiftLine, ProcessLine } from './report-port.ts'

const processes = rowsOf({
  id: text('id'),
  beatAt: integer('beat_at'),
  leases: integer('leases'),
  lent: nano('lent'),
  openCalls: integer('open_calls'),
  held: nano('held'),
})

/** Processes that serve, and those that hold leases, the most recent heartbeat first. */
export const processLines = async (engine: Engine): Promise<readonly ProcessLine[]> => {
  const { now } = engine.dialect
  const rows = await once(
    engine,
    'control',
    `select x.id, coalesce(max(i.beat_at), 0) as beat_at, cast(count(l.id) as bigint) as leases,
         coalesce(cast(sum(l.granted - l.used) as bigint), 0) as lent,
         coalesce(cast(sum(l.calls_open) as bigint), 0) as open_calls, coalesce(cast(sum(l.hold) as bigint), 0) as held
       from (select id from instance where beat_at > ${now} - ${SILENT_MS} union select instance from lease where state <> 'closed') x
       left join instance i on i.id = x.id
       left join (select v.id, v.instance, v.granted, v.used,
           (select count(*) from inflight f where f.lease_id = v.id) as calls_open,
           (select coalesce(sum(f.hold), 0) from inflight f where f.lease_id = v.id) as hold
         from lease v where v.state <> 'closed') l on l.instance = x.id
       group by x.id order by 2 desc, 1 limit 200`,
  )
  return rows.map(processes.read)
}

const gifts = rowsOf({
  trials: integer('trials'),
  activeTrials: integer('active'),
  trialsToday: nano('today'),
  codes: integer('codes'),
  referrals: integer('referrals'),
  referred: nano('referred'),
})

/** What trials and referrals got. */
export const giftLine = async (engine: Engine): Promise<GiftLine> => {
  const rows = await once(
    engine,
    'control',
    `select (select cast(count(*) as bigint) from trial_claim) as trials,
         (select cast(count(*) as bigint) from trial_claim where ended = 0) as active,
         coalesce((select granted from trial_day where day = $1), 0) as today,
         (select cast(count(*) as bigint) from referral_code) as codes,
         (select cast(count(*) as bigint) from referral_claim) as referrals,
         (select coalesce(cast(sum(referrer_amount + claimant_amount) as bigint), 0) from referral_claim) as referred`,
    dayOf(await clockOf(engine)),
  )
  return gifts.read(onlyRow(rows))
}
