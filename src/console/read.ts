/** Reading bodies and queries of the console, and writing its values. */
import type { z } from 'zod'
import { readAs } from '../core/body.ts'
import type { JsonObject } from '../core/json-body.ts'
import { decimalFromNano, type Nano } from '../core/money.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { instantFrom } from '../core/time.ts'
import { type ConsoleRoute, withBody } from './here.ts'

const read = <Body>(schema: z.ZodType<Body>, body: JsonObject): Body => {
  const value = readAs(schema, body)
  if (value instanceof Refusal) throw value
  return value
}

/** A row of the console with its body. */
export const bodied = <Body>(row: Parameters<typeof withBody<Body>>[0]): ConsoleRoute => withBody(row, read)

export const usdOf = (amount: Nano): string => decimalFromNano(amount)
export const maybeUsd = (amount: Nano | undefined): string | null =>
  amount === undefined ? null : decimalFromNano(amount)
export const isoOf = (at: number): string => new Date(at).toISOString()

/** An instant in a query. */
export const instantOf = (name: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise
  const at = instantFrom(text)
  if (at === undefined)
    throw invalid(name, `'${name}' must be a day such as 2026-11-21 that there is, or an instant in UTC.`)
  return at
}

/** PostgreSQL can store neither U+0000 nor half a surrogate pair. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** Where a cell begins with what a spreadsheet would run: also after the marks at which one of another country splits. */
const FORMULA = /(^|[;|\t\r\n]\s*)(?=[=+\-@])/g

/** A cell of a CSV. What a spreadsheet would run as a formula is marked as text. */
const cellOf = (value: string | number): string => {
  const text = String(value)
  const safe =
    typeof value === 'string' && !/^-?\d+(\.\d+)?$/.test(text) ? text.replace(FORMULA, "$1'") : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** It begins with the mark of UTF-8: without it spreadsheets read names in the letters of their own country. */
export const csvOf = (rows: readonly (readonly (string | number)[])[]): string =>
  `\ufeff${rows.map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`
