/** A large ledger in a file of SQLite: calls of a month by thousands of keys, a few of which make most of them. Its books balance. */
import { Database } from 'bun:sqlite'

const DAY = 86_400_000
export const ORG = 'org_large'
export const WALLET = 'wal_large_0'
const ORGS = 200
/** The large organisation has four of five keys. */
const SHARE = 5

const models = [
  ['anthropic/claude-sonnet-4-5', 'anthropic'],
  ['openai/gpt-5-mini', 'openai'],
  ['google/gemini-2.5-flash', 'google'],
  ['mistral/mistral-large', 'mistral'],
  ['deepseek/deepseek-chat', 'deepseek'],
] as const

const accounts = (database: Database, from: number): void => {
  database.run(
    `insert into account (id, bounded, org_id, name, created_at)
     with recursive n(i) as (select 0 union all select i + 1 from n where i < ${ORGS - 1})
     select 'wal_large_' || i, 1, case i when 0 then '${ORG}' else 'org_' || i end, 'Organisation ' || i, ${from} from n`,
  )
}

/** Which keys make calls, each as often as its weight. */
const picks = (database: Database, count: number): void => {
  const pick = database.prepare(
    `insert into pick select ?1, id, wallet_id from api_key where id = 'key_' || printf('%06d', ?2)`,
  )
  let slot = 0
  for (let i = 0; i < count; i++)
    for (let times = Math.max(1, Math.round(count / (i + 1) / 4)); times > 0; times--) pick.run(slot++, i)
}

const PICK = 'create temp table pick (slot integer primary key, key_id text, wallet_id text)'

/** Half of the large organisation's keys are tenants below its first. Weights fall as 1, 1/2, 1/3, … */
const keys = (database: Database, count: number, from: number): void => {
  database.run(PICK)
  database.run(
    `create temp table wanted as
     with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1})
     select i, 'key_' || printf('%06d', i) as id,
       case when i % ${SHARE} > 0 or i = 0 then 0 else 1 + (i / ${SHARE}) % ${ORGS - 1} end as org,
       case when i > 0 and i % ${SHARE} in (1, 2) then 1 else 0 end as tenant from n`,
  )
  database.run(
    `insert into api_key (id, hash, org_id, wallet_id, parent_id, ancestors, label, prefix, monthly_cap, can_manage, created_at, changed_at)
     select id, 'hash ' || id, case org when 0 then '${ORG}' else 'org_' || org end, 'wal_large_' || org,
       case tenant when 1 then 'key_000000' end, case tenant when 1 then '["key_000000"]' else '[]' end, 'Key ' || i,
       'sk-' || substr(id, 5), case i % 3 when 0 then 50000000000000 end, case i when 0 then 1 else 0 end, ${from} + i, ${from}
     from wanted order by i`,
  )
  database.run('insert into key_line (key_id, owner_id, depth) select id, id, 0 from wanted')
  database.run(
    `insert into key_line (key_id, owner_id, depth) select id, 'key_000000', 1 from wanted where tenant = 1`,
  )
  picks(database, count)
}

type Span = {
  readonly start: number
  readonly length?: number
  readonly first: number
  readonly count: number
}

/**
 * The calls of one day, or of a part of it, in order of time. `spread` turns a number into another that looks random.
 */
const day = (database: Database, { start, length = DAY, first, count }: Span): void => {
  const slots = (database.query('select count(*) as n from pick').get() as { n: number }).n
  const spread = (of: string, by: number) => `((${of} * ${by} + 12345) % 2147483648)`
  const of = (list: number) =>
    `case (${spread('i', 69_621)} / 97) % 8 ${models.map((model, at) => `when ${at} then '${model[list]}'`).join(' ')} else '${models[0][list]}' end`
  database.run(
    `create temp table now_ as
     with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${first + count - 1})
     select i, ${start} + (i - ${first}) * ${length} / ${count} as at, ${spread('i', 1_103_515_245)} % ${slots} as slot,
       200 + ${spread('i', 16_807)} % 9000 as input, 50 + ${spread('i', 48_271)} % 1800 as output,
       ${of(0)} as model, ${of(1)} as vendor, case ${spread('i', 40_014)} % 40 when 0 then 'client_gone' else 'ok' end as ended
     from n`,
  )
  const id = `printf('%08x-%04x-7000-8000-%012x', c.at / 65536, c.at % 65536, c.i)`
  const text = new Date(start).toISOString()
  database.run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
     select 'usage', ${id}, p.wallet_id, 'revenue', c.input * 400 + c.output * 2000, p.key_id, '${text.slice(0, 7)}', '${text.slice(0, 10)}', c.at
     from now_ c join pick p on p.slot = c.slot order by c.i`,
  )
  database.run(
    `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
     select ${id}, c.model, c.input, c.output, printf('{"keyId":"%s","model":"%s","vendor":"%s","usage":{"input":%d,"cache_read":%d,"output":%d},"cacheSaved":"%d","estimated":false,"priceVersion":"seed","startedAt":%d,"tookMs":900,"firstByteMs":240,"ended":"%s"}',
       p.key_id, c.model, c.vendor, c.input - c.input / 2, c.input / 2, c.output, c.input / 2 * 360, c.at - 900, c.ended)
     from now_ c join pick p on p.slot = c.slot order by c.i`,
  )
  // A top-up of every wallet each day, and a refund of some calls.
  database.run(
    `insert into transfer (kind, ref, debit, credit, amount, month, note, at)
     select 'topup', 'top ${text.slice(0, 10)} ' || id, 'cash', id, 20000000000000, '${text.slice(0, 7)}', 'card payment', ${start} + 1
     from account where id like 'wal_large_%' on conflict do nothing`,
  )
  database.run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, of_call, at)
     select 'refund', ${id} || ':refund', 'revenue', p.wallet_id, 1000, p.key_id, '${text.slice(0, 7)}', '${text.slice(0, 10)}', ${id}, c.at + 1
     from now_ c join pick p on p.slot = c.slot where c.i % 500 = 0`,
  )
  database.run('drop table now_')
}

const counters = (database: Database): void => {
  database.run(
    `create temp table spent as select key_id, month, count(*) filter (where kind = 'usage') as calls,
       sum(case kind when 'usage' then amount else -amount end) as used from transfer where key_id is not null group by 1, 2`,
  )
  for (const [scope, month, limit] of [
    [`'key:' || n.owner_id`, 'null', 'k.spend_cap'],
    [`'key:' || n.owner_id || ':' || s.month`, 's.month', 'k.monthly_cap'],
  ])
    database.run(
      `insert into budget (scope, owner_id, month, wallet_id, lim, used, calls)
       select ${scope}, n.owner_id, ${month}, k.wallet_id, ${limit}, sum(s.used), sum(s.calls)
       from spent s join key_line n on n.key_id = s.key_id join api_key k on k.id = n.owner_id group by 1`,
    )
  database.run(
    `update account set balance = (select coalesce(sum(case t.credit when account.id then t.amount else -t.amount end), 0)
       from transfer t where t.kind <> 'usage' and (t.credit = account.id or t.debit = account.id))
       - (select coalesce(sum(s.amount), 0) from (select debit, sum(amount) as amount from transfer where kind = 'usage' group by 1) s where s.debit = account.id)
     where id like 'wal_large_%'`,
  )
}

/** Fills the file, whose schema must exist, with calls up to `until`. */
export const fillLedger = (
  path: string,
  { calls, keyCount, days, until }: { calls: number; keyCount: number; days: number; until: number },
): void => {
  const database = new Database(path)
  database.run('pragma synchronous = off')
  database.run('pragma cache_size = -1500000')
  const from = until - days * DAY
  database.transaction(() => {
    accounts(database, from)
    keys(database, keyCount, from)
  })()
  const each = Math.trunc(calls / days)
  for (let at = 0; at < days; at++)
    database.transaction(() =>
      day(database, {
        start: from + at * DAY,
        first: at * each + 1,
        count: at === days - 1 ? calls - at * each : each,
      }),
    )()
  database.transaction(() => counters(database))()
  database.run('pragma wal_checkpoint(truncate)')
  database.close()
}

/** How calls fail in a large ledger, with the status of each code. */
const failures = [
  ['insufficient_balance', 402],
  ['rate_limit_exceeded', 429],
  ['invalid_parameter', 400],
  ['service_unavailable', 503],
] as const

/** Refused and failed calls of the same keys, spread over the days, with their counters. */
export const fillFailures = (
  path: string,
  { count, days, until }: { count: number; days: number; until: number },
): void => {
  const database = new Database(path)
  database.run('pragma synchronous = off')
  const from = until - days * DAY
  const of = (at: 0 | 1, quote: string) =>
    `case i % ${failures.length} ${failures.map((one, n) => `when ${n} then ${quote}${one[at]}${quote}`).join(' ')} end`
  database.transaction(() => {
    database.run(
      `create temp table wrong as
       with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1})
       select i, ${from} + cast(i * ${(days * DAY) / count} as integer) as at, ${of(0, "'")} as code, ${of(1, '')} as status,
         (i * 7919) % (select count(*) from api_key) as slot from n`,
    )
    database.run(
      'create temp table numbered as select id, org_id, row_number() over (order by rowid) - 1 as slot from api_key',
    )
    database.run('create index temp.numbered_slot on numbered (slot)')
    database.run(
      `insert into failed_call (call_id, org_id, key_id, at, model, vendor, code, status, detail)
       select printf('%08x-%04x-7000-9000-%012x', w.at / 65536, w.at % 65536, w.i), k.org_id, k.id, w.at, '${models[1][0]}',
         case when w.status = 503 then '${models[1][1]}' end, w.code, w.status, '{"tookMs":4,"endpoint":"/v1/chat/completions"}'
       from wrong w join numbered k on k.slot = w.slot order by 1`,
    )
    database.run(
      `insert into failed_day (slot, org_id, key_id, day, code, calls)
       select key_id || ' ' || at / ${DAY} * ${DAY} || ' ' || code, org_id, key_id, at / ${DAY} * ${DAY}, code, count(*)
       from failed_call group by 1`,
    )
  })()
  database.close()
}

/**
 * Calls of the last minutes in a file that was filled before, at its rate: a ledger in use has some that no sum
 * includes yet.
 */
export const fillOn = (
  path: string,
  { calls, keyCount, days, until, minutes }: Parameters<typeof fillLedger>[1] & { readonly minutes: number },
): void => {
  const database = new Database(path)
  const length = minutes * 60_000
  const count = Math.round((calls * length) / (days * DAY))
  database.transaction(() => {
    database.run(PICK)
    picks(database, keyCount)
    // Ids contain their time, so no number can come twice.
    day(database, { start: until - length, length, first: 1, count })
  })()
  database.close()
}
