/** Reading bodies and queries of the console, and writing its values. */
import type { z } from 'zod'
import { readAs } from '../core/body.ts'
import type { JsonObject } from '../core/json-body.ts'
import { decimalFromNano, type Nano } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { type ConsoleRoute, withBody } from './here.ts'

const read = <Body>(schema: z.ZodType<Body>, body: JsonObject): Body => {
  const value = readAs(schema, body)
  if (value instanceof Refusal) throw value
  return value
}

/** A row of the console with its body. */
export const bodied = <Body>(row: Parameters<typeof withBody<Body>>[0]): ConsoleRoute => withBody(row, read)

export const usdOf = (amount: Nano): string => decimalFromNano(amount)
export const isoOf = (at: number): string => new Date(at).toISOString()
