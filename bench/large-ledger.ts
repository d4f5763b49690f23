/** A large ledger on SQLite or PostgreSQL: calls of a month by thousands of keys, a few of which make most of them. Its books balance. */

import { Database } from 'bun:sqlite'
import { SQL } from 'bun'

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

/** A connection past the store, and what the two engines say differently. */
type Filler = {
  run(text: string): Promise<unknown>
  count(text: string): Promise<number>
  /** Whole numbers from `first` on, in column `i` of a table `n`: goes behind `with`. */
  series(first: number, count: number): string
  /** A number with zeros before it. */
  padded(of: string, digits: number): string
  hex(of: string, digits: number): string
  /** Statistics for the planner, where the engine makes them by itself. */
  tidy(): Promise<unknown>
  close(): Promise<unknown>
}

const onSqlite = (path: string): Filler => {
  const database = new Database(path)
  database.run('pragma synchronous = off')
  database.run('pragma cache_size = -1500000')
  return {
    run: async (text) => database.run(text),
    count: async (text) => Number((database.query(text).get() as { n: number }).n),
    series: (first, count) =>
      `recursive n(i) as (select ${first} union all select i + 1 from n where i < ${first + count - 1})`,
    padded: (of, digits) => `printf('%0${digits}d', ${of})`,
    hex: (of, digits) => `printf('%0${digits}x', ${of})`,
    tidy: async () => undefined,
    close: async () => {
      database.run('pragma wal_checkpoint(truncate)')
      database.close()
    },
  }
}

const onPostgres = async (url: string): Promise<Filler> => {
  const sql = new SQL({ url, max: 1, idleTimeout: 0, maxLifetime: 0 })
  for (const set of ["work_mem = '256MB'", 'synchronous_commit = off']) await sql.unsafe(`set ${set}`)
  return {
    run: (text) => sql.unsafe(text),
    count: async (text) => Number((await sql.unsafe(text))[0].n),
    series: (first, count) =>
      `n as (select generate_series(${first}::bigint, ${first + count - 1}::bigint) as i)`,
    padded: (of, digits) => `lpad((${of})::text, ${digits}, '0')`,
    hex: (of, digits) => `lpad(to_hex(${of}), ${digits}, '0')`,
    tidy: () => sql.unsafe('vacuum analyze'),
    close: () => sql.close(),
  }
}

/** Opens the ledger at this address, does the work, and closes it. */
const filling = async (url: string, work: (filler: Filler) => Promise<void>): Promise<void> => {
  const filler = url.startsWith('sqlite:') ? onSqlite(url.slice('sqlite:'.length)) : await onPostgres(url)
  try {
    await work(filler)
  } finally {
    await filler.close()
  }
}

const accounts = async ({ run, series }: Filler, from: number): Promise<void> => {
  await run(
    `insert into account (id, bounded, org_id, name, created_at)
     with ${series(0, ORGS)}
     select 'wal_large_' || i, 1, case i when 0 then '${ORG}' else 'org_' || i end, 'Organisation ' || i, ${from} from n`,
  )
}

/** Which keys make calls, each as often as its weight: weights fall as 1, 1/2, 1/3, … */
const picks = async ({ run, padded }: Filler, count: number): Promise<void> => {
  await run('create temp table picked (slot bigint, i bigint)')
  const chosen = Array.from({ length: count }, (_, i) =>
    Array.from({ length: Math.max(1, Math.round(count / (i + 1) / 4)) }, () => i),
  ).flat()
  const rows = chosen.map((i, slot) => `(${slot}, ${i})`)
  for (let at = 0; at < rows.length; at += 5_000)
    await run(`insert into picked (slot, i) values ${rows.slice(at, at + 5_000).join(', ')}`)
  await run('create temp table pick (slot bigint primary key, key_id text, wallet_id text)')
  await run(
    `insert into pick select p.slot, k.id, k.wallet_id from picked p join api_key k on k.id = 'key_' || ${padded('p.i', 6)}`,
  )
}

/** Half of the large organisation's keys are tenants below its first. */
const keys = async (filler: Filler, count: number, from: number): Promise<void> => {
  const { run, series, padded } = filler
  await run(
    `create temp table wanted as
     with ${series(0, count)}
     select i, 'key_' || ${padded('i', 6)} as id,
       case when i % ${SHARE} > 0 or i = 0 then 0 else 1 + (i / ${SHARE}) % ${ORGS - 1} end as org,
       case when i > 0 and i % ${SHARE} in (1, 2) then 1 else 0 end as tenant from n`,
  )
  await run(
    `insert into api_key (id, hash, org_id, wallet_id, parent_id, ancestors, label, prefix, monthly_cap, can_manage, created_at, changed_at)
     select id, 'hash ' || id, case org when 0 then '${ORG}' else 'org_' || org end, 'wal_large_' || org,
       case tenant when 1 then 'key_000000' end, case tenant when 1 then '["key_000000"]' else '[]' end, 'Key ' || i,
       'sk-' || substr(id, 5), case i % 3 when 0 then 50000000000000 end, case i when 0 then 1 else 0 end, ${from} + i, ${from}
     from wanted order by i`,
  )
  await run('insert into key_line (key_id, owner_id, depth) select id, id, 0 from wanted')
  await run(
    `insert into key_line (key_id, owner_id, depth) select id, 'key_000000', 1 from wanted where tenant = 1`,
  )
  await picks(filler, count)
}

type Span = {
  readonly start: number
  readonly length?: number
  readonly first: number
  readonly count: number
}

/** Ids of calls begin with their time, so that none can come twice. */
const idOf = (hex: Filler['hex'], row: string, kind: string): string =>
  `${hex(`${row}.at / 65536`, 8)} || '-' || ${hex(`${row}.at % 65536`, 4)} || '-7000-${kind}-' || ${hex(`${row}.i`, 12)}`

/**
 * The calls of one day, or of a part of it, in order of time. `spread` turns a number into another that looks random.
 */
const day = async (filler: Filler, { start, length = DAY, first, count }: Span): Promise<void> => {
  const { run, hex } = filler
  const slots = await filler.count('select count(*) as n from pick')
  const spread = (of: string, by: number) => `((${of} * ${by} + 12345) % 2147483648)`
  const of = (list: number) =>
    `case (${spread('i', 69_621)} / 97) % 8 ${models.map((model, at) => `when ${at} then '${model[list]}'`).join(' ')} else '${models[0][list]}' end`
  await run(
    `create temp table now_ as
     with ${filler.series(first, count)}
     select i, ${start} + (i - ${first}) * ${length} / ${count} as at, ${spread('i', 1_103_515_245)} % ${slots} as slot,
       200 + ${spread('i', 16_807)} % 9000 as input, 50 + ${spread('i', 48_271)} % 1800 as output,
       ${of(0)} as model, ${of(1)} as vendor, case ${spread('i', 40_014)} % 40 when 0 then 'client_gone' else 'ok' end as ended
     from n`,
  )
  const id = idOf(hex, 'c', '8000')
  const text = new Date(start).toISOString()
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
     select 'usage', ${id}, p.wallet_id, 'revenue', c.input * 400 + c.output * 2000, p.key_id, '${text.slice(0, 7)}', '${text.slice(0, 10)}', c.at
     from now_ c join pick p on p.slot = c.slot order by c.i`,
  )
  await run(
    `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
     select ${id}, c.model, c.input, c.output, format('{"keyId":"%s","model":"%s","vendor":"%s","usage":{"input":%s,"cache_read":%s,"output":%s},"cacheSaved":"%s","estimated":false,"priceVersion":"seed","startedAt":%s,"tookMs":900,"firstByteMs":240,"ended":"%s"}',
       p.key_id, c.model, c.vendor, c.input - c.input / 2, c.input / 2, c.output, c.input / 2 * 360, c.at - 900, c.ended)
     from now_ c join pick p on p.slot = c.slot order by c.i`,
  )
  // A top-up of every wallet each day, and a refund of some calls.
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, month, note, at)
     select 'topup', 'top ${text.slice(0, 10)} ' || id, 'cash', id, 20000000000000, '${text.slice(0, 7)}', 'card payment', ${start} + 1
     from account where id like 'wal_large_%' on conflict do nothing`,
  )
  await run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, of_call, at)
     select 'refund', ${id} || ':refund', 'revenue', p.wallet_id, 1000, p.key_id, '${text.slice(0, 7)}', '${text.slice(0, 10)}', ${id}, c.at + 1
     from now_ c join pick p on p.slot = c.slot where c.i % 500 = 0`,
  )
  await run('drop table now_')
}

const counters = async ({ run }: Filler): Promise<void> => {
  await run(
    `create temp table spent as select key_id, month, count(*) filter (where kind = 'usage') as calls,
       sum(case kind when 'usage' then amount else -amount end) as used from transfer where key_id is not null group by 1, 2`,
  )
  for (const [scope, month, limit] of [
    [`'key:' || n.owner_id`, 'cast(null as text)', 'k.spend_cap'],
    [`'key:' || n.owner_id || ':' || s.month`, 's.month', 'k.monthly_cap'],
  ])
    await run(
      `insert into budget (scope, owner_id, month, wallet_id, lim, used, calls)
       select ${scope}, n.owner_id, ${month}, k.wallet_id, ${limit}, sum(s.used), sum(s.calls)
       from spent s join key_line n on n.key_id = s.key_id join api_key k on k.id = n.owner_id group by 1, 2, 3, 4, 5`,
    )
  await run(
    `create temp table moved as select id, sum(amount) as amount from (
       select debit as id, -sum(amount) as amount from transfer group by 1
       union all select credit, sum(amount) from transfer group by 1) as sides group by 1`,
  )
  await run(
    `update account set balance = coalesce((select amount from moved where moved.id = account.id), 0) where id like 'wal_large_%'`,
  )
}

type Size = {
  readonly calls: number
  readonly keyCount: number
  readonly days: number
  readonly until: number
}

/** Fills a ledger, whose schema must exist, with calls up to `until`. */
export const fillLedger = (url: string, { calls, keyCount, days, until }: Size): Promise<void> =>
  filling(url, async (filler) => {
    const from = until - days * DAY
    await accounts(filler, from)
    await keys(filler, keyCount, from)
    const each = Math.trunc(calls / days)
    for (let at = 0; at < days; at++)
      await day(filler, {
        start: from + at * DAY,
        first: at * each + 1,
        count: at === days - 1 ? calls - at * each : each,
      })
    await counters(filler)
  })

/** How calls fail in a large ledger, with the status of each code. */
const failures = [
  ['insufficient_balance', 402],
  ['rate_limit_exceeded', 429],
  ['invalid_parameter', 400],
  ['service_unavailable', 503],
] as const

/** Refused and failed calls of the same keys, spread over the days, with their counters. */
export const fillFailures = (
  url: string,
  { count, days, until }: { count: number; days: number; until: number },
): Promise<void> =>
  filling(url, async ({ run, series, hex, tidy }) => {
    const of = (at: 0 | 1, quote: string) =>
      `case i % ${failures.length} ${failures.map((one, n) => `when ${n} then ${quote}${one[at]}${quote}`).join(' ')} end`
    await run('create temp table numbered (slot bigint primary key, id text, org_id text)')
    await run(
      'insert into numbered select row_number() over (order by id) - 1, id, org_id from api_key order by id',
    )
    await run(
      `create temp table wrong as
       with ${series(0, count)}
       select i, ${until - days * DAY} + i * ${days * DAY} / ${count} as at, ${of(0, "'")} as code, ${of(1, '')} as status,
         (i * 7919) % (select count(*) from numbered) as slot from n`,
    )
    await run(
      `insert into failed_call (call_id, org_id, key_id, at, model, vendor, code, status, detail)
       select ${idOf(hex, 'w', '9000')}, k.org_id, k.id, w.at, '${models[1][0]}',
         case when w.status = 503 then '${models[1][1]}' end, w.code, w.status, '{"tookMs":4,"endpoint":"/v1/chat/completions"}'
       from wrong w join numbered k on k.slot = w.slot order by w.i`,
    )
    await run(
      `insert into failed_day (slot, org_id, key_id, day, code, calls)
       select key_id || ' ' || (at / ${DAY} * ${DAY}) || ' ' || code, org_id, key_id, at / ${DAY} * ${DAY}, code, count(*)
       from failed_call group by 1, 2, 3, 4, 5`,
    )
    // As PostgreSQL does by itself after a while.
    await tidy()
  })

/**
 * Calls of the last minutes in a ledger that was filled before, at its rate: one in use has some that no sum includes
 * yet.
 */
export const fillOn = (
  url: string,
  { calls, keyCount, days, until, minutes }: Size & { readonly minutes: number },
): Promise<void> =>
  filling(url, async (filler) => {
    const length = minutes * 60_000
    await picks(filler, keyCount)
    await day(filler, {
      start: until - length,
      length,
      first: 1,
      count: Math.round((calls * length) / (days * DAY)),
    })
  })
