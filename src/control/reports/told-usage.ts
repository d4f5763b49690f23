/** Use as a tenant is told it: each row, and the total of each month, at the reseller's price of that month. */
import { invalid } from '../../core/refusal.ts'
import { type Instant, monthOf, nextMonthStart } from '../../core/time.ts'
import type { Counted, ReportLine, ReportQuery } from '../../store/reports/report-port.ts'
import { type Terms, tellsNothing, termsIn, told } from '../../tenancy/terms.ts'
import type { Acting } from '../act.ts'

type Found = { readonly rows: readonly ReportLine[]; readonly total: Counted }
type Asked = Omit<ReportQuery, 'most'>

const toldAt = <Line extends Counted>(line: Line, terms: Terms): Line => ({
  ...line,
  amount: told(line.amount, terms),
  cacheSaved: told(line.cacheSaved, terms),
})

const monthIn = ({ groups: { hour, day, month } }: ReportLine): string | undefined =>
  (hour ?? day ?? month)?.slice(0, 7)

/** Whether the price is the same from one instant to the other. */
const isOnePrice = (terms: Terms, from: Instant, to: Instant): boolean => {
  const { basisPoints } = termsIn(terms, monthOf(from))
  for (let at = nextMonthStart(from); at < to; at = nextMonthStart(at))
    if (termsIn(terms, monthOf(at)).basisPoints !== basisPoints) return false
  return true
}

/**
 * What was found, as who asks is told it. Throws the refusal of rows without a time if the price changed within the span,
 * as it is that of no month.
 */
export const toldUsage = async (
  { control: { store, clock }, who: { reach } }: Acting,
  query: Asked,
  found: Found,
): Promise<Found> => {
  if (reach.of !== 'key' || reach.key.terms === undefined || tellsNothing(reach.key.terms)) return found
  const { terms } = reach.key
  const { from } = query
  if (isOnePrice(terms, from, Math.min(query.to, clock.now() + 1))) {
    const its = termsIn(terms, monthOf(from))
    return { rows: found.rows.map((line) => toldAt(line, its)), total: toldAt(found.total, its) }
  }
  const timed = query.groupBy.some((group) => group === 'hour' || group === 'day' || group === 'month')
  if (!timed && query.groupBy.length > 0)
    throw invalid('group_by', "The price changed within the span: add month, day or hour to 'group_by'.")
  const inMonth = (line: ReportLine) => toldAt(line, termsIn(terms, monthIn(line) ?? monthOf(from)))
  const months = await store.reports.usage({ ...query, groupBy: ['month'], byCost: false, most: 1_000 })
  const sum = (of: (line: ReportLine) => bigint) =>
    months.map(inMonth).reduce((all, line) => all + of(line), 0n)
  const total = {
    ...found.total,
    amount: sum(({ amount }) => amount),
    cacheSaved: sum(({ cacheSaved }) => cacheSaved),
  }
  return { rows: found.rows.map((line) => (timed ? inMonth(line) : { ...line, ...total })), total }
}
