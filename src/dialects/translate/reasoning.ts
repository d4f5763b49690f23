/** Effort and budget of reasoning, for dialects that know only one of them. */
import { type Effort, efforts, type Reasoning } from '../neutral.ts'

const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
}

/** The budget in tokens: as requested, or the one that matches the effort; undefined when neither was given. */
export const budgetOf = ({ budget, effort }: Reasoning): number | undefined =>
  budget ?? (effort === undefined ? undefined : budgets[effort])

/** The model's effort that replaces the requested one: its smallest one that is at least as large, else its largest. */
export const nearestEffort = (requested: Effort, known: readonly Effort[]): Effort | undefined =>
  known.find((one) => efforts.indexOf(one) >= efforts.indexOf(requested)) ?? known.at(-1)

/** The effort: as requested, or the smallest whose budget is at least the requested one. */
export const effortOf = ({ budget, effort }: Reasoning): Effort | undefined => {
  if (effort !== undefined || budget === undefined) return effort
  return efforts.find((one) => budget <= budgets[one]) ?? 'max'
}
