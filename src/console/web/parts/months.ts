/** Months in UTC, as statements use them. */

const MONTHS = 12

/** This month and those before it, newest first. */
export const recentMonths = (now = new Date()): readonly string[] =>
  Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )

const named = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** What is no month, as an address may say, stays as it is. */
export const monthText = (month: string): string => {
  const start = Date.parse(`${month}-01T00:00:00Z`)
  return Number.isNaN(start) ? month : named.format(start)
}

/** The months, to choose from. */
export const monthChoice = (months: readonly string[]) =>
  months.map((month) => ({ value: month, label: monthText(month) }))

/** All days of a month. */
export const daysOf = (month: string): readonly string[] => {
  const start = new Date(`${month}-01T00:00:00Z`)
  const days = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate()
  return Array.from({ length: days }, (_, day) => `${month}-${String(day + 1).padStart(2, '0')}`)
}
