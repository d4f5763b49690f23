/** The key of the playground. */
import { z } from 'zod'
import { limitRows } from '../../tenancy/limits.ts'
import { usd } from './shared.ts'

export const playKey = z
  .object({ id: z.string(), key: z.string(), [limitRows.spendCap.member]: usd })
  .meta({ id: 'ConsolePlayKey' })
export type PlayKeyShown = z.output<typeof playKey>
