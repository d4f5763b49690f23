/**
 * Where PostgreSQL stores the details of calls: one part of the table per month, by the time in their ids, the first
 * one open at the beginning, and a rest for all ids that belong to no part. A part may span several months and is named
 * after the last of them.
 */
import { type Instant, monthOf } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import type { Engine, Row, Run } from '../engine/engine.ts'
import { onlyRow, textOf } from '../engine/row.ts'
import { leastId } from './call-ids.ts'

export const TABLE = 'usage_detail'
export const REST = 'usage_detail_rest'

/** SQLite stores the details of all months in one table. */
export const hasParts = ({ name }: Engine): boolean => name === 'postgres'

/** Ids from one (or from the beginning) up to but not including another. */
export type Span = { readonly from?: CallId; readonly to: CallId }

type Part = Span & { readonly name: string }

export type Parts = {
  /** In order. */
  readonly months: readonly Part[]
  /** Parts that were detached from the table and are to be dropped. */
  readonly off: readonly string[]
}

/** The longest wait of a change of parts for others, who must not wait behind it for longer. */
const WAIT_MS = 200

/** The first statement of a transaction that changes parts. */
export const SHORT_WAIT = `set local lock_timeout = ${WAIT_MS}`

/** The name of the part that ends with the month before this instant. */
export const nameOf = (end: Instant): string => `${TABLE}_${monthOf(end - 1).replace('-', '_')}`

const LIST = `select c.relname as name, coalesce(pg_get_expr(c.relpartbound, c.oid), '') as bound
  from pg_class c join pg_class t on t.oid = to_regclass('${TABLE}') and t.relnamespace = c.relnamespace
  where c.relkind = 'r' and c.relname ~ '^${TABLE}_[0-9]+_[0-9]{2}$'`

const BOUND = /^FOR VALUES FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)$/

const partOf = (row: Row): Part | undefined => {
  const [, from, to] = BOUND.exec(textOf(row, 'bound')) ?? []
  if (to === undefined) return undefined
  return { name: textOf(row, 'name'), to, ...(from === undefined ? {} : { from }) }
}

/** The existing parts. */
export const partsIn = async (run: Run): Promise<Parts> => {
  const rows = await run(LIST)
  return {
    months: rows.flatMap((row) => partOf(row) ?? []).sort((a, b) => (a.to < b.to ? -1 : 1)),
    off: rows.filter((row) => textOf(row, 'bound') === '').map((row) => textOf(row, 'name')),
  }
}

/** The ids of a span, as a condition on a column. */
export const inSpan = (column: string, { from, to }: Span): string =>
  `${from === undefined ? '' : `${column} >= '${from}' and `}${column} < '${to}'`

export const boundsOf = ({ from, to }: Span): string =>
  `for values from (${from === undefined ? 'minvalue' : `'${from}'`}) to ('${to}')`

/** The span from a part's end to an instant. */
export const spanTo = (from: CallId | undefined, end: Instant): Span => ({
  to: leastId(end),
  ...(from === undefined ? {} : { from }),
})

/** The columns of a table, including those that later versions added. */
export const columnsOf = async (run: Run, table: string): Promise<readonly string[]> => {
  const row = onlyRow(
    await run(
      `select string_agg(quote_ident(a.attname), ' ' order by a.attnum) as names from pg_attribute a
       where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
      [table],
    ),
  )
  return textOf(row, 'names').split(' ')
}
