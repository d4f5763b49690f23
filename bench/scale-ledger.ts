/**
 * A ledger that grows to any size on either engine: keys that work, and calls of the last weeks by all of them. Its
 * books balance.
 */
import { Database } from 'bun:sqlite'
import { SQL } from 'bun'
import { openStore } from '../src/store/open-store.ts'
import type { Server } from './servers.ts'

export const SECRET = 'the-secret-of-the-bench'
/** Keys of each wallet. */
const WALLET_KEYS = 100
const FUND = 9_000_000_000_000_000n
/** The cost of a call, in nano-USD: that of 1,000 tokens of input and 100 of output. */
const COST = 2_000_000
const SPAN_MS = 40 * 86_400_000

/** A database that is filled by statements which run inside it. */
type Filler = {
  readonly run: (text: string) => Promise<unknown>
  readonly bytes: () => Promise<number>
  /** Numbers from the first to the one before the last, as `n.i`. */
  readonly numbers: (from: number, to: number) => string
  /** A number in this many hexadecimal digits. */
  readonly hex: (number: string, digits: number) => string
  /** A number in seven decimal digits. */
  readonly digits: (number: string) => string
  /** A day or month of milliseconds since 1970. */
  readonly date: (at: string, month: boolean) => string
  /** Leaves the database like one that has run for long. */
  readonly settle: () => Promise<void>
  readonly close: () => Promise<void>
}

const sqliteFiller = (path: string): Filler => {
  const database = new Database(path)
  database.run('pragma synchronous = off')
  database.run('pragma cache_size = -1000000')
  return {
    run: async (text) => database.run(text),
    bytes: async () =>
      (
        database
          .query('select page_count * page_size as n from pragma_page_count, pragma_page_size')
          .get() as {
          n: number
        }
      ).n,
    numbers: (from, to) =>
      `(with recursive s(i) as (select ${from} union all select i + 1 from s where i < ${to - 1}) select i from s) n`,
    hex: (number, digits) => `printf('%0${digits}x', ${number})`,
    digits: (number) => `printf('%07d', ${number})`,
    date: (at, month) => `strftime('${month ? '%Y-%m' : '%Y-%m-%d'}', ${at} / 1000, 'unixepoch')`,
    settle: async () => {
      database.run('pragma wal_checkpoint(truncate)')
      // Otherwise the first commit that waits for the disk waits for all of this.
      await Bun.spawn(['sync']).exited
    },
    close: async () => database.close(),
  }
}

const postgresFiller = (url: string): Filler => {
  const sql = new SQL({ url, max: 1 })
  return {
    run: (text) => sql.unsafe(text),
    bytes: async () => Number((await sql.unsafe('select pg_database_size(current_database()) as n'))[0].n),
    numbers: (from, to) => `generate_series(cast(${from} as bigint), ${to - 1}) n(i)`,
    hex: (number, digits) => `lpad(to_hex(${number}), ${digits}, '0')`,
    digits: (number) => `lpad(cast(${number} as text), 7, '0')`,
    date: (at, month) =>
      `to_char(to_timestamp(${at} / 1000) at time zone 'UTC', '${month ? 'YYYY-MM' : 'YYYY-MM-DD'}')`,
    settle: async () => {
      await sql.unsafe('vacuum analyze')
      await sql.unsafe('checkpoint')
    },
    close: () => sql.close(),
  }
}

/** The token of a key by its number. */
const tokenOf = (key: number): string => `sk-bench${String(key).padStart(35, '0')}`

/** The server as it is called by many keys, one after the other. */
export const calledBy = (server: Server, next: () => number): Server => ({
  ...server,
  nextToken: () => tokenOf(next()),
})

/** Numbers of keys in turns, neighbours far from each other. */
export const inTurnsOf = (count: number): (() => number) => {
  let turn = 0
  return () => (turn++ * 7_919) % count
}

const hashOf = (key: number): string =>
  new Bun.CryptoHasher('sha256', SECRET).update(tokenOf(key)).digest('hex')

const HASHES_AT_ONCE = 20_000

export type Ledger = {
  readonly keys: () => number
  readonly calls: () => number
  readonly bytes: () => Promise<number>
  /** Makes keys until there are this many, and wallets for them. */
  readonly growKeys: (to: number) => Promise<void>
  /** Adds calls in order of time, by all keys in turns. Counters and balances follow in `settle`. */
  readonly addCalls: (count: number) => Promise<void>
  /** Brings counters and balances up to the calls, and leaves the database as one that has run for long. */
  readonly settle: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens an empty database as a ledger for at most this many calls. */
export const openLedger = async (url: string, callsMost: number): Promise<Ledger> => {
  await (await openStore({ url })).close()
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  const filler = path === undefined ? postgresFiller(url) : sqliteFiller(path)
  const since = Date.now() - SPAN_MS - 3_600_000
  const each = SPAN_MS / callsMost
  let keys = 0
  let calls = 0
  let counted = 0
  const made = (from: number, to: number): Calls => ({
    from,
    to,
    keys,
    at: `(${since} + cast(n.i * ${each} as bigint))`,
  })
  return {
    keys: () => keys,
    calls: () => calls,
    bytes: filler.bytes,
    growKeys: async (to) => {
      await growKeys(filler, keys, to, since)
      keys = to
    },
    addCalls: async (count) => {
      await addCalls(filler, made(calls, calls + count))
      calls += count
    },
    settle: async () => {
      if (calls > counted) await count(filler, made(counted, calls))
      counted = calls
      await filler.settle()
    },
    close: filler.close,
  }
}

const growKeys = async (filler: Filler, from: number, to: number, since: number): Promise<void> => {
  const { digits, numbers, date } = filler
  const wallets = (count: number) => Math.ceil(count / WALLET_KEYS)
  const fresh = numbers(wallets(from), wallets(to))
  if (wallets(to) > wallets(from)) {
    await filler.run(
      `insert into account (id, bounded, org_id, name, created_at, balance)
       select 'wal_' || ${digits('n.i')}, 1, 'org_' || ${digits('n.i')}, 'Wallet', ${since}, ${FUND} from ${fresh}`,
    )
    await filler.run(
      `insert into transfer (kind, ref, debit, credit, amount, month, at)
       select 'topup', 'top ' || ${digits('n.i')}, 'cash', 'wal_' || ${digits('n.i')}, ${FUND}, ${date(String(since), true)}, ${since} from ${fresh}`,
    )
  }
  for (let at = from; at < to; at += HASHES_AT_ONCE) {
    const last = Math.min(to, at + HASHES_AT_ONCE)
    const values = Array.from({ length: last - at }, (_, more) => {
      const key = at + more
      const number = String(key).padStart(7, '0')
      const wallet = String(Math.trunc(key / WALLET_KEYS)).padStart(7, '0')
      return `('key_${number}', '${hashOf(key)}', 'org_${wallet}', 'wal_${wallet}', '[]', 'Key', 'sk-bench00', 1000000000, ${FUND}, ${since}, ${since})`
    })
    await filler.run(
      `insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, rpm, spend_cap, created_at, changed_at) values ${values.join(',')}`,
    )
  }
  await filler.run(
    `insert into key_line (key_id, owner_id, depth)
     select 'key_' || ${digits('n.i')}, 'key_' || ${digits('n.i')}, 0 from ${numbers(from, to)}`,
  )
}

type Calls = { readonly from: number; readonly to: number; readonly keys: number; readonly at: string }

/** Calls that are neighbours in time have keys that lie far from each other. */
const keyOf = (keys: number): string => `((n.i * 7919) % ${keys})`

const addCalls = async (filler: Filler, { from, to, keys, at }: Calls): Promise<void> => {
  const { digits, hex, numbers, date } = filler
  const key = keyOf(keys)
  const id = `${hex(`${at} / 65536`, 8)} || '-' || ${hex(`${at} % 65536`, 4)} || '-7000-8000-' || ${hex('n.i', 12)}`
  const all = numbers(from, to)
  await filler.run(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
     select 'usage', ${id}, 'wal_' || ${digits(`${key} / ${WALLET_KEYS}`)}, 'revenue', ${COST}, 'key_' || ${digits(key)},
       ${date(at, true)}, ${date(at, false)}, ${at} from ${all}`,
  )
  await filler.run(
    `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
     select ${id}, 'openai/gpt-4o-mini', 1000, 100, '{"keyId":"key_' || ${digits(key)} || '","model":"openai/gpt-4o-mini","vendor":"openai","usage":{"input":1000,"output":100},"estimated":false,"priceVersion":"seed","startedAt":' || ${at} || ',"tookMs":900,"firstByteMs":240,"ended":"ok"}'
     from ${all}`,
  )
}

const count = async (filler: Filler, { from, to, keys, at }: Calls): Promise<void> => {
  const { digits, numbers, date } = filler
  const key = keyOf(keys)
  const all = numbers(from, to)
  // Each key has a counter for all of its time, and one for each month.
  for (const month of [undefined, date(at, true)])
    await filler.run(
      `insert into budget (scope, owner_id, month, wallet_id, lim, used, calls)
       select 'key:key_' || ${digits('k.key')} || coalesce(':' || k.month, ''), 'key_' || ${digits('k.key')}, k.month,
         'wal_' || ${digits(`k.key / ${WALLET_KEYS}`)}, ${month === undefined ? FUND : 'null'}, k.calls * ${COST}, k.calls
       from (select ${key} as key, ${month ?? 'cast(null as text)'} as month, count(*) as calls from ${all} group by 1, 2) k where true
       on conflict (scope) do update set used = budget.used + excluded.used, calls = budget.calls + excluded.calls`,
    )
  await filler.run(
    `update account set balance = balance - c.amount
     from (select 'wal_' || ${digits(`${key} / ${WALLET_KEYS}`)} as id, count(*) * ${COST} as amount from ${all} group by 1) c
     where c.id = account.id`,
  )
}
