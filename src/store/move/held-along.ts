/**
 * What an organisation takes along of open work: the lines of its batches, with the money that is held for them. It leaves the
 * books where the balance does, and is held again where that arrives, on the same leases: under the counters of the day in which
 * it was lent, and without asking limits that may have become lower.
 */
import { BATCH, JOB } from '../../ledger/types.ts'
import { LEFT_BEHIND, NOBODY } from '../batches/batch-row.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { lockLimitsOf } from '../ledger/apply-lease.ts'
import { leases } from '../ledger/ledger-rows.ts'
import { closeLease } from '../payments/payment-row.ts'

const ofOrg = 'in (select k.id from api_key k where k.org_id = $1)'

/** Whether lease `l` goes along, and does not have to end first. */
export const goesAlong = `l.instance like '${JOB}${BATCH}%'`

/** Open batches `b` of the organisation. */
export const OPEN_BATCHES = `b.state <> 'ended' and b.key_id ${ofOrg}`

const HELD = `select h.lease_id from held_along h join lease x on x.id = h.lease_id where x.key_id ${ofOrg}`

/** Takes it out of the books; nobody ends a line of its batches here any more. */
export const takeAlong = async (engine: Engine, run: Run, orgId: string): Promise<void> => {
  const { dialect } = engine
  const org = [orgId]
  // Whoever ends a line has locked its batch before: it is charged by now, or cannot be.
  await run(`select b.id from batch b where ${OPEN_BATCHES} order by b.id${dialect.lock('b')}`, org)
  await run(
    `update batch set owner = '${LEFT_BEHIND}', owner_until = 0 where id in (select b.id from batch b where ${OPEN_BATCHES})`,
    org,
  )
  const open = `l.state <> 'closed' and ${goesAlong} and l.key_id ${ofOrg}`
  const rows = await run(`select l.* from lease l where ${open} order by l.id${dialect.lock('l')}`, org)
  const found = rows.map(leases.read)
  for (const { text, params } of lockLimitsOf(
    dialect,
    found.map(({ id }) => id),
  ))
    await run(text, params)
  await run(
    `insert into held_along (call_id, lease_id, lease_state, hold, started_at)
     select f.call_id, l.id, l.state, f.hold, f.started_at from inflight f join lease l on l.id = f.lease_id where ${open}`,
    org,
  )
  await run(`delete from inflight where lease_id in (select l.id from lease l where ${open})`, org)
  for (const lease of found) await closeLease(engine, run, lease)
}

/** Holds it again, in the ledger that its balance has come to; its batches are anybody's there. */
export const holdAgain = async (run: Run, orgId: string): Promise<void> => {
  const org = [orgId]
  const sums = (name: string, from: string): string =>
    `(select ${name} as name, cast(sum(l.granted) as bigint) as hold from ${from} where l.id in (${HELD}) group by ${name}) s`
  await run(
    `update lease set state = s.lease_state, granted = s.hold
     from (select h.lease_id, h.lease_state, cast(sum(h.hold) as bigint) as hold from held_along h
       where h.lease_id in (${HELD}) group by h.lease_id, h.lease_state) s where lease.id = s.lease_id`,
    org,
  )
  await run(
    `insert into inflight (call_id, lease_id, hold, started_at)
     select h.call_id, h.lease_id, h.hold, h.started_at from held_along h where h.lease_id in (${HELD})`,
    org,
  )
  await run(
    `update budget set held = held + s.hold from ${sums('c.scope', 'lease l join lease_scope c on c.lease_id = l.id')}
     where budget.scope = s.name`,
    org,
  )
  await run(
    `update account set held = held + s.hold from ${sums('l.wallet_id', 'lease l')} where account.id = s.name`,
    org,
  )
  await run(`delete from held_along where lease_id in (${HELD})`, org)
  await run(
    `update batch set owner = '${NOBODY}' where id in (select b.id from batch b where ${OPEN_BATCHES})`,
    org,
  )
}
