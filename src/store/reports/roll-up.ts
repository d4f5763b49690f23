/**
 * Sums of the ledger by hour and day, so that reports need not read every call. They are made in steps of minutes that
 * ended minutes ago, when everything in progress at that time has been committed. Reading takes no lock, and each day
 * is one small write. What is posted after the day in which it counts is added to that day.
 */
import { DAY_MS, HOUR_MS, type Instant } from '../../core/time.ts'
import { type Engine, once, type Row, type Run, type Statement, statement } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { endedIn, ofCache, vendorIn } from '../ledger/call-rows.ts'
import { countsAt } from '../ledger/counts-at.ts'
import { isPaid, lessRefunds, withDetail } from '../ledger/sums.ts'
import { laterOf, prunedUntil } from '../prune/pruned-until.ts'
import { SETTLED_AFTER_MS, underWaySince } from './under-way.ts'

const MARK = 'rolled_up_until'
const BEGUN = `insert into setting (name, value) values ('${MARK}', '0') on conflict (name) do nothing`

/** Sums end at whole steps, so that calls of a moment later do not cause a write of their own. */
const STEP_MS = 5 * 60_000

/** What every sum counts. */
export const counted = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'cache_saved',
  'amount',
] as const

/** Members of the detail that a sum needs; reading one costs as much as all the rest of a call. */
type DetailMembers = { readonly vendor: boolean; readonly ended: boolean }

/**
 * What a posting `t` of a call with detail `d` adds to the columns of the roll-ups; columns that are not needed are
 * empty.
 */
export const countedColumns = (engine: Engine, members: DetailMembers): string =>
  `coalesce(d.model, '') as model, ${members.vendor ? vendorIn(engine) : `''`} as vendor,
   ${members.ended ? endedIn(engine) : `''`} as ended,
   case when t.kind = 'usage' then 1 else 0 end as requests,
   case when t.kind = 'usage' then coalesce(d.input_tokens, 0) else 0 end as input_tokens,
   case when t.kind = 'usage' then coalesce(d.output_tokens, 0) else 0 end as output_tokens,
   ${ofCache(engine, 'usage.cache_read', 'usage.cache_read_audio')} as cached_tokens,
   ${ofCache(engine, 'usage.cache_write', 'usage.cache_write_1h')} as cache_write_tokens,
   ${ofCache(engine, 'cacheSaved')} as cache_saved,
   ${lessRefunds} as amount`

export const countedFrom = (engine: Engine): string =>
  `api_key k cross join transfer t ${withDetail(engine.dialect)}`

const sums = counted.map((name) => `cast(sum(x.${name}) as bigint) as ${name}`).join(', ')

/**
 * The charges and refunds of a span, key by key: their index is by key and time, and an index by time alone would add a
 * cost to every call. A cross join keeps SQLite from reading the whole ledger for one hour.
 */
const inSpan = `from api_key k cross join transfer t`
const spanTests = `t.key_id = k.id and t.at >= $1 and t.at < $2`

type Span = {
  readonly from: Instant
  readonly to: Instant
  /** Only what counts before this. */
  readonly before?: Instant
  /** Only of this organisation. */
  readonly orgId?: string
}

/** The hour or day in which a posting counts. */
const slotOf = ({ dialect }: Engine, length: number): string =>
  `((${countsAt(dialect)}) / ${length}) * ${length}`

const onlySome = ({ dialect }: Engine, { before, orgId }: Span): string =>
  `${before === undefined ? '' : `and ${countsAt(dialect)} < ${before}`} ${orgId === undefined ? '' : 'and k.org_id = $3'}`
const paramsOf = ({ from, to, orgId }: Span) => (orgId === undefined ? [from, to] : [from, to, orgId])

/** What was charged in a span, by a group: `hour` with the organisation, or `day` with the key. */
const summed = (engine: Engine, by: 'hour' | 'day', span: Span): Statement => {
  const [owner, length] = by === 'hour' ? ['k.org_id', HOUR_MS] : ['k.id', DAY_MS]
  return statement(
    `select x.owner, x.slot, x.model, x.vendor, x.ended, ${sums} from (
       select ${owner} as owner, ${slotOf(engine, length)} as slot, ${countedColumns(engine, { vendor: true, ended: true })}
       ${inSpan} ${withDetail(engine.dialect)}
       where ${spanTests} and t.kind in ('usage', 'refund') and ${isPaid} ${onlySome(engine, span)}) x
     group by 1, 2, 3, 4, 5`,
    ...paramsOf(span),
  )
}

/** Members as texts: JSON has no integers of this size. */
const textsOf = (rows: readonly Row[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])))

const written = (engine: Engine, by: 'hour' | 'day', rows: readonly Row[]): Statement => {
  const [table, owner] = by === 'hour' ? ['roll_up_hour', 'org_id'] : ['roll_up_day', 'key_id']
  const number = (name: string) => `cast(e.value->>'${name}' as bigint)`
  const added = (name: string) => `${name} = ${table}.${name} + excluded.${name}`
  return statement(
    `insert into ${table} (${owner}, ${by}, model, vendor, ended, ${counted.join(', ')})
     select e.value->>'owner', ${number('slot')}, e.value->>'model', e.value->>'vendor', e.value->>'ended',
       ${counted.map(number).join(', ')}
     from ${engine.dialect.each('$1')} e where 1 = 1
     on conflict (${owner}, ${by}, model, vendor, ended) do update set ${counted.map(added).join(', ')}`,
    JSON.stringify(textsOf(rows)),
  )
}

/** The rows by key and day again, without models. */
const writtenKeys = (engine: Engine, rows: readonly Row[]): Statement => {
  const number = (name: string) => `cast(e.value->>'${name}' as bigint)`
  return statement(
    `insert into roll_up_key (org_id, key_id, day, ${counted.join(', ')})
     select k.org_id, k.id, ${number('slot')}, ${counted.map((name) => `cast(sum(${number(name)}) as bigint)`).join(', ')}
     from ${engine.dialect.each('$1')} e join api_key k on k.id = e.value->>'owner' where 1 = 1 group by 1, 2, 3
     on conflict (org_id, key_id, day) do update set ${counted.map((name) => `${name} = roll_up_key.${name} + excluded.${name}`).join(', ')}`,
    JSON.stringify(textsOf(rows)),
  )
}

/** What calls of a wallet's keys took from the wallet itself in a span, by UTC day. */
const takenFromWallets = (engine: Engine, span: Span): Statement =>
  statement(
    `select t.debit as owner, ${slotOf(engine, DAY_MS)} as slot, max(${countsAt(engine.dialect)}) as last_at,
       cast(sum(t.amount) as bigint) as amount
     ${inSpan} where ${spanTests} and t.kind = 'usage' and t.debit = k.wallet_id ${onlySome(engine, span)} group by 1, 2`,
    ...paramsOf(span),
  )

const insertTaken = (engine: Engine, rows: readonly Row[]): Statement => {
  const number = (name: string) => `cast(e.value->>'${name}' as bigint)`
  return statement(
    `insert into roll_up_account (account_id, day, last_at, amount)
     select e.value->>'owner', ${number('slot')}, ${number('last_at')}, ${number('amount')} from ${engine.dialect.each('$1')} e where 1 = 1
     on conflict (account_id, day) do update set last_at = excluded.last_at, amount = roll_up_account.amount + excluded.amount`,
    JSON.stringify(textsOf(rows)),
  )
}

/** The later of an instant and that time, inside a statement, so that it belongs to the same moment as the sums. */
export const unsummedFrom = (from: string): string =>
  `(select case when m.at > ${from} then m.at else ${from} end from (
     select coalesce((select cast(s.value as bigint) from setting s where s.name = '${MARK}'), 0) as at) m)`

/** The time up to which the roll-ups are complete; 0 if there are none yet. */
export const rolledUpIn = async (run: Run, lock = ''): Promise<Instant> => {
  const [row] = await run(`select s.value from setting s where s.name = '${MARK}'${lock}`)
  return row === undefined ? 0 : Number(textOf(row, 'value'))
}
const rolledUpUntil = (engine: Engine) => rolledUpIn((text) => once(engine, 'control', text))

/** How many organisations have come from other ledgers, with postings of a time that was summed before. */
const arrivalsIn = async (run: Run): Promise<number> =>
  countOf(onlyRow(await run(`select count(*) as n from cell_move m where m.way = 'in'`)), 'n')

const firstCharge = async (engine: Engine): Promise<Instant> => {
  const rows = await once(
    engine,
    'reading',
    `select coalesce(min(x.at), 0) as at from (select (select min(t.at) from transfer t where t.key_id = k.id) as at from api_key k) x`,
  )
  return Number(onlyRow(rows).at)
}

/** What is written for a span. */
type Read = {
  readonly hours: readonly Row[]
  readonly days: readonly Row[]
  readonly accounts: readonly Row[]
}

const added = (engine: Engine, { hours, days, accounts }: Read): readonly Statement[] => [
  written(engine, 'hour', hours),
  written(engine, 'day', days),
  writtenKeys(engine, days),
  insertTaken(engine, accounts),
]

/** A day of ten thousand keys is 50,000 rows; if its write were given up like that of a call, no sum would come any more. */
const WRITING_MS = 10 * 60_000

/** Sums a span once: a second process finds the mark moved and leaves the span alone. */
const rollUpSpan = async (engine: Engine, mark: Instant, from: Instant, to: Instant): Promise<void> => {
  const span = { from, to }
  const arrivals = await arrivalsIn((text) => once(engine, 'control', text))
  const hours = await once(engine, 'reading', summed(engine, 'hour', span))
  const days = await once(engine, 'reading', summed(engine, 'day', span))
  const accounts = await once(engine, 'reading', takenFromWallets(engine, span))
  await engine.transaction(
    'control',
    async (run) => {
      await run(BEGUN)
      // What came while this was read is in no sum of it.
      await rolledUpIn(run, engine.dialect.lock('s'))
      if ((await arrivalsIn(run)) !== arrivals) return
      const moved = await run('update setting set value = $2 where name = $1 and value = $3 returning name', [
        MARK,
        String(to),
        String(mark),
      ])
      if (moved.length === 0) return
      await write(engine, run, { hours, days, accounts })
    },
    WRITING_MS,
  )
}

/** Sums what is over, a day at a time; returns up to when. */
export const rollUp = async (engine: Engine): Promise<Instant> => {
  const settled = (await underWaySince(engine)) - SETTLED_AFTER_MS
  const end = Math.trunc(settled / STEP_MS) * STEP_MS
  for (;;) {
    const mark = await rolledUpUntil(engine)
    if (mark >= end) return mark
    const first = mark === 0 ? await firstCharge(engine) : mark
    const from = first === 0 ? end : Math.trunc(first / STEP_MS) * STEP_MS
    const to = Math.max(Math.min(from + DAY_MS, end), mark)
    await rollUpSpan(engine, mark, Math.min(from, end), from >= end ? end : to)
  }
}

/** What a transaction sees of a span. */
const readIn = async (engine: Engine, run: Run, span: Span): Promise<Read> => {
  const [hours = [], days = [], accounts = []] = await Promise.all(
    [summed(engine, 'hour', span), summed(engine, 'day', span), takenFromWallets(engine, span)].map(
      ({ text, params }) => run(text, params),
    ),
  )
  return { hours, days, accounts }
}

const lessOf = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row) => {
    const own = counted.filter((name) => row[name] !== undefined)
    return { ...row, ...Object.fromEntries(own.map((name) => [name, -BigInt(String(row[name]))])) }
  })

/** The same rows taken away again. */
const negated = ({ hours, days, accounts }: Read): Read => ({
  hours: lessOf(hours),
  days: lessOf(days),
  accounts: lessOf(accounts),
})

const write = async (engine: Engine, run: Run, read: Read): Promise<void> => {
  for (const { text, params } of added(engine, read)) await run(text, params)
}

/** Makes the sums of an organisation that came here, which end where those of its former ledger do, end where all others do. */
export const endSumsHere = async (
  engine: Engine,
  run: Run,
  { orgId, theirs }: { readonly orgId: string; readonly theirs: Instant },
): Promise<void> => {
  await run(BEGUN)
  const here = await rolledUpIn(run, engine.dialect.lock('s'))
  const span = { from: Math.min(here, theirs), to: Math.max(here, theirs), orgId }
  const read = await readIn(engine, run, span)
  await write(engine, run, here < theirs ? negated(read) : read)
}

/**
 * Discards the sums from a day on, except those of calls whose details are gone, because nothing could make these
 * again. What was posted from that day on and counts before it is taken off the days that stay: it is added to them
 * again.
 */
const forgetFrom = async (engine: Engine, run: Run, day: string): Promise<void> => {
  const mark = `(select cast(s.value as bigint) from setting s where s.name = '${MARK}')`
  const [row] = await run(`select ${laterOf(day, prunedUntil)} as from_at, coalesce(${mark}, 0) as mark`)
  if (row === undefined) return
  const [from, to] = [countOf(row, 'from_at'), countOf(row, 'mark')]
  await write(engine, run, negated(await readIn(engine, run, { from, to, before: from })))
  await run('update setting set value = $2 where name = $1', [MARK, String(from)])
  await run('delete from roll_up_hour where hour >= $1', [from])
  // Months that are discarded completely go at once; in any other month, triggers remove the days.
  await run('delete from roll_up_key_month where month >= $1', [from])
  await run('delete from roll_up_model_month where month >= $1', [from])
  await run('delete from roll_up_day where day >= $1', [from])
  await run('delete from roll_up_account where day >= $1', [from])
  await run('delete from roll_up_key where day >= $1', [from])
}

/** Discards all sums that can be made again. */
export const forgetRollUps = (engine: Engine): Promise<void> =>
  engine.transaction('control', (run) => forgetFrom(engine, run, '0'), WRITING_MS)

/**
 * Discards sums that were made up to a time that has not come yet, or only just: the clock was ahead and has been
 * corrected, and charges until then would be in no report.
 */
export const forgetEarlySums = async (engine: Engine): Promise<void> => {
  const { now } = engine.dialect
  const early = `select s.name from setting s
    where s.name = '${MARK}' and cast(s.value as bigint) > ${now} - ${SETTLED_AFTER_MS / 2}`
  if ((await once(engine, 'control', early)).length === 0) return
  await engine.transaction('control', async (run) => {
    if ((await run(early)).length > 0) await forgetFrom(engine, run, `(${now} / ${DAY_MS} - 1) * ${DAY_MS}`)
  })
}
