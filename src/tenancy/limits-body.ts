/** The members of bodies that set limits of keys, as schemas. */
import { z } from 'zod'
import { readBlock } from '../core/address.ts'
import { amount, readable, readBy, whole } from '../core/body.ts'
import { instantFrom } from '../core/time.ts'
import { type GuardRule, guardrailsShown, readGuardrails } from '../guardrails/rules.ts'
import { readAliases } from './aliases.ts'
import { CONDITION_FORM, isCondition } from './conditions.ts'
import type { Aliases } from './key.ts'
import { type LimitRow, type LimitsChange, type LimitValue, limitList, limitsFrom } from './limits.ts'
import { PATTERN, PATTERNS_MAX } from './rules-body.ts'
import { type KeyTags, readKeyTags, TAGS_MAX } from './tags.ts'

/** The members of a limits body as read: absent keeps a limit, null removes a cap. */
export type LimitsBody = LimitsChange & {
  /** Both null and absent keep it. */
  readonly disabled?: boolean
  readonly canManage?: boolean
  /** All aliases that the key is to have; a key may set its own. */
  readonly aliases?: Aliases | null
  /** All tags that its calls are to have; who made it sets them. */
  readonly tags?: KeyTags | null
  /** What is looked for in the texts of its calls; who made it sets that. */
  readonly guardrails?: readonly GuardRule[] | null
  /** The sub-wallet that it is bound to, with all keys below it; null releases them. */
  readonly subWallet?: string | null
  /** `disabled` also applies to all keys below. */
  readonly withChildren?: boolean
}

/** A limit in a body: null removes it. */
const bodyOf = (row: LimitRow) => forms[row.form](row).nullable().optional().describe(row.help)

/** What a list may have, by what it is of. */
const listed = {
  models: (one: string) => PATTERN.test(one),
  addresses: (one: string) => readBlock(one) !== undefined,
  conditions: isCondition,
} as const

const forms: Readonly<Record<LimitRow['form'], (row: LimitRow) => z.ZodType>> = {
  usd: (row) => amount(orNull(row, 'a number of USD from 0 to 1000000000')),
  count: (row) => whole(1, 1_000_000_000, orNull(row, `a whole number of ${row.counts} of at least 1`)),
  time: (row) => instantOr(orNull(row, 'a day or a moment in ISO 8601')),
  list: (row) => {
    const { of = 'models' } = row
    const kinds = of === 'conditions' ? `${of} (${CONDITION_FORM})` : of
    const what = orNull(row, `a list of 1 to ${PATTERNS_MAX} ${kinds}`)
    return z.array(z.string(what).refine(listed[of], what), what).min(1, what).max(PATTERNS_MAX, what)
  },
}

const orNull = ({ otherwise = 'no limit' }: LimitRow, what: string): string =>
  `must be ${what}, or null for ${otherwise}`

const instantOr = (what: string) =>
  z
    .string(what)
    .refine((text) => instantFrom(text) !== undefined, what)
    .transform((text) => instantFrom(text) ?? 0)
    .meta({ format: 'date-time' })

const caps = Object.fromEntries(limitList.map(([, row]) => [row.member, bodyOf(row)]))

/** What a body says about limits and about the keys below. */
export const limitMembers = {
  ...caps,
  disabled: z.boolean('must be true, false or absent').nullable().optional(),
  aliases: readBy(readAliases, {
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    maxProperties: 100,
    description: 'Its own names for models: ids by name, all of them together; keys below it do not use them',
  }).optional(),
  tags: readBy(readKeyTags, {
    type: ['object', 'null'],
    maxProperties: TAGS_MAX,
    description:
      'What its calls are for where they do not say, such as {"team": "red"}; with {"value": "red", "fixed": true} no call of it, or of a key below, says otherwise',
  }).optional(),
  guardrails: readBy(readGuardrails, guardrailsShown).optional(),
  can_manage: z
    .boolean('must be true, false or absent')
    .optional()
    .describe('Whether it may make and govern keys below itself and, as a key of the account, the wallet'),
  with_children: z
    .boolean('must be true, false or absent')
    .optional()
    .describe('With `disabled`: also for all keys below'),
}
/** The members of a change: those, and the sub-wallet that a key is bound to. */
export const changeMembers = {
  ...limitMembers,
  sub_wallet: z
    .string('must be the id of a sub-wallet, or null for none')
    .nullable()
    .optional()
    .describe('The sub-wallet that a key below, and all below that, spend from; null releases them'),
}
const known = Object.keys(changeMembers).join(', ')
/** What is said of other members: a typing error would otherwise leave a key unlimited. */
export const toLimits = `is not a limit; those are ${known}`

type Read = Readonly<Record<string, unknown>> & {
  readonly disabled?: boolean | null | undefined
  readonly aliases?: Aliases | null | undefined
  readonly tags?: KeyTags | null | undefined
  readonly guardrails?: readonly GuardRule[] | null | undefined
  readonly can_manage?: boolean | undefined
  readonly with_children?: boolean | undefined
  readonly sub_wallet?: string | null | undefined
}

/** The limits that a body sets, by their names. */
export const limitsOfBody = (read: Read): LimitsBody => {
  const others = {
    disabled: read.disabled ?? undefined,
    aliases: read.aliases,
    tags: read.tags,
    guardrails: read.guardrails,
    canManage: read.can_manage,
    withChildren: read.with_children,
    subWallet: read.sub_wallet,
  }
  return {
    ...limitsFrom((_name, { member }) => read[member] as LimitValue | null | undefined),
    ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
  }
}

/** What must hold of a body's members together. */
export const saysWhat = {
  holds: ({ disabled, with_children }: Readonly<Record<string, unknown>>): boolean =>
    with_children !== true || typeof disabled === 'boolean',
  param: 'with_children',
  message: "goes with 'disabled': it disables, or enables again, all keys below",
} as const

const LABEL_MAX = 200
const labelled = `is required: who uses the key, in at most ${LABEL_MAX} characters`

/** What a key is called: something that can be read in a list. */
export const keyLabel = readable(
  z.string(labelled).max(LABEL_MAX, `must have at most ${LABEL_MAX} characters`),
).refine((label) => label.trim() !== '', labelled)
