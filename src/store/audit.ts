/** The laws of the ledger, checked over all rows in one snapshot. Every one must hold at any instant, also under load. */
import { type Engine, once, statement } from './engine.ts'
import type { AuditRow } from './port.ts'
import { maybeText, textOf } from './row.ts'

type Law = {
  readonly check: string /** Selects one text per offence, in a column `offence`. */
  readonly offences: string
}

const leaseSum = (what: string, where: string): string =>
  `coalesce((select cast(sum(${what}) as bigint) from lease l where ${where}), 0)`

/** Usage less refunds. */
const usageSum = (where: string): string =>
  `coalesce((select cast(sum(case when t.kind = 'usage' then t.amount else -t.amount end) as bigint)
    from transfer t where t.kind in ('usage', 'refund') and ${where}), 0)`

const laws: readonly Law[] = [
  {
    check: 'postings sum to zero and name known accounts',
    offences: `select 'postings sum to ' || cast(sum(amount) as text) as offence from posting having sum(amount) <> 0
      union all select 'unknown account ' || p.account_id from posting p
        where not exists (select 1 from account a where a.id = p.account_id)`,
  },
  {
    check: 'a wallet is its postings',
    offences: `select a.id || ' has ' || cast(a.balance as text) as offence from account a
      where a.bounded = 1 and a.balance - ${leaseSum('l.used', 'l.wallet_id = a.id')}
        <> coalesce((select cast(sum(p.amount) as bigint) from posting p where p.account_id = a.id), 0)`,
  },
  {
    check: 'what a wallet or a budget holds is leased',
    offences: `select a.id || ' holds ' || cast(a.held as text) as offence from account a
        where a.held <> ${leaseSum('l.granted', `l.wallet_id = a.id and l.state <> 'closed'`)}
      union all select b.scope || ' holds ' || cast(b.held as text) from budget b
        where b.held <> coalesce((select cast(sum(l.granted) as bigint) from lease l
          join lease_scope s on s.lease_id = l.id where s.scope = b.scope and l.state <> 'closed'), 0)`,
  },
  {
    check: 'closed leases are empty',
    offences: `select l.id as offence from lease l where l.state = 'closed' and (l.granted <> 0 or l.used <> 0
      or exists (select 1 from inflight f where f.lease_id = l.id))`,
  },
  {
    check: 'a budget is its usage',
    offences: `select b.scope || ' used ' || cast(b.used as text) as offence from budget b
      where b.used + coalesce((select cast(sum(l.used) as bigint) from lease l
          join lease_scope s on s.lease_id = l.id where s.scope = b.scope), 0)
        <> case when b.sub_id is not null then ${usageSum('t.sub_id = b.sub_id')}
           else ${usageSum(`(b.month is null or t.month = b.month)
             and t.key_id in (select n.key_id from key_line n where n.owner_id = b.owner_id)`)} end`,
  },
  {
    check: 'caps are kept',
    offences: `select b.scope as offence from budget b
      where b.lim is not null and b.used + b.held > b.lim and b.used + b.held > b.tolerated`,
  },
  {
    check: 'open holds fit their lease',
    offences: `select l.id as offence from lease l where l.granted - l.used
        < coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)
      union all select f.call_id from inflight f where not exists (select 1 from lease l where l.id = f.lease_id)
      union all select f.call_id from inflight f join transfer t on t.kind = 'usage' and t.ref = f.call_id`,
  },
  {
    check: 'no wallet is overspent',
    offences: `select a.id || ' has ' || cast(a.balance - a.held as text) as offence from account a
      where a.bounded = 1 and a.balance - a.held < a.lowest`,
  },
]

const statementOf = ({ check, offences }: Law, place: number): string =>
  `select ${place} as place, '${check}' as law, (select min(o.offence) from (${offences}) o) as offence`

/** Checks every law; `detail` names one offence where a law is broken. */
export const auditOn = async (engine: Engine): Promise<readonly AuditRow[]> => {
  // One statement, so that all laws see one snapshot.
  const rows = await once(
    engine,
    'control',
    statement(`${laws.map(statementOf).join(' union all ')} order by place`),
  )
  return rows.map((row) => {
    const offence = maybeText(row, 'offence')
    return {
      check: textOf(row, 'law'),
      ok: offence === undefined,
      ...(offence === undefined ? {} : { detail: offence }),
    }
  })
}
