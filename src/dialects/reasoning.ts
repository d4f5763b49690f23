/** Effort and budget of reasoning, for dialects that know only one of them. */
import { type Effort, efforts, type Reasoning } from './neutral.ts'

const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
}

/** The budget in tokens: as asked, or what stands for the effort; undefined when neither was named. */
export const budgetOf = ({ budget, effort }: Reasoning): number | undefined =>
  budget ?? (effort === undefined ? undefined : budgets[effort])

/** The one of a model's efforts that stands for the one asked for: the smallest that is as large, else its largest. */
export const nearestEffort = (asked: Effort, known: readonly Effort[]): Effort | undefined =>
  known.find((one) => efforts.indexOf(one) >= efforts.indexOf(asked)) ?? known.at(-1)

/** The effort: as asked, or the smallest whose budget is as large as the one asked for. */
export const effortOf = ({ budget, effort }: Reasoning): Effort | undefined => {
  if (effort !== undefined || budget === undefined) return effort
  return efforts.find((one) => budget <= budgets[one]) ?? 'max'
}
