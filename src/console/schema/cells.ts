/** Going from one cell's console to another's, as bodies and answers. */
import { z } from 'zod'
import { text } from '../../core/body.ts'
import { roles } from '../../store/people/people-port.ts'

/** What a cell answers that is asked of which organisations somebody is a member. */
export const organisationsOf = z.object({
  organisations: z.array(z.object({ id: z.string(), name: z.string(), role: z.enum(roles) })),
})

export const elsewhere = z
  .object({
    proved: z.boolean().describe('Whether the address is proved; else no cell is asked'),
    cells: z.array(
      organisationsOf.extend({
        name: z.string(),
        away: z.boolean().describe('It did not answer within a second'),
      }),
    ),
  })
  .meta({ id: 'ConsoleElsewhere' })
export type ElsewhereShown = z.output<typeof elsewhere>

export const handOverBody = z
  .strictObject({
    cell: text(1, 8, 'must be the name of another cell'),
    organisation: text(1, 100, 'must be an organisation there'),
  })
  .meta({ id: 'ConsoleHandOver' })
export const handedOver = z
  .object({
    to: z.string().describe('Where the browser brings it, as a form'),
    hand_over: z.string(),
  })
  .meta({ id: 'ConsoleHandedOver' })

export const enterBody = z
  .strictObject({ code: text(6, 20, 'must be a code of 6 digits, or a backup code').optional() })
  .meta({ id: 'ConsoleEnter' })
