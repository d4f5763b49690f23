/** Use by time of the keys that cost most, and of all others together: what a chart shows, whatever the number of keys. */
import type {
  Counted,
  ReportLine,
  ReportQuery,
  ReportStore,
  UsageGroup,
} from '../store/reports/report-port.ts'

const nothing: Counted = { requests: 0, inputTokens: 0, outputTokens: 0, amount: 0n }

const added = (sum: Counted, line: Counted): Counted => ({
  requests: sum.requests + line.requests,
  inputTokens: sum.inputTokens + line.inputTokens,
  outputTokens: sum.outputTokens + line.outputTokens,
  amount: sum.amount + line.amount,
})

const less = (sum: Counted, line: Counted): Counted => ({
  requests: sum.requests - line.requests,
  inputTokens: sum.inputTokens - line.inputTokens,
  outputTokens: sum.outputTokens - line.outputTokens,
  amount: sum.amount - line.amount,
})

const OTHERS = 'All other keys'

/**
 * The rows of the `top` keys by a time, and for each time one more without a key: what all keys come to, less those. So the rows
 * add up to what all keys come to at one moment, and no sum of a key that is not shown is made.
 */
export const usageOfTop = async (
  usage: ReportStore['usage'],
  query: ReportQuery,
  top: number,
): Promise<{ readonly rows: readonly ReportLine[]; readonly total: Counted }> => {
  const slots = query.groupBy.filter((group): group is UsageGroup => group !== 'key')
  const most = await usage({ ...query, groupBy: ['key'], most: top })
  const ofKeys = await Promise.all(
    most.map(({ groups }) => usage({ ...query, ...(groups.key === undefined ? {} : { keyId: groups.key }) })),
  )
  const shown = ofKeys.flat()
  const slotOf = ({ groups }: ReportLine) => slots.map((slot) => groups[slot] ?? '').join(' ')
  const sums = new Map<string, Counted>()
  for (const line of shown) sums.set(slotOf(line), added(sums.get(slotOf(line)) ?? nothing, line))
  const all = await usage({ ...query, groupBy: slots })
  const others = all.flatMap((line): ReportLine[] => {
    const rest = less(line, sums.get(slotOf(line)) ?? nothing)
    return rest.requests === 0 && rest.amount === 0n
      ? []
      : [{ groups: { ...line.groups, key: '' }, label: OTHERS, ...rest }]
  })
  return { rows: [...shown, ...others], total: all.reduce(added, nothing) }
}
