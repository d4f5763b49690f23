/** The laws of what is recorded in two places: both agree, and every call is counted. */
import { estimateAccountOf, VENDORS } from '../../ledger/estimates.ts'
import { BATCH, JOB } from '../../ledger/types.ts'
import { LEAVING } from '../../tenancy/key.ts'
import type { Law } from './audit-laws.ts'
import { drawsEstimates } from './sums.ts'

/** Rows of `from` that break `law`, each described by `name`. */
const broken = (name: string, from: string, law: string): string =>
  `select ${name} as offence from ${from} where not coalesce(${law}, false)`

const same = (one: string, other: string): string => `coalesce(${one}, -1) = coalesce(${other}, -1)`

/** Whether the cap that counter `b` allows is not that of its key or its tag's budget. */
const differ = (whose: string): string =>
  `((coalesce(b.month, b.week, b.day) is null and not ${same('b.lim', `${whose}.spend_cap`)})
        or (b.month >= (select c.month from present c) and not ${same('b.lim', `${whose}.monthly_cap`)})
        or (substr(b.week, 12) >= (select c.day from present c) and not ${same('b.lim', `${whose}.weekly_cap`)})
        or (b.day >= (select c.day from present c) and not ${same('b.lim', `${whose}.daily_cap`)}))`

const counters: readonly Law[] = [
  {
    check: 'a counter is of what its name says',
    offences: `${broken(
      'b.scope',
      'budget b',
      `(b.brought = 0 or b.owner_id is not null) and
        case when b.sub_id is not null then b.scope = 'sub:' || b.sub_id and b.owner_id is null and b.month is null
          and b.week is null and b.day is null and b.tag_budget is null and exists (select 1 from sub_wallet s where s.id = b.sub_id and s.wallet_id = b.wallet_id)
        when b.tag_budget is not null then b.scope = 'tag:' || b.tag_budget || coalesce(':' || b.month, '') || coalesce(':' || b.week, '')
            || coalesce(':' || b.day, '') and b.owner_id is null and (b.keep_until is not null or coalesce(b.week, b.day) is null)
          and not exists (select 1 from tag_budget g where g.id = b.tag_budget and g.wallet_id <> b.wallet_id)
        when b.owner_id is null then b.scope = 'day:' || b.wallet_id || ':' || b.day and b.month is null
          and b.week is null and b.keep_until is not null
        else b.scope = 'key:' || b.owner_id || coalesce(':' || b.month, '') || coalesce(':' || b.week, '')
            || coalesce(':' || b.day, '')
          and (b.keep_until is not null) = (b.week is not null or b.day is not null) and exists (select 1 from api_key k where k.id = b.owner_id and k.wallet_id = b.wallet_id) end`,
    )}`,
  },
  {
    check: 'what is spent and leased has its counters',
    offences: `select s.lease_id || ' without ' || s.scope as offence from lease_scope s
        join lease l on l.id = s.lease_id and l.state <> 'closed'
        where not exists (select 1 from budget b where b.scope = s.scope)
      union all select u.scope from (
          select 'key:' || n.owner_id as scope from (select distinct c.key_id from charged c where c.calls > 0) x
            join key_line n on n.key_id = x.key_id
          union select 'key:' || n.owner_id || ':' || x.month from
            (select distinct c.key_id, c.month from charged c where c.calls > 0) x join key_line n on n.key_id = x.key_id
          union select 'key:' || n.owner_id || ':' || x.day from
            (select distinct c.key_id, c.day from charged c where c.calls > 0) x join key_line n on n.key_id = x.key_id
            where x.day >= (select c.day from present c)
          union select 'sub:' || c.sub_id from charged c where c.calls > 0 and c.sub_id is not null
          union select 'day:' || k.wallet_id || ':' || x.day from
            (select distinct c.key_id, c.day from charged c where c.calls > 0) x join api_key k on k.id = x.key_id
            where x.day >= (select c.day from present c)) u
        where u.scope is not null and not exists (select 1 from budget b where b.scope = u.scope)
      union all select s.id from sub_wallet s where not exists (select 1 from budget b where b.sub_id = s.id
        and (s.deleted_at is null or b.lim = 0))`,
  },
  {
    check: 'a counter has counted its calls',
    offences: `select b.scope || ' counts ' || cast(b.calls as text) as offence from scoped s join budget b on b.scope = s.scope
      left join counted c on c.scope = b.scope
      where (b.owner_id is not null or b.sub_id is not null or b.tag_budget is not null) and b.calls + s.calls <> coalesce(c.calls, 0)
      union all select b.scope from scoped s join budget b on b.scope = s.scope
      left join (select k.wallet_id, x.day, cast(sum(x.calls) as bigint) as calls
          from charged x join api_key k on k.id = x.key_id where x.day is not null group by k.wallet_id, x.day) u
        on u.wallet_id = b.wallet_id and u.day = b.day
      where b.day is not null and b.owner_id is null and b.tag_budget is null and b.calls + s.calls <> coalesce(u.calls, 0)`,
  },
  {
    check: 'the caps that are counted are those that were set',
    offences: `select b.scope || ' allows ' || coalesce(cast(b.lim as text), 'all') as offence
      from budget b join api_key k on k.id = b.owner_id
      where ${differ('k')}
      union all select b.scope from budget b join tag_budget g on g.id = b.tag_budget where ${differ('g')}
      union all select b.scope from budget b left join wallet_rules r on r.wallet_id = b.wallet_id
      where b.owner_id is null and b.tag_budget is null and b.day >= (select c.day from present c) and not ${same('b.lim', 'r.daily_limit')}`,
  },
]

const lines: readonly Law[] = [
  {
    check: 'a key is in line with its makers, on one wallet',
    offences: `select k.id as offence from api_key k
      where not exists (select 1 from key_line n where n.key_id = k.id and n.owner_id = k.id and n.depth = 0)
        or (select count(*) from key_line n where n.key_id = k.id) <> 1 + (length(k.ancestors) - length(replace(k.ancestors, '"', ''))) / 2
        or (k.parent_id is not null and not exists (select 1 from key_line n join api_key p on p.id = n.owner_id
          where n.key_id = k.id and n.depth = 1 and p.id = k.parent_id and p.wallet_id = k.wallet_id))
      union all select n.key_id from key_line n join api_key k on k.id = n.key_id
        where n.depth > 0 and k.ancestors not like '%"' || n.owner_id || '"%'`,
  },
  {
    check: 'a lease is of an account of its key, in one month and day',
    offences: `select l.id as offence from lease l where l.state <> 'closed' and (l.month <> substr(l.day, 1, 7)
      or not exists (select 1 from api_key k where k.id = l.key_id and (k.wallet_id = l.wallet_id
        or l.wallet_id in ('credit:' || k.wallet_id, '${estimateAccountOf('')}' || k.wallet_id)
        or exists (select 1 from x402_payment p where p.account_id = l.wallet_id))))
      union all select l.id from lease l where l.sub_id is not null
        and not exists (select 1 from sub_wallet s where s.id = l.sub_id)`,
  },
]

const accounts: readonly Law[] = [
  {
    check: 'accounts may owe only what was granted, authorised or taken back',
    offences: `${broken(
      `a.id || ' to ' || cast(a.lowest as text)`,
      `account a left join credit_line c on c.account_id = a.id
        left join (select p.account_id, max(p.amount) as amount from x402_payment p where p.scheme = 'upto' group by p.account_id) u
          on u.account_id = a.id`,
      `case when a.org_id = 'house' then a.bounded = 0 and a.balance = 0 and a.held = 0 and a.lowest = 0
        when a.bounded = 0 then ${drawsEstimates('a.id')} and a.lowest = 0
        when c.account_id is not null then a.lowest <= -c.lim
        when exists (select 1 from x402_channel h where h.account_id = a.id) then a.lowest <= 0
        when u.account_id is not null then a.lowest in (0, -u.amount)
        else a.lowest <= 0 and a.lowest >= -coalesce((select cast(sum(t.amount) as bigint) from transfer t
          where t.kind = 'adjust' and t.debit = a.id and t.of_topup is not null), 0) end`,
    )}`,
  },
  {
    check: 'each kind of posting is between the accounts it is for',
    offences: broken(
      `t.kind || ' ' || t.ref`,
      'transfer t',
      `case t.kind when 'usage' then t.credit = case when ${drawsEstimates('t.debit')} then '${VENDORS}' else 'revenue' end and (${drawsEstimates('t.debit')}) = (${drawsEstimates('t.ref')}) and t.key_id is not null and t.of_call is null
          and (t.day is null or t.month = substr(t.day, 1, 7))
        when 'writeoff' then t.debit = 'loss' and t.credit = 'revenue'
        when 'refund' then t.debit = 'revenue' and exists (select 1 from transfer u where u.kind = 'usage' and u.ref = t.of_call
          and u.debit = t.credit and u.key_id = t.key_id and u.month = t.month and coalesce(u.sub_id, '') = coalesce(t.sub_id, '')
          and coalesce(u.day, '') = coalesce(t.day, ''))
        when 'grant' then t.debit = 'promo'
        when 'topup' then t.debit in ('cash', 'x402') or exists (select 1 from account a where a.id = t.debit and a.bounded = 1)
        else true end and (t.kind in ('usage', 'refund', 'writeoff') or t.key_id is null)
        and (t.settled is null or (t.kind in ('usage', 'writeoff') and t.settled in ('late', 'recovered')))
        and (t.of_topup is null or t.kind = 'adjust')
        and (t.kind in ('usage', 'refund') or (t.day is null and t.sub_id is null and t.tag_budgets is null and t.of_call is null))`,
    ),
  },
  {
    check: 'no call is refunded more than it was charged',
    offences: `select u.ref as offence from transfer u join (select t.of_call, cast(sum(t.amount) as bigint) as amount
        from transfer t where t.of_call is not null group by t.of_call) r on r.of_call = u.ref
      where u.kind = 'usage' and r.amount > u.amount`,
  },
  {
    check: 'a payment went to whom it was made for',
    offences: `select o.id as offence from checkout o join transfer t on t.kind = 'topup' and t.ref = o.paid_ref
      where t.credit <> o.wallet_id and not exists (select 1 from credit_line c
        where c.account_id = t.credit and c.wallet_id = o.wallet_id)
      union all select c.wallet_id from trial_claim c where not exists (select 1 from transfer t
        where t.kind = 'grant' and t.ref like 'trial:%' and t.credit = c.wallet_id and t.amount = c.amount)
        or not exists (select 1 from api_key k where k.id = c.key_id and k.wallet_id = c.wallet_id)
      union all select p.id from x402_payment p join transfer t on t.ref = 'x402:' || p.id
        where (t.kind = 'topup' and t.debit in ('cash', 'x402') and coalesce(t.note, '') <> coalesce(p.tx, ''))
          or (t.kind = 'adjust' and t.debit = p.account_id and t.credit <> coalesce(p.change_to, ''))
      union all select p.id from x402_payment p join account a on a.id = p.account_id
        where p.change_to is not null and a.balance <> 0 and not exists (select 1 from x402_channel c where c.account_id = a.id)
      union all select i.id from invoice i where i.serial < 1
      union all select c.account_id from credit_line c where not exists (select 1 from account a where a.id = c.account_id
        and a.bounded = 1 and c.account_id = 'credit:' || c.wallet_id)`,
  },
]

const jobs: readonly Law[] = [
  {
    check: 'a job is charged if and only if it delivered, and holds money until it ends',
    offences: `select r.id as offence from run r where r.state = 'done'
        and not exists (select 1 from transfer t where t.kind = 'usage' and t.ref = r.id)
      union all select r.id from run r where r.state in ('submitting', 'running', 'failed')
        and exists (select 1 from transfer t where t.kind = 'usage' and t.ref = r.id)
      union all select r.id from run r join inflight f on f.call_id = r.id where r.ended_at is not null
      union all select f.call_id from inflight f join lease l on l.id = f.lease_id
        where l.instance like '${JOB}%' and l.instance not like '${JOB}${BATCH}%'
        and not exists (select 1 from run r where r.id = substr(l.instance, ${JOB.length + 1}) and r.ended_at is null
          and (f.call_id = r.id and r.lease_id = l.id or f.call_id = '${VENDORS}:' || r.id || ':job'))`,
  },
]

/** Lines of ended batches are deleted some at a time, so only open batches are compared with their lines. */
const batches: readonly Law[] = [
  {
    check: 'a line of a batch is charged if and only if it has its answer, and a batch is its lines',
    offences: `select x.batch_id || ' ' || cast(x.n as text) as offence from batch_line x
        left join transfer t on t.kind = 'usage' and t.ref = x.call_id
        where (x.state = 'succeeded') <> (t.ref is not null) or coalesce(t.amount, 0) <> coalesce(x.charged, 0)
      union all select b.id from batch b where b.state = 'in_progress' and exists (select 1 from (
          select cast(sum(case when x.state = 'waiting' then x.bound else 0 end) as bigint) as rest,
            coalesce(cast(sum(x.charged) as bigint), 0) as charged, cast(count(*) as bigint) as total
          from batch_line x where x.batch_id = b.id) s
        where s.rest <> b.rest or s.charged <> b.charged or s.total <> b.total
          or b.total <> b.waiting + b.sent + b.succeeded + b.errored + b.stopped)
      union all select f.call_id from inflight f join lease l on l.id = f.lease_id
        where l.instance like '${JOB}${BATCH}%' and not exists (select 1 from batch b
          where b.id = f.call_id and l.instance = '${JOB}${BATCH}' || b.id and b.state = 'in_progress')
        and not exists (select 1 from batch_line x where x.call_id = f.call_id and x.state = 'sent')`,
  },
]

const cells: readonly Law[] = [
  {
    check: 'an organisation is elsewhere only after a move, with all its keys',
    offences: `select a.id as offence from account a where a.cell is not null and not exists (
        select 1 from cell_move m where m.org_id = a.org_id and m.way = 'out' and a.bounded = 1
          and a.cell = case m.state when 'moved' then m.cell when 'leaving' then '${LEAVING}' || m.cell when 'left' then '${LEAVING}' || m.cell end)
      union all select k.id from api_key k join account a on a.id = k.wallet_id where coalesce(k.cell, '') <> coalesce(a.cell, '')`,
  },
  {
    check: 'what is held for open work is out of the books only while its organisation moves',
    offences: `select h.call_id as offence from held_along h where not exists (select 1 from lease l
        join api_key k on k.id = l.key_id join cell_move m on m.org_id = k.org_id and m.state = 'left'
        where l.id = h.lease_id and l.state = 'closed')`,
  },
]

export const recordLaws: readonly Law[] = [...counters, ...lines, ...accounts, ...jobs, ...batches, ...cells]
