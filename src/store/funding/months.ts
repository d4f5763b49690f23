/** Months of a credit line: what was used in a span of time, and the invoice of each month that has ended. */
import type { Nano } from '../../core/money.ts'
import { DAY_MS, type Instant, type Month, monthOf, monthStart, nextMonthStart } from '../../core/time.ts'
import { invoiced } from '../../ledger/invoice.ts'
import { integer, maybe, nano, type RowOf, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type SqlDialect } from '../engine/engine.ts'
import { nanoOf } from '../engine/row.ts'
import { BOOKS_OPEN_MS, countsAt } from '../ledger/counts-at.ts'
import { isHere, lessRefunds } from '../ledger/sums.ts'

/** For so long after a month's end its invoice waits for calls that were admitted in it and go on. */
const GOING_ON_MS = 30 * 60 * 1000
/** A charge is dated just before it becomes durable, so after this much more none that was dated before can still come. */
const DURABLE_MS = 30 * 60 * 1000

export const startOf = (month: Month): Instant => {
  const start = monthStart(month)
  if (start === undefined) throw new Error(`'${month}' is not a month`)
  return start
}

/**
 * Charges less refunds of credit line `$1` that were posted in `[$2, $3)` and count in `[$5, $6)`, found by the keys of
 * its wallet `$4`; and what is joined to them.
 */
export const chargesOf = (dialect: SqlDialect, joined = ''): string =>
  `api_key k join transfer t on t.key_id = k.id ${joined}
  where k.wallet_id = $4 and t.at >= $2 and t.at < $3 and ${countsAt(dialect)} >= $5 and ${countsAt(dialect)} < $6
    and ((t.kind = 'usage' and t.debit = $1) or (t.kind = 'refund' and t.credit = $1))`

/** A refund reduces what was charged. */
export const netAmount = `cast(sum(${lessRefunds}) as bigint)`

type UsedSpan = {
  readonly account: string
  readonly walletId: string
  /** What counts from here on. */
  readonly from: Instant
  readonly to: Instant
  /** Only what was posted in this part of the time in which it could be. */
  readonly postedFrom?: Instant
  readonly postedTo?: Instant
}

/** Reads a span day by day, so that no statement takes long, however much was used. */
export const byDay = async (engine: Engine, text: string, span: UsedSpan): Promise<readonly Row[]> => {
  const { account, walletId, from, to, postedFrom = from, postedTo = to + BOOKS_OPEN_MS } = span
  const rows: Row[] = []
  for (let day = Math.max(from, postedFrom); day < postedTo; day += DAY_MS) {
    const dayEnd = Math.min(day + DAY_MS, postedTo)
    rows.push(...(await once(engine, 'control', text, account, day, dayEnd, walletId, from, to)))
  }
  return rows
}

export const usedIn = async (engine: Engine, span: UsedSpan): Promise<Nano> =>
  (
    await byDay(engine, `select coalesce(${netAmount}, 0) as used from ${chargesOf(engine.dialect)}`, span)
  ).reduce((sum, row) => sum + nanoOf(row, 'used'), 0n)

const invoicedLine = {
  account: text('account_id'),
  walletId: text('wallet_id'),
  netDays: integer('net_days'),
  opened: text('opened'),
  /** The month of the last invoice, and up to when it has what counts in that month or before. */
  last: maybe(text('last')),
  lastEnds: integer('last_ends'),
  carried: nano('carried'),
  invoices: integer('invoices'),
  now: integer('now'),
} as const
/** Credit lines with their last invoice. */
const invoicedLines = rowsOf(invoicedLine)
type InvoicedLine = RowOf<typeof invoicedLine>

/**
 * Writes the invoice after the last one, of the month and of what came too late for the invoices of earlier months.
 * Several processes may try; the month is invoiced once.
 */
const invoiceMonth = async (engine: Engine, line: InvoicedLine, month: Month): Promise<boolean> => {
  const { account, walletId, lastEnds, carried: brought } = line
  const [from, to] = [startOf(month), nextMonthStart(startOf(month))]
  const endsAt = to + GOING_ON_MS
  const ofMonth = await usedIn(engine, { account, walletId, from, to, postedTo: endsAt })
  const late = { account, walletId, from: 0, to: from, postedFrom: lastEnds, postedTo: endsAt }
  const used = ofMonth + (line.last === undefined ? 0n : await usedIn(engine, late))
  const { total, carried } = invoiced(brought + used)
  const serial = line.invoices + 1
  const rows = await once(
    engine,
    'control',
    `insert into invoice (id, account_id, serial, month, ends_at, brought, used, total, carried, issued_at, due_at)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9, x.now, x.now + $10 from (select ${engine.dialect.now} as now) x
       where true on conflict do nothing returning id`,
    `INV-${walletId}-${String(serial).padStart(6, '0')}`,
    account,
    serial,
    month,
    endsAt,
    brought,
    used,
    total,
    carried,
    line.netDays * DAY_MS,
  )
  return rows.length > 0
}

/** Every credit line with its last invoice and the month after it. */
const lines = (now: string) => `select c.*, i.month as last, coalesce(i.carried, 0) as carried,
    coalesce(i.serial, 0) as invoices, coalesce(i.ends_at, 0) as last_ends, ${now} as now
  from credit_line c left join invoice i on i.account_id = c.account_id
    and i.serial = (select max(x.serial) from invoice x where x.account_id = c.account_id)
  where ${isHere('c.account_id')} order by c.account_id`

/** The month to be invoiced next, if it is over for good. */
const dueMonth = ({ last, opened, now }: InvoicedLine): Month | undefined => {
  const month = last === undefined ? opened : monthOf(nextMonthStart(startOf(last)))
  return nextMonthStart(startOf(month)) + GOING_ON_MS + DURABLE_MS <= now ? month : undefined
}

/** In each round, invoices one month of each line, until no ended month is left. */
export const closeMonthsOn = async (engine: Engine): Promise<number> => {
  for (let issued = 0; ; ) {
    let found = 0
    const rows = await once(engine, 'control', lines(engine.dialect.now))
    for (const line of rows.map(invoicedLines.read)) {
      const month = dueMonth(line)
      if (month === undefined) continue
      found += 1
      if (await invoiceMonth(engine, line, month)) issued += 1
    }
    if (found === 0) return issued
  }
}
