/** The statement of a month: what was owed before it, what was used and paid in it, line by line. */
import type { Nano } from '../../core/money.ts'
import { type Instant, type Month, monthStart, nextMonthStart } from '../../core/time.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Row } from '../engine/engine.ts'
import { withDetail } from '../ledger/sums.ts'
import type { CreditLine, CreditStatement, Invoice, StatementLine } from './funding-port.ts'
import { byDay, chargesOf, netAmount, startOf, usedIn } from './months.ts'

/** A recovered call has no detail, and so the empty model name. */
const linesOf = (engine: Engine): string => `select k.id as key_id, k.label, coalesce(d.model, '') as model,
    cast(sum(case when t.kind = 'usage' then 1 else 0 end) as bigint) as requests,
    cast(coalesce(sum(case when t.kind = 'usage' then d.input_tokens else 0 end), 0) as bigint) as input_tokens,
    cast(coalesce(sum(case when t.kind = 'usage' then d.output_tokens else 0 end), 0) as bigint) as output_tokens,
    ${netAmount} as amount
  from ${chargesOf(engine.dialect, withDetail(engine.dialect))} group by 1, 2, 3`

const statementLines = rowsOf({
  keyId: text('key_id'),
  label: text('label'),
  model: text('model'),
  requests: integer('requests'),
  inputTokens: integer('input_tokens'),
  outputTokens: integer('output_tokens'),
  amount: nano('amount'),
})

const merged = (rows: readonly Row[]): readonly StatementLine[] => {
  const lines = new Map<string, StatementLine>()
  for (const row of rows) {
    const line = statementLines.read(row)
    const name = `${line.keyId} ${line.model}`
    const before = lines.get(name)
    lines.set(name, {
      ...line,
      requests: line.requests + (before?.requests ?? 0),
      inputTokens: line.inputTokens + (before?.inputTokens ?? 0),
      outputTokens: line.outputTokens + (before?.outputTokens ?? 0),
      amount: line.amount + (before?.amount ?? 0n),
    })
  }
  return [...lines.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line)
}

const sum = (amounts: readonly Nano[]): Nano => amounts.reduce((total, amount) => total + amount, 0n)

const paidIn = (invoices: readonly Invoice[], from: Instant, to: Instant): Nano =>
  sum(
    invoices
      .filter(({ paidAt }) => paidAt !== undefined && paidAt >= from && paidAt < to)
      .map(({ total }) => total),
  )

/**
 * What was owed at the start of the month: everything used less everything paid. Invoiced months are already summed,
 * without what came too late for their invoices.
 */
const owedAt = async (
  engine: Engine,
  { account, walletId, opened }: CreditLine,
  invoices: readonly Invoice[],
  start: Instant,
): Promise<Nano> => {
  const before = invoices.filter(({ month }) => startOf(month) < start)
  const [last] = before
  const from = last === undefined ? startOf(opened) : nextMonthStart(startOf(last.month))
  const since = await usedIn(engine, { account, walletId, from, to: start })
  const late =
    last === undefined
      ? 0n
      : await usedIn(engine, { account, walletId, from: 0, to: from, postedFrom: last.endsAt })
  return sum(before.map(({ used }) => used)) + late + since - paidIn(invoices, 0, start)
}

/**
 * Undefined for a month before the line, and for a text that is not a month. `invoices` are all there are, newest
 * first.
 */
export const statementOf = async (
  engine: Engine,
  line: CreditLine,
  month: Month,
  invoices: readonly Invoice[],
): Promise<CreditStatement | undefined> => {
  const from = monthStart(month)
  if (from === undefined || month < line.opened) return undefined
  const to = nextMonthStart(from)
  const { account, walletId } = line
  const lines = merged(await byDay(engine, linesOf(engine), { account, walletId, from, to }))
  const opening = await owedAt(engine, line, invoices, from)
  const used = sum(lines.map(({ amount }) => amount))
  const paid = paidIn(invoices, from, to)
  const invoice = invoices.find((one) => one.month === month)
  return {
    walletId,
    month,
    opening,
    used,
    paid,
    closing: opening + used - paid,
    lines,
    ...(invoice === undefined ? {} : { invoice }),
  }
}
