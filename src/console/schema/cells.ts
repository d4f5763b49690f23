/** Going from one cell's console to another's, as bodies and answers. */
import { z } from 'zod'
import { namedObject, namedStrict, text } from '../../core/body.ts'
import { roles } from '../../store/people/people-port.ts'

/** What a cell answers that is asked of which organisations somebody is a member. */
export const organisationsOf = z.object({
  organisations: z.array(z.object({ id: z.string(), name: z.string(), role: z.enum(roles) })),
})

export const elsewhere = namedObject('ConsoleElsewhere', {
  proved: z.boolean().describe('Whether the address is proved; else no cell is asked'),
  cells: z.array(
    organisationsOf.extend({
      name: z.string(),
      away: z.boolean().describe('It did not answer within a second'),
    }),
  ),
})
export type ElsewhereShown = z.output<typeof elsewhere>

export const handOverBody = namedStrict('ConsoleHandOver', {
  cell: text(1, 8, 'must be the name of another cell'),
  organisation: text(1, 100, 'must be an organisation there'),
})
export const handedOver = namedObject('ConsoleHandedOver', {
  to: z.string().describe('Where the browser brings it, as a form'),
  hand_over: z.string(),
})

export const enterBody = namedStrict('ConsoleEnter', {
  code: text(6, 20, 'must be a code of 6 digits, or a backup code').optional(),
})
