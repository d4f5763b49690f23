/** The laws of invoices: each follows the one before, asks for what was used, and is paid by its own payment. */
import { DAY_MS } from '../../core/time.ts'
import type { SqlDialect } from '../engine/engine.ts'
import type { Law } from './audit-laws.ts'
import { countsAt } from './counts-at.ts'
import { lessRefunds } from './sums.ts'

/** Until then the last invoice of line `c` has what was posted; of that, what counts before that day. */
const lastEnds = '(select max(i.ends_at) from invoice i where i.account_id = c.account_id)'

export const invoiceLaws = (dialect: SqlDialect): readonly Law[] => [
  {
    check: 'invoices follow each other without gaps, and carry what is less than a cent',
    offences: `select i.id as offence from invoice i left join invoice p
        on p.account_id = i.account_id and p.serial = i.serial - 1
      where i.brought <> coalesce(p.carried, 0) or (i.serial > 1 and p.id is null) or p.ends_at >= i.ends_at`,
  },
  {
    check: 'what was used on credit is invoiced, once',
    offences: `select c.account_id as offence from credit_line c
      where coalesce((select cast(sum(i.used) as bigint) from invoice i where i.account_id = c.account_id), 0)
        <> coalesce((select cast(sum(${lessRefunds}) as bigint)
          from transfer t where ((t.kind = 'usage' and t.debit = c.account_id)
              or (t.kind = 'refund' and t.credit = c.account_id))
            and t.at < ${lastEnds} and ${countsAt(dialect)} < (${lastEnds} / ${DAY_MS}) * ${DAY_MS}), 0)`,
  },
  {
    check: 'a paid invoice has its payment, and a payment its invoice',
    offences: `select i.id as offence from invoice i where i.paid_ref is not null and not exists (select 1 from transfer t
        where t.kind = 'topup' and t.ref = i.paid_ref and t.credit = i.account_id and t.amount = i.total)
      union all select t.ref from transfer t join credit_line c on c.account_id = t.credit
        where t.kind = 'topup' and not exists (select 1 from invoice i where i.paid_ref = t.ref)`,
  },
]
