/**
 * Use over time of the most expensive keys, and of all others together: what a chart shows, however many keys there
 * are.
 */
import type { Counted, ReportLine, ReportStore } from '../store/reports/report-port.ts'

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
 * The rows of the `most` keys by time, and for each time one more row without a key: the total of all keys less those.
 * So the rows add up to one consistent total, without a sum for any key that is not shown.
 */
export const usageOfTop = async (
  usageTop: ReportStore['usageTop'],
  query: Parameters<ReportStore['usageTop']>[0],
): Promise<{ readonly rows: readonly ReportLine[]; readonly total: Counted }> => {
  const { slot } = query
  const { keys, all } = await usageTop(query)
  const sums = new Map<string | undefined, Counted>()
  for (const line of keys) sums.set(line.groups[slot], added(sums.get(line.groups[slot]) ?? nothing, line))
  const others = all.flatMap((line): ReportLine[] => {
    const rest = less(line, sums.get(line.groups[slot]) ?? nothing)
    return rest.requests === 0 && rest.amount === 0n ? [] : [{ groups: line.groups, label: OTHERS, ...rest }]
  })
  return { rows: [...keys, ...others], total: all.reduce(added, nothing) }
}
