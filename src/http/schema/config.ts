/** Bodies at the configuration's address, which the operator's command calls. */
import { z } from 'zod'

const instant = z.string().describe('ISO 8601')
const lines = z.array(z.string())

export const configShown = z
  .object({
    settings: z
      .record(z.string(), z.string())
      .describe('Settings that are only read at a start: a fingerprint of each value'),
    processes: z.array(
      z.object({
        process: z.string(),
        version: z.string().describe('Processes with the same fingerprint sell the same'),
        applied_at: instant,
        reloads: z.int(),
        refused: z
          .object({ at: instant, errors: lines })
          .nullable()
          .describe('Why the newest cannot be used'),
        needs_restart: lines.describe('Changed settings that are only read at a start'),
      }),
    ),
  })
  .meta({ id: 'Configuration' })
export type ConfigShown = z.output<typeof configShown>

export const configAsk = z
  .strictObject({ dry_run: z.boolean('must be true or false').optional() })
  .meta({ id: 'ConfigurationAsk' })

export const configReloaded = z
  .object({
    outcome: z.enum(['applied', 'checked', 'refused']),
    processes: z.int().describe('How many answered'),
    errors: lines,
    changes: lines,
    needs_restart: lines,
  })
  .meta({ id: 'ConfigurationReloaded' })
export type ConfigReloaded = z.output<typeof configReloaded>
