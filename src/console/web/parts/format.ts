/** Amounts, counts and times as people read them. Amounts arrive as exact decimal texts and stay texts. */

import { inDecimals, inUnits } from '../../../tenancy/bill-sums.ts'

/** The amount with as many digits as matter: to the cent from a dollar on, else its first four digits. */
export const shortUsd = (usd: string): string => {
  const negative = usd.startsWith('-')
  const [whole = '0', fraction = ''] = usd.replace('-', '').split('.')
  const sign = negative ? '−$' : '$'
  if (whole !== '0')
    return `${sign}${Number(whole).toLocaleString('en-US')}.${fraction.padEnd(2, '0').slice(0, 2)}`
  const first = fraction.search(/[1-9]/)
  if (first < 0) return '$0.00'
  return `${sign}0.${fraction
    .slice(0, Math.max(first + 4, 2))
    .replace(/0+$/, '')
    .padEnd(2, '0')}`
}

/** A price to its last digit, and to the cent at least: what is shown rounded would be less than what is charged. */
export const priceUsd = (usd: string): string => {
  const [whole, fraction = ''] = usd.split('.')
  return `$${Number(whole).toLocaleString('en-US')}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`
}

const CENT = 10_000_000n

/** Amounts of a column with their total, in cents and by the rule of invoices: they add up as they are shown. */
export const payableUsd = (amounts: readonly string[]) => {
  const exact = amounts.map((usd) => {
    const [, minus = '', before = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd) ?? []
    return BigInt(`${minus}${before}${fraction.padEnd(9, '0')}`)
  })
  const cents = inUnits(exact, CENT)
  const text = (units: bigint) =>
    inDecimals(units, 2)
      .replace('-', '−')
      .replace(/\B(?=(\d{3})+\.)/g, ',')
  return { lines: cents.map(text), total: text(cents.reduce((sum, one) => sum + one, 0n)) }
}

const whole = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export const countText = (count: number): string => whole.format(count)
/** A count with its word: of one, and of all others. */
export const counted = (count: number, one: string, others = `${one}s`): string =>
  `${whole.format(count)} ${count === 1 ? one : others}`
/** A share from 0 to 1; what is not quite all of it is not shown as all. */
export const percentText = (share: number): string => `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`
export const shortCount = (count: number): string => short.format(count)

/** A part of a whole, from 0 to 1; for bars, not for sums. */
export const shareOf = (part: string, of: string): number => {
  const all = Number(of)
  return all <= 0 ? 0 : Math.min(1, Math.max(0, Number(part) / all))
}

const dayAndTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
const otherYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const monthDay = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })

/** The year is shown if it is not the present one. */
export const timeText = (iso: string): string => {
  const date = new Date(iso)
  return (date.getFullYear() === new Date().getFullYear() ? dayAndTime : otherYear).format(date)
}
export const clockText = (iso: string): string => clock.format(new Date(iso))
export const dayText = (day: string): string => monthDay.format(new Date(day))

/** How long ago, in the largest unit that fits. */
export const agoText = (iso: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1_000))
  if (seconds < 60) return seconds < 5 ? 'just now' : `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`
}

/** As much of an id as tells it from others; whoever copies it gets all of it. */
export const shortId = (id: string): string => (id.length <= 12 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`)

/** What to write where an amount is asked for. */
export const AMOUNT_HINT =
  'An amount such as 25 or 0.5: a point, at most nine decimals and 15 digits in all, below a billion'

const TYPED = /^0*(\d{1,9})(?:\.(\d{1,9}))?$/

/** An amount that somebody typed; undefined if empty, null if it is not an amount, or if no number is just that amount. */
export const typedUsd = (text: string): number | undefined | null => {
  const plain = text.trim().replace(/^\$/, '')
  if (plain === '') return undefined
  const [, whole, decimals = ''] = TYPED.exec(plain) ?? []
  if (whole === undefined) return null
  const usd = Number(plain)
  const written = `${whole}.${decimals}`.replace(/\.?0*$/, '')
  // Below a dollar each of nine decimals counts, and a number may be written with an exponent.
  return usd < 1 || String(usd) === written ? usd : null
}
