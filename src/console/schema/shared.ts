/**
 * Types that the console's answers share. Amounts are decimal texts of USD, exact to the nano-dollar; instants are ISO
 * 8601 in UTC.
 */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

export const usd = z.string().describe('USD, exact to the nano-dollar')
export const instant = z.string().meta({ format: 'date-time' })

export const done = namedObject('ConsoleDone', { done: z.literal(true) })
export const csv = z.string().meta({ id: 'ConsoleCsv' })
