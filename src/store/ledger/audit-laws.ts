/** The laws of the ledger's sums: wallets, holds, caps, payments and invoices equal what was posted. */
import { drawsEstimates } from './sums.ts'

/** A law that must hold over all rows at any instant, even under load. */
export type Law = {
  readonly check: string
  /** Selects one text per offence, in a column `offence`; what `present`, `posted`, `leased`, `scoped`, `charged` and `counted` are is said in audit.ts. */
  readonly offences: string
}

/** What the house granted a wallet under a reference. */
const granted = (ref: string, wallet: string): string =>
  `coalesce((select t.amount from transfer t
    where t.kind = 'grant' and t.ref = ${ref} and t.credit = ${wallet} and t.debit = 'promo'), 0)`

export const laws: readonly Law[] = [
  {
    check: 'postings sum to zero and name known accounts',
    offences: `select 'postings sum to ' || cast(sum(amount) as text) as offence from posted having sum(amount) <> 0
      union all select 'unknown account ' || p.account_id from posted p
        where not exists (select 1 from account a where a.id = p.account_id)`,
  },
  {
    check: 'a wallet is its postings',
    offences: `select a.id || ' has ' || cast(a.balance as text) as offence from account a
      left join posted s on s.account_id = a.id left join leased l on l.account_id = a.id
      where (a.bounded = 1 or ${drawsEstimates('a.id')}) and a.balance - coalesce(l.used, 0) <> coalesce(s.amount, 0)`,
  },
  {
    check: 'what a wallet or a budget holds is leased',
    offences: `select a.id || ' holds ' || cast(a.held as text) as offence from account a
        left join leased l on l.account_id = a.id where a.held <> coalesce(l.granted, 0)
      union all select b.scope || ' holds ' || cast(b.held as text) from scoped s
        join budget b on b.scope = s.scope where b.held <> s.granted`,
  },
  {
    check: 'closed leases are empty',
    offences: `select l.id as offence from lease l where l.state = 'closed' and (l.granted <> 0 or l.used <> 0 or l.calls <> 0
      or exists (select 1 from inflight f where f.lease_id = l.id))`,
  },
  {
    check: 'a budget is its usage',
    offences: `select b.scope || ' used ' || cast(b.used as text) as offence from scoped s join budget b on b.scope = s.scope
      left join counted c on c.scope = b.scope
      where (b.owner_id is not null or b.sub_id is not null or b.tag_budget is not null)
        and b.used + s.used <> b.brought + coalesce(c.amount, 0)`,
  },
  {
    check: 'what a budget has of estimates is what was estimated of its calls by own keys',
    offences: `select b.scope || ' estimated ' || cast(b.estimated as text) as offence from scoped s
      join budget b on b.scope = s.scope left join counted c on c.scope = b.scope
      where (b.owner_id is not null or b.sub_id is not null or b.tag_budget is not null)
        and b.estimated + s.estimated <> coalesce(c.estimated, 0)
      union all select b.scope from scoped s join budget b on b.scope = s.scope
      left join (select k.wallet_id, x.day, cast(sum(x.estimated) as bigint) as amount
          from charged x join api_key k on k.id = x.key_id where x.day is not null group by k.wallet_id, x.day) u
        on u.wallet_id = b.wallet_id and u.day = b.day
      where b.day is not null and b.owner_id is null and b.tag_budget is null
        and b.estimated + s.estimated <> coalesce(u.amount, 0)`,
  },
  {
    check: 'a day of a wallet is its usage of that day',
    offences: `select b.scope || ' used ' || cast(b.used as text) as offence from scoped s
      join budget b on b.scope = s.scope
      left join (select k.wallet_id, x.day, cast(sum(x.amount) as bigint) as amount
          from charged x join api_key k on k.id = x.key_id where x.day is not null group by k.wallet_id, x.day) u
        on u.wallet_id = b.wallet_id and u.day = b.day
      where b.day is not null and b.owner_id is null and b.tag_budget is null
        and b.used + s.used <> coalesce(u.amount, 0)`,
  },
  {
    check: 'trials and referrals were given what they record',
    offences: `select 'trials of ' || d.day as offence from trial_day d
        where d.granted <> coalesce((select cast(sum(t.amount) as bigint) from transfer t
          where t.kind = 'grant' and t.cell is null and t.ref like 'trial:' || d.day || ':%'), 0)
      union all select 'referral of ' || c.org_id from referral_claim c
        where c.claimant_amount <> ${granted("'referral:' || c.org_id", 'c.wallet_id')}
          or c.referrer_amount <> ${granted("'referrer:' || c.org_id", 'c.referrer_id')}`,
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
  {
    check: 'a wallet is below zero only by what payers took back',
    offences: `select a.id || ' has ' || cast(a.balance - a.held as text) as offence from account a
      where a.bounded = 1 and a.balance - a.held < 0
        and not exists (select 1 from credit_line c where c.account_id = a.id)
        and not exists (select 1 from x402_payment p where p.account_id = a.id
          and p.state in ('authorized', 'settling') and p.amount >= a.held - a.balance)
        and not exists (select 1 from x402_channel c where c.account_id = a.id)
        and a.balance - a.held + coalesce((select cast(sum(t.amount) as bigint) from transfer t
          where t.kind = 'adjust' and t.debit = a.id and t.of_topup is not null), 0) < 0`,
  },
  {
    check: 'a payment is credited once, and only what was credited is taken back',
    offences: `select o.id as offence from checkout o where o.paid_ref is not null
        and not exists (select 1 from transfer t where t.kind = 'topup' and t.ref = o.paid_ref and t.amount <= o.amount)
      union all select t.ref from transfer t where t.of_topup is not null
        and not exists (select 1 from transfer p where p.kind = 'topup' and p.ref = t.of_topup)`,
  },
  {
    check: 'a payment is taken back as far as it was asked for, and never more than it brought in',
    offences: `select p.ref as offence from transfer p
      left join (select t.of_topup, cast(sum(case when t.credit = 'cash' then t.amount else -t.amount end) as bigint) as net
        from transfer t where t.kind = 'adjust' and t.of_topup is not null group by t.of_topup) n on n.of_topup = p.ref
      left join (select b.topup_ref, cast(sum(b.outstanding) as bigint) as asked from taken_back b group by b.topup_ref) b
        on b.topup_ref = p.ref
      where p.kind = 'topup' and p.ref like 'stripe:%' and coalesce(n.net, 0)
        <> case when coalesce(b.asked, 0) < p.amount then coalesce(b.asked, 0) else p.amount end`,
  },
  {
    check: 'a top-up is over when its payment is credited, and not before',
    offences: `select t.id as offence from top_up t join checkout o on o.id = t.id
      where t.amount <> o.amount or t.wallet_id <> o.wallet_id
        or case t.state when 'credited' then 1 else 0 end <> case when o.paid_ref is null then 0 else 1 end`,
  },
  {
    check: 'an x402 payment is taken in once, and pays for its own call only',
    offences: `select p.id as offence from x402_payment p left join x402_channel c on c.id = p.channel_id where p.state = 'settled'
        and (c.account_id is null or c.account_id <> p.account_id) and not exists (select 1 from transfer t
          where t.kind = 'topup' and t.ref = 'x402:' || p.id and t.credit = p.account_id and t.amount = p.amount
            and t.debit = coalesce(c.account_id, case when p.id like 'stripe:%' then 'cash' else 'x402' end))
      union all select t.ref from transfer t where (t.debit = 'x402' or (t.kind = 'topup' and t.ref like 'x402:stripe:%')) and t.cell is null and not exists (select 1 from x402_payment p
        where p.state = 'settled' and t.ref = 'x402:' || p.id)
        and not exists (select 1 from x402_channel c where c.account_id = t.credit and t.ref like 'x402:claim:' || c.id || ':%')
      union all select t.ref from transfer t where t.kind = 'usage' and exists (select 1 from x402_payment p where p.account_id = t.debit)
        and not exists (select 1 from x402_payment p where p.account_id = t.debit and p.call_id = t.ref)
      union all select t.ref from transfer t where t.debit = 'loss' and t.ref like 'x402:%' and not exists (
        select 1 from x402_payment p where p.state = 'lost' and t.ref = 'x402:' || p.id and t.credit = p.account_id)
        and not exists (select 1 from x402_channel c where c.account_id = t.credit)`,
  },
  {
    check:
      'a channel owes what its vouchers were charged and nobody has claimed, and never more than they allow',
    // Less than a unit of each call is the house's, posted with the next claim; the call that has the channel may be charged.
    offences: `select c.id as offence from x402_channel c left join account a on a.id = c.account_id
        left join posted s on s.account_id = c.account_id
        left join (select p.channel_id,
            cast(sum(case when p.state = 'settled' then p.amount - t.amount else 0 end) as bigint) as rest,
            cast(sum(case when p.state = 'settled' then 0 else t.amount end) as bigint) as due,
            sum(case when p.state <> 'settled' and p.id = h.pending
              or p.state = 'settled' and p.amount between t.amount and t.amount + h.unit - 1 then 0 else 1 end) as wrong
          from x402_payment p join x402_channel h on h.id = p.channel_id and h.account_id = p.account_id
          join transfer t on t.kind = 'usage' and t.ref = p.call_id and t.debit = p.account_id group by p.channel_id) u on u.channel_id = c.id
        left join (select t.debit, cast(sum(t.amount) as bigint) as posted from transfer t
          where t.kind = 'adjust' and t.credit = 'revenue' group by t.debit) k on k.debit = c.account_id
      where a.id is null or coalesce(u.wrong, 0) > 0 or coalesce(u.rest, 0) < coalesce(k.posted, 0)
        or (c.charged = c.claimed + c.lost and coalesce(u.rest, 0) <> coalesce(k.posted, 0))
        or coalesce(s.amount, 0) + coalesce(u.due, 0)
          <> c.claimed + c.lost - c.charged + coalesce(u.rest, 0) - coalesce(k.posted, 0)
        or c.charged < c.claimed + c.lost or c.began > c.claimed
        or (c.charged > c.began and (c.signature is null or c.signed < c.charged))
        or case when c.charged_at is null then 0 else 1 end <> case when c.charged > c.claimed + c.lost then 1 else 0 end
        or c.charged - c.began <> coalesce((select cast(sum(p.amount) as bigint) from x402_payment p
          where p.channel_id = c.id and p.state = 'settled'), 0)
        or c.claimed - c.began <> coalesce((select cast(sum(t.amount) as bigint) from transfer t
          where t.debit = 'x402' and t.credit = c.account_id), 0)
        or c.lost <> coalesce((select cast(sum(t.amount) as bigint) from transfer t
          where t.debit = 'loss' and t.credit = c.account_id), 0)
        or coalesce((c.charged - c.began) % nullif(c.unit, 0), 1) <> 0
        or exists (select 1 from x402_payment p where p.channel_id = c.id and p.payer <> c.payer)
        or (c.pending is not null and not exists (select 1 from x402_payment p where p.id = c.pending and p.channel_id = c.id))
      union all select p.id from x402_payment p join x402_channel c on c.pending = p.id where p.state = 'authorized'
        and (p.sent not like '%"most":"' || cast(c.charged + p.amount as text) || '"%'
          or (p.account_id <> c.account_id and not exists (select 1 from account a where a.id = p.account_id and a.lowest = -p.amount)))
      union all select p.id from x402_payment p where p.channel_id is not null
        and not exists (select 1 from x402_channel c where c.id = p.channel_id)`,
  },
]
