/**
 * Drops parts whose months are over for good, which takes a moment however many rows they have. A few of their rows may
 * still be needed: these are first moved to the rest, where they are deleted one by one in time.
 */
import type { Instant } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import { Busy, type Engine, once, type Run, type Statement, statement } from '../engine/engine.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'
import type { Dropped } from '../prune/prune-port.ts'
import { prunedUntil } from '../prune/pruned-until.ts'
import { leastId } from './call-ids.ts'
import { columnsOf, hasParts, partsIn, SHORT_WAIT, TABLE } from './parts.ts'

/** Postings per statement. */
const PAGE = 20_000
/** If more rows than this are needed, the rows of a part are deleted one by one until it has fewer. */
const MOST_KEPT = 5_000

type Look = {
  /** Reports read no single calls from before this. */
  readonly before: Instant
  /** This many are too many; counting stops there. */
  readonly most?: number
}

type Ids = { readonly least: CallId; readonly last: CallId }

const idsOf = async (engine: Engine, part: string): Promise<Ids | undefined> => {
  const text = `select min(call_id) as least, max(call_id) as last from ${part}`
  const row = onlyRow(await once(engine, 'reading', text))
  const [least, last] = [maybeText(row, 'least'), maybeText(row, 'last')]
  return least === undefined || last === undefined ? undefined : { least, last }
}

/** A page of the postings of calls, with those that were made since an instant. */
const PAGE_OF_POSTINGS = `select max(p.ref) as last, count(*) as n, coalesce(string_agg(p.ref, ' ') filter (where p.at >= $4), '') as late
  from (select t.ref, t.at from transfer t where t.kind = $1 and t.ref >= $2 and t.ref <= $3 order by t.ref limit ${PAGE}) p`

/** Calls that were charged later than in the months that are over: reports still read them one by one. */
const chargedSince = async (engine: Engine, { least, last }: Ids, before: Instant) => {
  const found: CallId[] = []
  for (const kind of ['usage', 'writeoff'])
    for (let from: CallId | undefined = least; from !== undefined; ) {
      const page: Statement = statement(PAGE_OF_POSTINGS, kind, from, last, before)
      const row = onlyRow(await once(engine, 'reading', page))
      found.push(...textOf(row, 'late').split(' ').filter(Boolean))
      // The next page begins with the last posting of this one.
      from = countOf(row, 'n') < PAGE ? undefined : textOf(row, 'last')
    }
  return found
}

/** Calls with refunds that are still reported one by one, and calls that wait to be exported. */
const refundedOrWaiting = async (engine: Engine, { least, last }: Ids, { before, most }: Look) => {
  const calls = async (text: string, ...more: number[]) =>
    (await once(engine, 'reading', text, least, last, ...more)).map((row) => textOf(row, 'c'))
  const exports = statement(`select 1 as one where to_regclass('export_due') is not null`)
  const waiting =
    (await once(engine, 'control', exports)).length === 0
      ? []
      : await calls(
          `select e.call_id as c from export_due e where e.call_id >= $1 and e.call_id <= $2 ${most === undefined ? '' : `limit ${most}`}`,
        )
  return [
    ...waiting,
    ...(await calls(
      'select distinct r.of_call as c from transfer r where r.of_call >= $1 and r.of_call <= $2 and r.at >= $3',
      before,
    )),
  ]
}

/** Calls of a part whose details are still needed. */
const neededOf = async (engine: Engine, part: string, look: Look): Promise<readonly CallId[]> => {
  const ids = await idsOf(engine, part)
  if (ids === undefined) return []
  const needed = await refundedOrWaiting(engine, ids, look)
  if (needed.length >= (look.most ?? Number.POSITIVE_INFINITY)) return needed
  return [...new Set([...needed, ...(await chargedSince(engine, ids, look.before))])]
}

/** Copies details from a detached part into the table. */
const keep = async ({ dialect }: Engine, run: Run, part: string, calls: readonly CallId[]): Promise<void> => {
  if (calls.length === 0) return
  const columns = await columnsOf(run, part)
  await run(
    `insert into ${TABLE} (${columns}) select ${columns} from ${part}
     where ${dialect.oneOf('call_id', `select x.value->>'c' from ${dialect.each('$1')} x`)} on conflict do nothing`,
    [JSON.stringify(calls.map((c) => ({ c })))],
  )
}

/** Detaches a part from the table, and leaves the needed rows in the table. */
const takeOff = (engine: Engine, part: string, needed: readonly CallId[]): Promise<void> =>
  engine.exclusive(async (run) => {
    await run(SHORT_WAIT)
    if (!(await partsIn(run)).months.some(({ name }) => name === part)) return
    await run(`alter table ${TABLE} detach partition ${part}`)
    await keep(engine, run, part, needed)
  })

/**
 * The mark up to which details may be gone: a detached part may have been detached for a shorter span than this one.
 */
const markOf = async (engine: Engine): Promise<Instant> =>
  countOf(onlyRow(await once(engine, 'control', `select ${prunedUntil} as at`)), 'at')

/** Drops a detached part, after moving rows that came in while it was being examined. */
const dropOff = async (engine: Engine, part: string): Promise<boolean> => {
  const needed = await neededOf(engine, part, { before: await markOf(engine) })
  return engine.exclusive(async (run) => {
    await run(SHORT_WAIT)
    if (!(await partsIn(run)).off.includes(part)) return false
    await keep(engine, run, part, needed)
    await run(`drop table ${part}`)
    return true
  })
}

/** The parts that are over, and those that are already detached. */
const dueIn = async (run: Run, before: Instant): Promise<readonly string[]> => {
  const { months, off } = await partsIn(run)
  return [...months.filter(({ to }) => to <= leastId(before)).map(({ name }) => name), ...off]
}

/** Returns whether this process dropped it. */
const dropPart = async (engine: Engine, part: string, before: Instant): Promise<boolean> => {
  if (!(await engine.transaction('control', partsIn)).off.includes(part)) {
    const needed = await neededOf(engine, part, { before, most: MOST_KEPT + 1 })
    if (needed.length > MOST_KEPT) return false
    await takeOff(engine, part, needed)
  }
  return dropOff(engine, part)
}

/**
 * Drops all parts with ids from before an instant, which is the start of a month up to which details may be gone.
 * Several processes may do it at once.
 */
export const dropMonths = async (engine: Engine, before: Instant): Promise<Dropped> => {
  if (!hasParts(engine)) return { months: 0, busy: false }
  const due = () => engine.transaction('control', (run) => dueIn(run, before))
  let months = 0
  for (const part of await due())
    try {
      if (await dropPart(engine, part, before)) months++
    } catch (error) {
      if (error instanceof Busy) return { months, busy: true }
      // Another process may have dropped it meanwhile.
      if ((await due()).includes(part)) throw error
    }
  return { months, busy: false }
}
