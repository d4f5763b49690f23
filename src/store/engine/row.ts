/** Reads columns of a row into the code's types; a column of another type is a bug and throws. */
import type { Nano } from '../../core/money.ts'
import type { Row } from './engine.ts'

const wrong = (row: Row, column: string): never => {
  throw new Error(`column ${column} has an unexpected value of type ${typeof row[column]}`)
}

export const textOf = (row: Row, column: string): string => {
  const value = row[column]
  return typeof value === 'string' ? value : wrong(row, column)
}

export const maybeText = (row: Row, column: string): string | undefined =>
  row[column] === null || row[column] === undefined ? undefined : textOf(row, column)

/** An amount of money. Small integer types come back as numbers from PostgreSQL. */
export const nanoOf = (row: Row, column: string): Nano => {
  const value = row[column]
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : wrong(row, column)
}

export const maybeNano = (row: Row, column: string): Nano | undefined =>
  row[column] === null || row[column] === undefined ? undefined : nanoOf(row, column)

/** A count or an instant: a safe integer. */
export const countOf = (row: Row, column: string): number => {
  const count = Number(nanoOf(row, column))
  return Number.isSafeInteger(count) ? count : wrong(row, column)
}

export const maybeBytes = (row: Row, column: string): Uint8Array | undefined => {
  const value = row[column]
  if (value === null || value === undefined) return undefined
  return value instanceof Uint8Array ? value : wrong(row, column)
}

export const truthOf = (row: Row, column: string): boolean => countOf(row, column) === 1

/** The only row of a statement that always returns one. */
export const onlyRow = (rows: readonly Row[]): Row => {
  const row = rows[0]
  if (row === undefined) throw new Error('a statement that always gives a row gave none')
  return row
}
