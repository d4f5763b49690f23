/** The audit: checks the laws of the ledger over all rows. The laws of sums and records are checked in one snapshot. */
import { dayOf, monthOf } from '../../core/time.ts'
import { type Engine, once, type SqlDialect } from '../engine/engine.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'
import { logThatDiffers } from '../log/audit-log.ts'
import { chargesThatDiffer } from './audit-charges.ts'
import { invoiceLaws } from './audit-invoices.ts'
import { type Law, laws } from './audit-laws.ts'
import { recordLaws } from './audit-records.ts'
import type { AuditRow } from './ledger-port.ts'
import { estimatedOf, isEstimate, isPaid, lessRefunds } from './sums.ts'

const lawOf = ({ check, offences }: Law, place: number): string =>
  `select ${place} as place, '${check}' as law, (select min(o.offence) from (${offences}) o) as offence`

/** Whether charges `c` count in the period of counter `b`. */
const inPeriod = `(b.month is null or c.month = b.month) and (b.day is null or c.day = b.day)
      and (b.week is null or c.day between substr(b.week, 1, 10) and substr(b.week, 12))`

const sums = `cast(sum(c.amount) as bigint) as amount, cast(sum(c.calls) as bigint) as calls,
      cast(sum(c.estimated) as bigint) as estimated`

/**
 * One statement, so that all laws see one snapshot; its parameters are the present month and day. What was posted to each
 * account is summed once for all laws, and so is what leases hold and have used of each account and of each scope: there
 * are many leases, and each is read a fixed number of times. Charges are summed by key, day, sub-wallet and budgets of tags, and those sums
 * by counter: each posting is read once, however many counters it is in.
 */
const auditText = (
  dialect: SqlDialect,
): string => `with present as (select cast($1 as text) as month, cast($2 as text) as day),
  posted as (select p.account_id, cast(sum(p.amount) as bigint) as amount from posting p group by p.account_id),
  open_lease as (select l.* from lease l where l.state <> 'closed'),
  leased as (select l.wallet_id as account_id, cast(sum(l.granted) as bigint) as granted, cast(sum(l.used) as bigint) as used
    from open_lease l group by l.wallet_id),
  scoped as materialized (select x.scope, cast(sum(x.granted) as bigint) as granted, cast(sum(x.used) as bigint) as used,
      cast(sum(x.calls) as bigint) as calls, cast(sum(x.estimated) as bigint) as estimated
    from (select s.scope, l.granted, l.used, l.calls, ${estimatedOf('l')} as estimated
        from open_lease l join lease_scope s on s.lease_id = l.id
      union all select b.scope, 0, 0, 0, 0 from budget b) x group by x.scope),
  charged as materialized (select t.key_id, t.month, t.day, t.sub_id, t.tag_budgets, cast(sum(${lessRefunds}) as bigint) as amount,
      cast(sum(case when t.kind = 'usage' and ${isPaid} then 1 else 0 end) as bigint) as calls,
      cast(sum(case when ${isEstimate} then t.amount else 0 end) as bigint) as estimated
    from transfer t where t.kind in ('usage', 'refund') group by t.key_id, t.month, t.day, t.sub_id,
      t.tag_budgets),
  counted as materialized (select b.scope, ${sums}
    from budget b join key_line n on n.owner_id = b.owner_id join charged c on c.key_id = n.key_id
      and ${inPeriod}
    group by b.scope
    union all select 'sub:' || c.sub_id, ${sums} from charged c
      where c.sub_id is not null group by c.sub_id
    union all select b.scope, ${sums}
      from (select c.*, e.value->>'b' as tag_budget from charged c, ${dialect.each('c.tag_budgets')} e where c.tag_budgets is not null) c
      join budget b on b.tag_budget = c.tag_budget and ${inPeriod} group by b.scope)
  ${[...laws, ...invoiceLaws(dialect), ...recordLaws].map(lawOf).join(' union all ')} order by place`

const rowOf = (check: string, offence: string | undefined): AuditRow => ({
  check,
  ok: offence === undefined,
  ...(offence === undefined ? {} : { detail: offence }),
})

/**
 * Checks every law; `detail` describes one offence if a law is broken. `sums` leaves out checks that read the detail of
 * each call, for a check that is repeated while the server runs.
 */
export const auditOn = async (engine: Engine, what: 'all' | 'sums' = 'all'): Promise<readonly AuditRow[]> => {
  const { dialect } = engine
  const now = countOf(onlyRow(await once(engine, 'reading', `select ${dialect.now} as now`)), 'now')
  const found = await once(engine, 'reading', auditText(dialect), monthOf(now), dayOf(now))
  const rows = found.map((row) => rowOf(textOf(row, 'law'), maybeText(row, 'offence')))
  if (what === 'sums') return rows
  return [
    ...rows,
    rowOf('a charge is its usage at its prices', await chargesThatDiffer(engine)),
    rowOf('the log of receipts is what the books say', await logThatDiffers(engine)),
  ]
}
