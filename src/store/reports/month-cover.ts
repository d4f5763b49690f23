/** A span of whole days as whole months, plus and minus single days. */
import { DAY_MS, type Instant, monthsBefore, nextMonthStart } from '../../core/time.ts'

export type Span = { readonly from: Instant; readonly to: Instant }

/** The sum of a span: the months that begin in `months`, plus the days of `plus`, minus those of `minus`. */
type MonthCover = {
  readonly months: Span
  /** Each lies within one month. */
  readonly plus: readonly Span[]
  readonly minus: readonly Span[]
}

const lengthOf = ({ from, to }: Span): number => (to - from) / DAY_MS

/** A month counts whole if less than half of it is left out, so at most sixteen days of any month are read. */
const isWhole = (month: Span, span: Span): boolean => lengthOf(span) * 2 > lengthOf(month)

const filled = (spans: readonly Span[]): readonly Span[] => spans.filter(({ from, to }) => from < to)

/**
 * Covers a span of whole UTC days. It does not ask what time it is: future days of a month that has begun are left out
 * like others, and have no sums.
 */
export const coverOf = ({ from, to }: Span): MonthCover => {
  if (from >= to) return { months: { from, to: from }, plus: [], minus: [] }
  const first = { from: monthsBefore(from, 0), to: nextMonthStart(from) }
  const last = { from: monthsBefore(to - 1, 0), to: nextMonthStart(to - 1) }
  if (first.from === last.from)
    return isWhole(first, { from, to })
      ? {
          months: first,
          plus: [],
          minus: filled([
            { from: first.from, to: from },
            { from: to, to: first.to },
          ]),
        }
      : { months: { from, to: from }, plus: [{ from, to }], minus: [] }
  const [head, tail] = [
    { from, to: first.to },
    { from: last.from, to },
  ]
  const [wholeFirst, wholeLast] = [isWhole(first, head), isWhole(last, tail)]
  return {
    months: { from: wholeFirst ? first.from : first.to, to: wholeLast ? last.to : last.from },
    plus: [...(wholeFirst ? [] : [head]), ...(wholeLast ? [] : [tail])],
    minus: filled([
      ...(wholeFirst ? [{ from: first.from, to: from }] : []),
      ...(wholeLast ? [{ from: to, to: last.to }] : []),
    ]),
  }
}
