/** Keys and tenants in the console. */
import { z } from 'zod'
import { text } from '../../core/body.ts'
import { limitsBody } from '../../tenancy/limits-body.ts'
import { instant, usd } from './shared.ts'

const maybe = usd.nullable()

export const keyStatus = z.enum(['enabled', 'disabled', 'spend_cap', 'monthly_cap', 'deleted'])

const keyMembers = {
  id: z.string(),
  label: z.string(),
  prefix: z.string(),
  reference: z.string().nullable().describe("The reseller's own name of the tenant"),
  parent: z.string().nullable(),
  tenant: z.string().nullable().describe('Of a key below another one: the id of its tenant'),
  sub_wallet: z.string().nullable(),
  status: keyStatus,
  can_manage: z.boolean(),
  spent_usd: usd,
  spent_this_month_usd: usd,
  requests: z.int(),
  spend_cap_usd: maybe,
  monthly_cap_usd: maybe,
  stop_at_remaining_usd: maybe,
  rpm_limit: z.int().nullable(),
  last_used_at: instant.nullable(),
  created_at: instant,
  made_by: z.string().nullable(),
}
export const keyShown = z.object(keyMembers).meta({ id: 'ConsoleKey' })
export type KeyShown = z.output<typeof keyShown>

const around = z.object({ id: z.string(), prefix: z.string() }).nullable()

export const keyPage = z
  .object({
    ...keyMembers,
    replaces: around.describe('The key that this one replaced by rotation'),
    replaced_by: around.describe('The key that replaced this one'),
    below: z.int().describe('Keys below it that are not deleted'),
  })
  .meta({ id: 'ConsoleKeyPage' })
export type KeyPageShown = z.output<typeof keyPage>

export const keyList = z
  .object({ data: z.array(keyShown), has_more: z.boolean() })
  .meta({ id: 'ConsoleKeys' })
export type KeyListShown = z.output<typeof keyList>

export const keyMade = z
  .object({ ...keyMembers, key: z.string().describe('The key; shown only now') })
  .meta({ id: 'ConsoleKeyMade' })
export type KeyMadeShown = z.output<typeof keyMade>

export const keysMade = z.object({ data: z.array(keyMade) }).meta({ id: 'ConsoleKeysMade' })
export type KeysMadeShown = z.output<typeof keysMade>

const label = text(1, 200, 'must have 1 to 200 characters').refine(
  (value) => value.trim() !== '',
  'must have 1 to 200 characters',
)

/** Limits as in PUT /v1/key/wholesale/…/limits, and a label. */
export const keyChangeBody = z
  .strictObject({ label: label.optional(), limits: limitsBody.optional() })
  .meta({ id: 'ConsoleKeyChange' })

/** Two tenants with one reference would be one tenant with two keys, which a list surely does not mean. */
const referencesOnce = ({
  value: tenants,
  issues,
}: z.core.ParsePayload<readonly { reference?: string | undefined }[]>) => {
  const places = new Map<string, number>()
  for (const [at, { reference }] of tenants.entries()) {
    if (reference === undefined) continue
    const before = places.get(reference)
    if (before !== undefined)
      issues.push({
        code: 'custom',
        path: [at, 'reference'],
        message: `is also that of 'tenants.${before}'; nothing was made`,
        input: reference,
      })
    else places.set(reference, at)
  }
}

export const tenantsBody = z
  .strictObject({
    tenants: z
      .array(
        z.strictObject({
          label,
          reference: text(1, 200, 'must have at most 200 characters').optional(),
          limits: limitsBody.optional(),
        }),
      )
      .min(1, 'must name at least one tenant')
      .max(200, 'may name 200 tenants at most')
      .check(referencesOnce),
  })
  .meta({ id: 'ConsoleNewTenants' })

export const playKey = z
  .object({ id: z.string(), key: z.string(), spend_cap_usd: usd })
  .meta({ id: 'ConsolePlayKey' })
export type PlayKeyShown = z.output<typeof playKey>
