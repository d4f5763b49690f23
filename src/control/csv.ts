/** Files of rows that spreadsheets read. */
import { decimalFromNano } from '../core/money.ts'

/** A `bigint` is an amount; what is absent is an empty cell. */
type Cell = string | number | bigint | null | undefined

export type Sheet = {
  readonly name: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Where a cell begins with what a spreadsheet would run: also after the marks at which one of another country splits. */
const FORMULA = /(^|[;|\t\r\n]\s*)(?=[=+\-@])/g

/** A cell of a CSV. What a spreadsheet would run as a formula is marked as text. */
const cellOf = (value: Cell): string => {
  const text = typeof value === 'bigint' ? decimalFromNano(value) : String(value ?? '')
  const safe =
    typeof value === 'string' && !/^-?\d+(\.\d+)?$/.test(text) ? text.replace(FORMULA, "$1'") : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** It begins with the mark of UTF-8: without it spreadsheets read names in the letters of their own country. */
export const csvOf = ({ name, head, rows }: Sheet) => ({
  name,
  text: `\ufeff${[head, ...rows].map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`,
})
