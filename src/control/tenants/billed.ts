/** Use as it is billed: by model and by day, at a reseller's price. */
import type { Nano } from '../../core/money.ts'
import type { Counted, ReportLine } from '../../store/reports/report-port.ts'
import { billedFor } from '../../tenancy/margin.ts'

type Sum = Pick<Counted, 'requests' | 'inputTokens' | 'outputTokens' | 'amount'>
export type Billed = Sum & { readonly billed: Nano }

/** One sum that is added to in place, because tenants have tens of thousands of lines. */
const sumOf = (lines: readonly Sum[]) => {
  const sum = { requests: 0, inputTokens: 0, outputTokens: 0, amount: 0n }
  for (const { requests, inputTokens, outputTokens, amount } of lines) {
    sum.requests += requests
    sum.inputTokens += inputTokens
    sum.outputTokens += outputTokens
    sum.amount += amount
  }
  return sum
}

export const added = (lines: readonly Billed[]): Billed => ({
  ...sumOf(lines),
  billed: lines.reduce((sum, { billed }) => sum + billed, 0n),
})

/** Lines by model, each billed and rounded by itself, so that the lines add up. */
export const byModel = (lines: readonly ReportLine[], basisPoints: number) => {
  const models = Map.groupBy(lines, ({ groups }) => groups.model ?? '')
  return [...models]
    .map(([model, those]) => {
      const sum = sumOf(those)
      return { ...sum, model, billed: billedFor(sum.amount, basisPoints) }
    })
    .sort((a, b) => (a.billed === b.billed ? (a.model < b.model ? -1 : 1) : a.billed > b.billed ? -1 : 1))
}

/**
 * Lines of days and models by day, oldest first. What the days before it were rounded up by is taken off a day, for each
 * model, so that the days add up to the same bill as the models.
 */
export const byDay = (lines: readonly ReportLine[], basisPoints: number) => {
  const until = new Map<string, Nano>()
  const days = [...Map.groupBy(lines, ({ groups }) => (groups.day ?? '').slice(0, 10))]
  return days
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, those]) => {
      const billed = those.map(({ groups: { model = '' }, amount }) => {
        const before = until.get(model) ?? 0n
        until.set(model, before + amount)
        return billedFor(before + amount, basisPoints) - billedFor(before, basisPoints)
      })
      return { day, requests: sumOf(those).requests, billed: billed.reduce((sum, one) => sum + one, 0n) }
    })
}
