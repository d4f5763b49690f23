/** The key of the playground. */
import { z } from 'zod'
import { usd } from './shared.ts'

export const playKey = z
  .object({ id: z.string(), key: z.string(), spend_cap_usd: usd })
  .meta({ id: 'ConsolePlayKey' })
export type PlayKeyShown = z.output<typeof playKey>
