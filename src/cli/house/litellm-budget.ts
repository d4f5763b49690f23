/** LiteLLM's budgets as caps: how long one lasts, and what is left of it. */

import { decimalFromNano, greatest, type Nano, nanoFromDecimal, nanoFromNumber } from '../../core/money.ts'

/** More than this is as good as no budget. */
const LARGEST = nanoFromDecimal('1000000000') ?? 0n

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
export const periodOf = (duration: string | undefined) => {
  if (duration === '1mo') return 'monthly_cap_usd'
  const [, count = '', unit = ''] = /^(\d+)([smhdw])$/.exec(duration ?? '') ?? []
  const days = (Number(count) * (seconds[unit] ?? 0)) / DAY_SECONDS
  return periods.find(({ from, to }) => days >= from && days <= to)?.member
}

/** What is left of a budget, as a decimal; nothing when more was spent. */
export const remainingOf = (most: number, spent: number): string =>
  decimalFromNano(greatest(0n, nanoOf(most) - nanoOf(spent)))

/** Their amounts are floats, which may have more decimals than there are nano-dollars. */
const nanoOf = (usd: number): Nano => nanoFromNumber(usd) ?? (usd > 1 ? LARGEST : 0n)
