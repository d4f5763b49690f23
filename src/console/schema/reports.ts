/** Calls, use, models and the overview, as the console shows them. */
import { z } from 'zod'
import { whole } from '../../core/body.ts'
import { instant, usd } from './shared.ts'

export const callShown = z
  .object({
    id: z.string(),
    at: instant,
    key: z.object({ id: z.string(), label: z.string(), prefix: z.string() }),
    cost_usd: usd,
    refunded_usd: usd,
    model: z.string().nullable().describe('null for a call that recovery charged'),
    vendor: z.string().nullable(),
    status: z.string().nullable(),
    estimated: z.boolean(),
    tokens: z.record(z.string(), z.int()).describe('Units by class'),
    took_ms: z.int().nullable(),
    first_byte_ms: z.int().nullable(),
  })
  .meta({ id: 'ConsoleCall' })
export type CallShown = z.output<typeof callShown>
export const callList = z
  .object({ data: z.array(callShown), has_more: z.boolean() })
  .meta({ id: 'ConsoleCalls' })
export type CallListShown = z.output<typeof callList>

const counted = { requests: z.int(), input_tokens: z.int(), output_tokens: z.int(), cost_usd: usd }
export const usageShown = z
  .object({
    from: instant,
    to: instant,
    group_by: z.array(z.string()),
    total: z.object(counted),
    rows: z.array(
      z.object({
        groups: z.record(z.string(), z.string()),
        label: z.string().nullable(),
        reference: z.string().nullable(),
        ...counted,
      }),
    ),
    has_more: z.boolean(),
  })
  .meta({ id: 'ConsoleUsage' })
export type UsageShown = z.output<typeof usageShown>

export const overview = z
  .object({
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
    attention: z.array(z.object({ kind: z.string(), text: z.string(), to: z.string() })),
    has_keys: z.boolean(),
  })
  .meta({ id: 'ConsoleOverview' })
export type OverviewShown = z.output<typeof overview>

export const most = (value: string | undefined, usual: number, highest: number): number => {
  const read = whole(1, highest, '').safeParse(Number(value ?? usual))
  return read.success ? read.data : usual
}

export const models = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        vendor: z.string(),
        category: z.string(),
        context_length: z.int(),
        max_output_tokens: z.int(),
        capabilities: z.array(z.string()),
        prices: z.record(z.string(), z.string()).describe('USD per million units, by class'),
        unit: z.string(),
        coming: z
          .object({ from: instant, prices: z.record(z.string(), z.string()) })
          .nullable()
          .describe('Its next price'),
        aliases: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'ConsoleModels' })
export type ModelsShown = z.output<typeof models>
export const modelInputs = z
  .object({ model: z.string(), input_schema: z.record(z.string(), z.unknown()).describe('JSON schema') })
  .meta({ id: 'ConsoleModelInputs' })
export type ModelInputsShown = z.output<typeof modelInputs>
