/** Models and the overview, as the console shows them. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { usd } from './shared.ts'

export const overview = namedObject('ConsoleOverview', {
  balance_usd: usd.nullable().describe('null for whoever may not see the wallet'),
  held_usd: usd.nullable(),
  spent_today_usd: usd,
  spent_this_month_usd: usd,
  spent_week_usd: usd.describe('In the last seven whole days'),
  days_left: z
    .int()
    .nullable()
    .describe('At the rate of that week; null if nothing was spent, or the balance is'),
  requests_today: z.int(),
  by_day: z.array(z.object({ day: z.string(), model: z.string(), cost_usd: usd, requests: z.int() })),
  keys: z.array(z.object({ id: z.string(), label: z.string(), cost_usd: usd, requests: z.int() })),
  attention: z.array(
    z.object({
      kind: z.string(),
      text: z.string(),
      to: z.string(),
      search: z.record(z.string(), z.string()).optional(),
    }),
  ),
  has_keys: z.boolean(),
})
export type OverviewShown = z.output<typeof overview>
