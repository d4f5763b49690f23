/** A key as every face shows it. Amounts are nano-USD here; each face writes them in its form. */
import { z } from 'zod'
import { namedObject } from '../core/body.ts'
import { monthOf } from '../core/time.ts'
import { guardrailsHelp } from '../guardrails/rules.ts'
import type { KeyLine } from '../store/reports/report-port.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import { limitText } from '../tenancy/limit-values.ts'
import {
  type CapName,
  capList,
  type LimitName,
  type Limits,
  type LimitValue,
  limitList,
  type limitRows,
  type Spent,
} from '../tenancy/limits.ts'
import { shownKeyTags } from '../tenancy/tags.ts'
import type { Acting, Control } from './act.ts'
import { isoOf } from './read.ts'

export const usd = z.bigint()
export const time = z.string().meta({ format: 'date-time' })

/** Of acts that show nothing else. */
export const done = namedObject('Done', { done: z.literal(true) })

type ShownLimits = {
  readonly [Name in LimitName as (typeof limitRows)[Name]['member']]:
    | (Name extends 'expiresAt' ? string : NonNullable<Limits[Name]>)
    | null
}
type LimitShapes = { readonly [Member in keyof ShownLimits]: z.ZodType<ShownLimits[Member]> }

const forms = { usd, count: z.int(), time, list: z.array(z.string()) } as const

/** The limits by their members; null where one does not bind. */
const limitShapes = Object.fromEntries(
  limitList.map(([, { member, form, help }]) => [member, forms[form].nullable().describe(help)]),
) as { readonly [member: string]: z.ZodType } as LimitShapes

/** What was charged under each cap, by its member. */
type ShownSpent = { readonly [Name in CapName as (typeof limitRows)[Name]['cap']['shown']]: bigint }

export const spentShapes = Object.fromEntries(
  capList.map(({ cap }) => [cap.shown, usd.describe(cap.since)]),
) as {
  readonly [member: string]: typeof usd
} as { readonly [Member in keyof ShownSpent]: typeof usd }

export const spentShown = (spent: Spent): ShownSpent =>
  Object.fromEntries(capList.map(({ cap }) => [cap.shown, spent[cap.spent]])) as ShownSpent

/** Of what was charged, what vendors bill for own keys. */
type ShownEstimates = {
  readonly [Name in keyof ShownSpent as Name extends `spent${infer Period}`
    ? `estimated${Period}`
    : never]: bigint
}

const estimatedAs = (shown: string): string => shown.replace('spent', 'estimated')

const estimateShapes = Object.fromEntries(
  capList.map(({ cap }) => [
    estimatedAs(cap.shown),
    usd.describe(
      `Of '${cap.shown}', what vendors bill the organisation for its own keys, by their list prices; nobody is charged it here`,
    ),
  ]),
) as { readonly [Member in keyof ShownEstimates]: typeof usd }

export const estimatesShown = (estimated: Spent): ShownEstimates =>
  Object.fromEntries(
    capList.map(({ cap }) => [estimatedAs(cap.shown), estimated[cap.spent]]),
  ) as ShownEstimates

export const keyStatus = z.enum(['enabled', 'disabled', 'spend_cap', 'monthly_cap', 'expired', 'deleted'])

export const keyShape = {
  id: z.string(),
  label: z.string(),
  prefix: z.string(),
  organisation: z.string().describe('The organisation whose wallet pays'),
  wallet: z.string(),
  parent: z.string().nullable(),
  tenant: z.string().nullable().describe('Of a key below another one: the id of its tenant'),
  reference: z.string().nullable().describe("The reseller's own name of the tenant"),
  sub_wallet: z.string().nullable(),
  can_manage: z
    .boolean()
    .describe('Whether it may make and govern keys below itself and, as a key of the account, the wallet'),
  ...limitShapes,
  effective_rpm_limit: z
    .int()
    .describe(
      'What binds: its own rate or that of the plan, and the rates set on keys above it, which all below share',
    ),
  aliases: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Own names of the key for models; keys below it do not use them'),
  tags: z
    .record(z.string(), z.object({ value: z.string(), fixed: z.boolean() }))
    .nullable()
    .describe('What its calls are for where they do not say; calls cannot change what is fixed'),
  guardrails: z.array(z.record(z.string(), z.unknown())).nullable().describe(guardrailsHelp),
  status: keyStatus,
  disabled: z.boolean(),
  disabled_reason: z.string().nullable(),
  disabled_by: z.string().nullable().describe('The key above with which it was disabled'),
  deleted: z.boolean(),
  ...spentShapes,
  ...estimateShapes,
  requests: z.int(),
  last_used_at: time.nullable(),
  created_at: time,
  made_by: z.string().nullable().describe('The person who made it'),
  version: z.int().describe('Grows with each change'),
}
export const keyShown = namedObject('Key', keyShape)
export type KeyShown = z.output<typeof keyShown>

/** Whether it takes calls, and why not. */
export const statusOf = ({ clock }: Pick<Control, 'clock'>, key: Key): KeyShown['status'] => {
  if (key.deleted) return 'deleted'
  const { expiresAt } = key.limits
  if (isEnabled(key, monthOf(clock.now())))
    return expiresAt !== undefined && clock.now() >= expiresAt ? 'expired' : 'enabled'
  const { disabledReason } = key
  return disabledReason === 'spend_cap' || disabledReason === 'monthly_cap' ? disabledReason : 'disabled'
}

/** The plan's rate replaces a missing rate of the key's own; keys above bind only where they have a rate. */
const effectiveRpm = ({ limits: { rpm } }: Key, planRpm: number, least: number | undefined): number =>
  rpm === undefined ? Math.min(planRpm, least ?? planRpm) : (least ?? rpm)

const limitsShown = ({ limits }: Key): ShownLimits =>
  Object.fromEntries(
    limitList.map(([name, row]): [string, LimitValue | string | null] => {
      const value = limits[name] ?? null
      return [row.member, row.form === 'time' && value !== null ? limitText(row, value) : value]
    }),
  ) as ShownLimits

const shown = (control: Control, line: KeyLine, leastRpm: number | undefined): KeyShown => {
  const { key, lastUsed } = line
  const { above, disabledBy = '' } = key
  const status = statusOf(control, key)
  const off = status !== 'enabled'
  return {
    id: key.id,
    label: key.label,
    prefix: key.prefix,
    organisation: key.orgId,
    wallet: key.walletId,
    parent: key.ancestors[0] ?? null,
    tenant: key.ancestors.length === 0 ? null : (line.tenantId ?? key.ancestors.at(-2) ?? key.id),
    reference: line.reference ?? null,
    sub_wallet: key.subWallet ?? null,
    can_manage: key.canManage,
    ...limitsShown(key),
    effective_rpm_limit: effectiveRpm(key, control.options.planRpm, leastRpm),
    aliases: key.aliases ?? null,
    tags: key.tags === undefined ? null : shownKeyTags(key.tags),
    guardrails: key.guardrails?.map((rule) => ({ ...rule })) ?? null,
    status,
    disabled: off,
    disabled_reason: off ? (key.disabledReason ?? null) : null,
    disabled_by: above.includes(disabledBy) ? disabledBy : null,
    deleted: key.deleted,
    ...spentShown(line),
    ...estimatesShown(line.estimated),
    requests: line.requests,
    last_used_at: lastUsed === undefined ? null : isoOf(lastUsed),
    created_at: isoOf(key.createdAt),
    made_by: line.madeBy ?? null,
    version: key.version,
  }
}

/** The keys with the rates that bind them, possibly those of keys above them. A key is not told who made it, or why. */
export const showKeys = async (
  { control, who }: Acting,
  lines: readonly KeyLine[],
): Promise<readonly KeyShown[]> => {
  if (lines.length === 0) return []
  const least = await control.store.keys.leastRpm(lines.map(({ key }) => key.id))
  const { reach } = who
  return lines.map((line) => {
    const it = shown(control, line, least.get(line.key.id))
    if (reach.of !== 'key') return it
    const own = reach.key.id === it.id && it.parent !== null
    return { ...it, made_by: null, ...(own ? { reference: null } : {}) }
  })
}
