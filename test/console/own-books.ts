/** Books that a test keeps for itself: what it was told about each call, to be compared with every figure of the server. */
import { nanoFromDecimal } from '../../src/core/money.ts'

export type OwnCharge = {
  readonly id: string
  readonly keyId: string
  /** Whether a credit line owes it, and not the wallet. */
  readonly onCredit: boolean
  /** When the call was admitted. */
  readonly at: number
  readonly amount: bigint
  readonly back: { readonly amount: bigint; readonly at: number }[]
}

export type OwnKey = {
  readonly id: string
  readonly token: string
  /** The label of the tenant that it is of. */
  readonly tenant?: string
  /** The keys that it counts for: itself, and those that it replaced. */
  readonly counts: readonly string[]
  gone?: true
}

/** What the day or month of an instant begins with, in ISO 8601. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
export const monthOf = (at: number): string => dayOf(at).slice(0, 7)
/** The Monday of its week: the first day of 1970 was a Thursday. */
export const weekOf = (at: number): string => {
  const day = Math.floor(at / 86_400_000)
  return dayOf((day - ((day + 3) % 7)) * 86_400_000)
}

/** Nano-USD of an amount as any address tells it: a decimal text, or a number. */
export const nano = (usd: unknown): bigint => {
  const text = typeof usd === 'number' ? usd.toFixed(9) : String(usd)
  const amount = nanoFromDecimal(text.replace('-', ''))
  if (amount === undefined) throw new Error(`'${text}' is not an amount`)
  return text.startsWith('-') ? -amount : amount
}

/** What counts in reports: charges, and what was given back of them. */
export type OwnEntry = {
  readonly keyId: string
  readonly onCredit: boolean
  readonly at: number
  readonly requests: number
  readonly amount: bigint
}

const WEEK = 7 * 86_400_000

/** A call counts on the day on which it was admitted; what is given back does too, or when that is a week ago. */
export const entriesOf = (charges: readonly OwnCharge[]): readonly OwnEntry[] =>
  charges.flatMap(({ keyId, onCredit, at, amount, back }) => [
    { keyId, onCredit, at, requests: 1, amount },
    ...back.map((refund) => {
      const open = refund.at < Date.parse(dayOf(at)) + 86_400_000 + WEEK
      return { keyId, onCredit, at: open ? at : refund.at, requests: 0, amount: -refund.amount }
    }),
  ])

export const backOf = ({ back }: OwnCharge): bigint => back.reduce((sum, { amount }) => sum + amount, 0n)

/** What they came to after refunds, as caps count them: in the month of the call. */
export const netOf = (charges: readonly OwnCharge[]): bigint =>
  charges.reduce((sum, charge) => sum + charge.amount - backOf(charge), 0n)

export const sumOf = (entries: readonly OwnEntry[]): bigint =>
  entries.reduce((sum, { amount }) => sum + amount, 0n)

/** Sums by a name. */
export const sumsBy = (
  entries: readonly OwnEntry[],
  name: (entry: OwnEntry) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...Map.groupBy(entries, name)]
      .map(([of, those]) => [
        of,
        `${those.reduce((sum, { requests }) => sum + requests, 0)} for ${sumOf(those)}`,
      ])
      .sort(),
  )

/** The same of rows that the server told. */
export const toldBy = <Line extends { readonly requests: number; readonly cost_usd: unknown }>(
  lines: readonly Line[],
  name: (line: Line) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...Map.groupBy(lines, name)]
      .map(([of, those]) => {
        const requests = those.reduce((sum, line) => sum + line.requests, 0)
        return [of, `${requests} for ${those.reduce((sum, line) => sum + nano(line.cost_usd), 0n)}`]
      })
      .sort(),
  )
