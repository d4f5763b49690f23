/**
 * Organisations' wallets as operators list them: money, use, people, and whether they are suspended. One query per
 * page.
 */
import { PAYMENTS_ORG } from '../../ledger/types.ts'
import { rulesOf } from '../accounts/wallet-rules-row.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { binding, type Engine, once, type Value } from '../engine/engine.ts'
import { countsAt } from '../ledger/counts-at.ts'
import { heldOnLeases, isPaid, lessRefunds, settledOfAccount } from '../ledger/sums.ts'
import { containing } from './name-search.ts'
import type { AccountLine, AccountQuery } from './report-port.ts'
import { unsummedFrom } from './roll-up.ts'

const lines = rowsOf({
  orgId: text('org_id'),
  walletId: text('id'),
  name: text('name'),
  balance: nano('balance'),
  held: nano('held'),
  spent: nano('spent'),
  members: integer('members'),
  keys: integer('keys'),
  creditLimit: maybe(nano('lim')),
  netDays: maybe(integer('net_days')),
})
const rules = rowsOf({ rules: maybe(text('rules')) })

/** Wallets `a`, without credit lines and accounts of payments. */
export const walletsOnly = `a.bounded = 1 and a.org_id <> '${PAYMENTS_ORG}'
  and not exists (select 1 from credit_line c where c.account_id = a.id)`

const page = (
  { orgs, search, after, most, walletId }: AccountQuery,
  bind: (value: Value) => string,
): string => {
  const where = [walletsOnly]
  if (orgs !== 'all') where.push(`a.org_id in (${orgs.map(bind).join(', ') || 'null'})`)
  if (walletId !== undefined) where.push(`a.id = ${bind(walletId)}`)
  if (search !== undefined) {
    const has = containing(search, bind)
    where.push(`(${has('a.name')} or ${has('a.id')} or ${has('a.org_id')} or exists (
      select 1 from member m join person p on p.id = m.person_id where m.org_id = a.org_id and ${has('p.email')}))`)
  }
  if (after !== undefined)
    where.push(
      `(lower(a.name), a.id) > (select lower(b.name), b.id from account b where b.id = ${bind(after)})`,
    )
  return `select a.id, a.org_id, a.name, a.balance from account a where ${where.join(' and ')}
    order by lower(a.name), a.id limit ${bind(most)}`
}

export const accountLines = async (engine: Engine, query: AccountQuery): Promise<readonly AccountLine[]> => {
  const { params, bind } = binding()
  const from = bind(query.from)
  const spent = `coalesce((select cast(sum(r.amount) as bigint) from roll_up_hour r where r.org_id = a.org_id and r.hour >= ${from}), 0)
    + coalesce((select cast(sum(${lessRefunds}) as bigint) from api_key k cross join transfer t
        where t.key_id = k.id and k.org_id = a.org_id and t.kind in ('usage', 'refund') and ${isPaid} and t.at >= ${unsummedFrom(from)}
          and ${countsAt(engine.dialect)} >= ${from}), 0)`
  const rows = await once(
    engine,
    'reading',
    `select a.id, a.org_id, a.name, ${settledOfAccount} as balance, ${heldOnLeases('l.wallet_id = a.id')} as held,
         ${spent} as spent, w.rules, c.lim, c.net_days,
         (select cast(count(*) as bigint) from member m where m.org_id = a.org_id) as members,
         (select cast(count(*) as bigint) from api_key k where k.org_id = a.org_id and k.wallet_id = a.id
            and k.deleted = 0 and k.trial_until is null) as keys
       from (${page(query, bind)}) a left join wallet_rules w on w.wallet_id = a.id left join credit_line c on c.wallet_id = a.id
       order by lower(a.name), a.id`,
    ...params,
  )
  return rows.map((row) => {
    const written = rules.read(row).rules
    const suspended = written === undefined ? undefined : rulesOf(written).suspended
    return { ...lines.read(row), ...(suspended === undefined ? {} : { suspended }) }
  })
}
