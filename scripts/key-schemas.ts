/** Schemas of the API reference about keys: what binds them, and what they used. */

const text = { type: 'string' }
const number = { type: 'number' }
const maybeNumber = { type: ['number', 'null'] }
const truth = { type: 'boolean' }
const listOf = (items: object) => ({ type: 'array', items })
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})

const limits = {
  spend_cap_usd: maybeNumber,
  monthly_cap_usd: maybeNumber,
  rpm_limit: { type: ['integer', 'null'], description: 'Requests per minute; null for the plan’s rate' },
  rph_limit: { type: ['integer', 'null'], description: 'Requests per hour' },
  rpd_limit: { type: ['integer', 'null'], description: 'Requests per day (UTC)' },
  tpm_limit: { type: ['integer', 'null'], description: 'Tokens per minute, of input and output' },
  stop_at_remaining_usd: maybeNumber,
  aliases: {
    type: ['object', 'null'],
    additionalProperties: text,
    maxProperties: 100,
    description: 'Its own names for models: ids by name, all of them together; keys below it do not use them',
  },
}
const maybeText = { type: ['string', 'null'] }
const canManage = {
  ...truth,
  description: 'Whether it may make and govern keys below itself and, as a key of the account, the wallet',
}
const shownKey = {
  id: text,
  label: text,
  prefix: text,
  parent: maybeText,
  sub_wallet: maybeText,
  can_manage: canManage,
  ...limits,
  effective_rpm_limit: {
    type: 'integer',
    description:
      'What binds: its own rate or that of the plan, and the rates set on keys above it, which all below share',
  },
  disabled: truth,
  disabled_reason: maybeText,
  disabled_by: { ...maybeText, description: 'The key above with which it was disabled' },
  deleted: truth,
  created_at: text,
}

export const keySchemas = {
  Usage: object({
    data: object({
      from: text,
      to: text,
      group_by: listOf(text),
      own: truth,
      total: { type: 'object' },
      rows: listOf({
        type: 'object',
        description: 'By key also `label`, `parent` and whether it is `deleted`',
      }),
      has_more: { ...truth, description: 'Whether there are rows beyond 10,000; the total counts them' },
    }),
  }),
  Limits: object({
    ...limits,
    disabled: { type: ['boolean', 'null'] },
    with_children: { ...truth, description: 'With `disabled`: also for all keys below' },
    can_manage: canManage,
  }),
  NewKey: object({ label: text, ...limits, can_manage: canManage, sub_wallet: text }, ['label']),
  NewKeyAnswer: object({
    data: object({ ...shownKey, key: { ...text, description: 'The key; shown only now' } }),
  }),
  KeyAnswer: object({ data: object(shownKey) }),
  KeyList: object({ object: text, data: listOf(object(shownKey)), has_more: truth }),
  KeyDeleted: object({ id: text, deleted: { const: true }, with_children: truth }),
  KeyUsage: object({
    data: object({
      spent_usd: number,
      spent_this_month_usd: number,
      held_usd: number,
      ...shownKey,
      remaining_usd: { ...number, description: 'The least that any limit leaves, charges and holds counted' },
      limited_by: {
        ...object({
          limit: { ...text, description: 'The limit that leaves the least, named as in a 402' },
          of: { enum: ['key', 'parent', 'account'] },
        }),
        type: ['object', 'null'],
      },
      requests: number,
    }),
  }),
}
