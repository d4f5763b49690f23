/** LiteLLM's budgets as caps: how long one lasts, what was spent of it, and what the budget above leaves of it. */
import { decimalFromNano } from '../../core/money.ts'
import { type Budget, leftOf, nanoOf } from './imported.ts'
import { type Budgeted, instantOf } from './litellm-rows.ts'

const DAY_SECONDS = 86_400
const seconds: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: DAY_SECONDS,
  w: 7 * DAY_SECONDS,
}
/** The caps here, by the days that a duration of theirs may have. */
const periods = [
  { member: 'daily_cap_usd', from: 1, to: 1 },
  { member: 'weekly_cap_usd', from: 7, to: 7 },
  { member: 'monthly_cap_usd', from: 28, to: 31 },
] as const

/**
 * The cap for a duration such as `24h`, `7d`, `30d` or `1mo`; undefined for none, and for one that no cap has. Source: the
 * documents of LiteLLM's proxy, "Budgets, Rate Limits", `budget_duration`.
 */
const periodOf = (duration: string | undefined) => {
  if (duration === '1mo') return 'monthly_cap_usd'
  const [, count = '', unit = ''] = /^(\d+)([smhdw])$/.exec(duration ?? '') ?? []
  const days = (Number(count) * (seconds[unit] ?? 0)) / DAY_SECONDS
  return periods.find(({ from, to }) => days >= from && days <= to)?.member
}

/** What a row spent, in nano-USD: in all, or since its budget began anew, which a row shows late. */
export const spentOf = ({ spend = 0, budget_duration, budget_reset_at }: Budgeted, now: number) =>
  budget_duration !== undefined && budget_reset_at !== undefined && instantOf(budget_reset_at) <= now
    ? 0n
    : nanoOf(spend)

/** The budget of a row, its own or that of the table that it names. */
export const budgetOf = (
  row: Budgeted,
  named: Budgeted | undefined,
  now: number,
  tell: (what: string) => void,
): Budget | undefined => {
  const most = row.max_budget ?? named?.max_budget
  if (most === undefined) return undefined
  const duration = row.budget_duration ?? named?.budget_duration
  const member = periodOf(duration) ?? 'spend_cap_usd'
  if (duration !== undefined && member === 'spend_cap_usd')
    tell(`a budget per ${duration} has no place here; it became its ${member}`)
  return { member, most: nanoOf(most), spent: spentOf(row, now) }
}

/**
 * A key may have no cap above that of the key above it. A larger budget is left out where the one above leaves no more; else
 * it keeps what is left of it.
 */
export const within = (
  budget: Budget | undefined,
  above: Budget | undefined,
  tell: (what: string) => void,
): Budget | undefined => {
  if (budget === undefined || above?.member !== budget.member || budget.most <= above.most) return budget
  const left = leftOf(budget)
  if (left >= leftOf(above)) return undefined
  tell(
    `its budget is larger than the one above it; ${above.member} is that one, with ${decimalFromNano(left)} USD left`,
  )
  return { ...above, spent: above.most - left }
}
