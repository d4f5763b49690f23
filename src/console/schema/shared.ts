/**
 * Types that the console's answers share. Amounts are decimal texts of USD, exact to the nano-dollar; instants are ISO
 * 8601 in UTC.
 */
import { z } from 'zod'

export const usd = z.string().describe('USD, exact to the nano-dollar')
export const instant = z.string().meta({ format: 'date-time' })

/** What became of a one-time link that was made for somebody. */
export const linkGiven = z.object({
  sent: z.boolean().describe('Whether a mail was sent'),
  link: z.string().nullable().describe('The one-time link, where the server has no mail; shown only now'),
  told: z.string().describe('The same in a sentence, for people'),
})
export type LinkGiven = z.output<typeof linkGiven>

export const done = z.object({ done: z.literal(true) }).meta({ id: 'ConsoleDone' })
export const csv = z.string().meta({ id: 'ConsoleCsv' })
