/** The key of the playground. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { limitRows } from '../../tenancy/limits.ts'
import { usd } from './shared.ts'

export const playKey = namedObject('ConsolePlayKey', {
  id: z.string(),
  key: z.string(),
  [limitRows.spendCap.member]: usd,
})
export type PlayKeyShown = z.output<typeof playKey>
