/**
 * The amounts of an invoice in its own currency, rounded by one rule. The sum of the exact amounts is rounded once, to the
 * nearest unit that can be paid (a half up). Each line is rounded down, and the units that are then missing go to the lines
 * that lost most (the largest remainders; of equal ones the first), so that the lines add up to the sum. Each tax is a
 * percentage of that sum and rounded once as well.
 */
import type { Nano } from '../core/money.ts'

export type Tax = { readonly name: string; readonly percent: number }

/** How many decimals the currency's smallest unit has, such as 2 for EUR. Source: ISO 4217, as the runtime has it. */
export const placesOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2

const floor = (a: bigint, b: bigint): bigint => (a % b < 0n ? a / b - 1n : a / b)
const nearest = (a: bigint, b: bigint): bigint => floor(2n * a + b, 2n * b)
const sumOf = (all: readonly bigint[]): bigint => all.reduce((sum, one) => sum + one, 0n)

/** Amounts in whole units that add up to the rounded sum of the exact ones; none is off by a unit or more. */
export const inUnits = (exact: readonly bigint[], unit: bigint): readonly bigint[] => {
  const parts = exact.map((one) => floor(one, unit))
  const lost = exact.map((one, at) => one - (parts[at] ?? 0n) * unit)
  const missing = Number(nearest(sumOf(exact), unit) - sumOf(parts))
  const byLoss = exact
    .map((_one, at) => at)
    .sort((a, b) => Number((lost[b] ?? 0n) - (lost[a] ?? 0n)) || a - b)
  const more = new Set(byLoss.slice(0, missing))
  return parts.map((part, at) => (more.has(at) ? part + 1n : part))
}

/** Smallest units as a decimal with all its places: (1230, 2) is `12.30`. */
export const inDecimals = (units: bigint, places: number): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  const point = digits.length - places
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${places === 0 ? '' : `.${digits.slice(point)}`}`
}

/** Percentages have at most three decimals. */
const PERCENT = 100_000n

type Terms = { readonly rate: Nano; readonly places: number; readonly taxes: readonly Tax[] }

/** `amounts` are nano-USD, `rate` is what one USD costs in billionths of the currency; the sums are decimal texts. */
export const billSums = (amounts: readonly Nano[], { rate, places, taxes }: Terms) => {
  const units = inUnits(
    amounts.map((amount) => amount * rate),
    10n ** BigInt(18 - places),
  )
  const net = sumOf(units)
  const taxed = taxes.map(({ percent }) => nearest(net * BigInt(Math.round(percent * 1_000)), PERCENT))
  const total = net + sumOf(taxed)
  const text = (amount: bigint) => inDecimals(amount, places)
  return {
    payable: total > 0n,
    lines: units.map(text),
    net: text(net),
    taxes: taxes.map((tax, at) => ({ ...tax, amount: text(taxed[at] ?? 0n) })),
    total: text(total),
  }
}

export type BillSums = ReturnType<typeof billSums>
