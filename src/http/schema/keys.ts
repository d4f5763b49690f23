/** Keys in the API reference: their limits, and what they used. */
import { z } from 'zod'

const maybeUsd = z.number().nullable()
const rate = z.int().nullable()

const shownKey = {
  id: z.string(),
  label: z.string(),
  prefix: z.string(),
  parent: z.string().nullable(),
  sub_wallet: z.string().nullable(),
  can_manage: z
    .boolean()
    .describe('Whether it may make and govern keys below itself and, as a key of the account, the wallet'),
  spend_cap_usd: maybeUsd,
  monthly_cap_usd: maybeUsd,
  rpm_limit: rate.describe('Requests per minute; null for the plan’s rate'),
  effective_rpm_limit: z
    .int()
    .describe(
      'What binds: its own rate or that of the plan, and the rates set on keys above it, which all below share',
    ),
  rph_limit: rate.describe('Requests per hour'),
  rpd_limit: rate.describe('Requests per day (UTC)'),
  tpm_limit: rate.describe('Tokens per minute, of input and output'),
  stop_at_remaining_usd: maybeUsd,
  aliases: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Own names of the key for models; keys below it do not use them'),
  disabled: z.boolean(),
  disabled_reason: z.string().nullable(),
  disabled_by: z.string().nullable().describe('The key above with which it was disabled'),
  deleted: z.boolean(),
  created_at: z.string().meta({ format: 'date-time' }),
}

const key = z.object(shownKey).meta({ id: 'Key' })

export const keyAnswer = z.object({ data: key }).meta({ id: 'KeyAnswer' })

export const newKeyAnswer = z
  .object({ data: z.object({ ...shownKey, key: z.string().describe('The key; shown only now') }) })
  .meta({ id: 'NewKeyAnswer' })

export const keyList = z
  .object({ object: z.literal('list'), data: z.array(key), has_more: z.boolean() })
  .meta({ id: 'KeyList' })

export const keyDeleted = z
  .object({ id: z.string(), deleted: z.literal(true), with_children: z.boolean() })
  .meta({ id: 'KeyDeleted' })

export const keyUsage = z
  .object({
    data: z.object({
      spent_usd: z.number(),
      spent_this_month_usd: z.number(),
      held_usd: z.number(),
      ...shownKey,
      remaining_usd: z
        .number()
        .describe('The smallest remainder of all limits, with charges and holds counted'),
      limited_by: z
        .object({
          limit: z.string().describe('The limit that leaves the least, named as in a 402'),
          of: z.enum(['key', 'parent', 'account']),
        })
        .nullable(),
      requests: z.int(),
    }),
  })
  .meta({ id: 'KeyUsage' })

const used = {
  requests: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
}

export const usageReport = z
  .object({
    data: z.object({
      from: z.string(),
      to: z.string(),
      group_by: z.array(z.enum(['day', 'model', 'key'])),
      own: z.boolean(),
      total: z.object(used),
      rows: z
        .array(
          z.object({
            day: z.string().optional(),
            model: z.string().optional(),
            key: z.string().optional(),
            label: z.string().optional(),
            parent: z.string().nullable().optional(),
            deleted: z.boolean().optional(),
            ...used,
          }),
        )
        .describe('By key also `label`, `parent` and whether it is `deleted`'),
      has_more: z.boolean().describe('Whether there are rows beyond 10,000; the total counts them'),
    }),
  })
  .meta({ id: 'Usage' })
