/** Bodies that set limits of keys, as schemas: the limits of an existing key, and a new key. */
import { z } from 'zod'
import { readBy, strangers, usd, whole } from '../core/body.ts'
import { readAliases } from './aliases.ts'
import type { Aliases, Limits } from './key.ts'
import { rateWindows } from './rates.ts'

/** The members of a limits body as read: absent keeps a limit, null removes a cap. */
export type LimitsBody = { readonly [Name in keyof Limits]?: Limits[Name] | null } & {
  /** Both null and absent keep it. */
  readonly disabled?: boolean
  readonly canManage?: boolean
  /** All aliases that the key is to have; a key may set its own. */
  readonly aliases?: Aliases | null
  /** `disabled` also applies to all keys below. */
  readonly withChildren?: boolean
}

const cap = usd('must be a number of USD from 0 to 1000000000, or null for none').nullable().optional()

const rateOf = (rate: keyof typeof rateWindows) =>
  whole(
    1,
    1_000_000_000,
    `must be a whole number of ${rateWindows[rate].counts} of at least 1, or null for ${rate === 'rpm' ? "the plan's default" : 'none'}`,
  )
    .nullable()
    .optional()

/** What a body says about limits and about the keys below. */
const limitMembers = {
  spend_cap_usd: cap,
  monthly_cap_usd: cap,
  stop_at_remaining_usd: cap,
  rpm_limit: rateOf('rpm').describe('Requests per minute; null for the plan’s rate'),
  rph_limit: rateOf('rph').describe('Requests per hour'),
  rpd_limit: rateOf('rpd').describe('Requests per day (UTC)'),
  tpm_limit: rateOf('tpm').describe('Tokens per minute, of input and output'),
  disabled: z.boolean('must be true, false or absent').nullable().optional(),
  aliases: readBy(readAliases, {
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    maxProperties: 100,
    description: 'Its own names for models: ids by name, all of them together; keys below it do not use them',
  }).optional(),
  can_manage: z
    .boolean('must be true, false or absent')
    .optional()
    .describe('Whether it may make and govern keys below itself and, as a key of the account, the wallet'),
  with_children: z
    .boolean('must be true, false or absent')
    .optional()
    .describe('With `disabled`: also for all keys below'),
}
const known = Object.keys(limitMembers).join(', ')
/** A typing error would otherwise leave a key unlimited. */
const isNoLimit = strangers(`is not a limit; those are ${known}`)
const membersOnly = z.strictObject(limitMembers)

const limitsIn = (read: z.output<typeof membersOnly>): LimitsBody => {
  const limits = {
    spendCap: read.spend_cap_usd,
    monthlyCap: read.monthly_cap_usd,
    stopAt: read.stop_at_remaining_usd,
    rpm: read.rpm_limit,
    rph: read.rph_limit,
    rpd: read.rpd_limit,
    tpm: read.tpm_limit,
    disabled: read.disabled ?? undefined,
    aliases: read.aliases,
    canManage: read.can_manage,
    withChildren: read.with_children,
  }
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined))
}

type ForChildren = {
  readonly disabled?: boolean | null | undefined
  readonly with_children?: boolean | undefined
}
const saysWhat = ({ disabled, with_children }: ForChildren): boolean =>
  with_children !== true || typeof disabled === 'boolean'
const saysNothing = {
  path: ['with_children'],
  message: "goes with 'disabled': it disables, or enables again, all keys below",
}

/** The body of PUT …/limits; unknown members are refused. */
export const limitsBody = z
  .strictObject(limitMembers, { error: isNoLimit })
  .refine(saysWhat, saysNothing)
  .transform(limitsIn)
  .meta({ id: 'Limits' })

const LABEL_MAX = 200
const labelled = `is required: who uses the key, in at most ${LABEL_MAX} characters`

/** What a key is called: something that can be read in a list. */
export const keyLabel = z
  .string(labelled)
  .max(LABEL_MAX, `must have at most ${LABEL_MAX} characters`)
  .refine((label) => label.trim() !== '', labelled)

/** The body of POST …/wholesale: a new key, its rights, and the sub-wallet that it is bound to. */
export const newKeyBody = z
  .strictObject(
    {
      label: keyLabel,
      sub_wallet: z.string('must be the id of a sub-wallet, or absent').optional(),
      ...limitMembers,
      disabled: z.null('is for keys that there are; leave it out').optional(),
    },
    { error: isNoLimit },
  )
  .refine(saysWhat, saysNothing)
  .transform(({ label, sub_wallet: sub, ...rest }) => ({ label, sub, limits: limitsIn(rest) }))
  .meta({ id: 'NewKey' })
