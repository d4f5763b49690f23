/** Acts on budgets of tags: what calls for a team, a feature or an end user may cost, in all and in a period. */
import { z } from 'zod'
import { amount, namedObject, text, whole } from '../core/body.ts'
import { greatest, least, type Nano } from '../core/money.ts'
import { invalid, must, refuse } from '../core/refusal.ts'
import { newIdOf } from '../core/time.ts'
import type { ShownTagBudget } from '../store/accounts/tag-budget-port.ts'
import { capList } from '../tenancy/limits.ts'
import { isTagName, isTagValue, TAG_FORM } from '../tenancy/tags.ts'
import { type Acting, act } from './act.ts'
import { payer, walletIn } from './org-of.ts'
import { count } from './read.ts'
import { spentShapes, spentShown, usd } from './shown-key.ts'

const VALUES_MOST = 100_000
const LIST_USUAL = 100
const LIST_MOST = 1_000

const tag = text(1, 64, `must be the name of a tag: ${TAG_FORM}`).refine(
  isTagName,
  `must be the name of a tag: ${TAG_FORM}`,
)
const value = text(0, 256, `must be the value of a tag: ${TAG_FORM}`)
  .refine((one) => one === '' || isTagValue(one), `must be the value of a tag: ${TAG_FORM}`)
  .optional()
  .describe(
    'If absent or empty, the default: each value without a budget gets one like it when a call first names it',
  )
const which = { ...payer, tag, value }
const caps = Object.fromEntries(
  capList.map(({ member, cap }) => [
    member,
    amount('must be a number of USD from 0 to 1000000000, or null for no cap')
      .nullable()
      .optional()
      .describe(`As ${cap.called} of a key`),
  ]),
)
const capsShown = Object.fromEntries(capList.map(({ member }) => [member, usd.nullable()]))

const budgetShown = namedObject('Budget', {
  id: z.string(),
  tag: z.string(),
  value: z.string().nullable().describe('null for the default of its tag'),
  ...capsShown,
  ...spentShapes,
  held_usd: usd.describe('By open calls'),
  remaining_usd: usd.nullable().describe('The least that its caps leave now'),
  from_default: z.boolean().describe('It was made from the default, and changes with it'),
  values_max: z.int().nullable().describe('Of a default: for how many values it makes budgets'),
  values: z.int().nullable().describe('Of a default: for how many it has made one'),
  beyond: z
    .enum(['refuse', 'other'])
    .nullable()
    .describe('Of a default: what becomes of calls for more values'),
})

const shown = (budget: ShownTagBudget): z.output<typeof budgetShown> => {
  const { id, tag: name, value: its, caps: own, spent, held, made, valuesMax, valuesMade, beyond } = budget
  const left = capList.flatMap(({ name: cap, cap: { spent: of } }) => {
    const most = own[cap]
    return most === undefined ? [] : [greatest(most - spent[of] - held, 0n)]
  })
  return {
    id,
    tag: name,
    value: its === '' ? null : its,
    ...Object.fromEntries(capList.map(({ name: cap, member }) => [member, own[cap] ?? null])),
    ...spentShown(spent),
    held_usd: held,
    remaining_usd: left.length === 0 || its === '' ? null : left.reduce(least),
    from_default: made,
    values_max: valuesMax ?? null,
    values: valuesMax === undefined ? null : valuesMade,
    beyond: beyond ?? null,
  }
}

const noSuch = () =>
  refuse('not_found', 'There is no such budget; GET /v1/budgets lists those that there are.')

/** Budgets are of all keys of a wallet, so a key below another one has none. */
const walletOfBudgets = (acting: Acting, named: Parameters<typeof walletIn>[1]): Promise<string> => {
  const { reach } = acting.who
  if (reach.of === 'key' && reach.key.ancestors.length > 0)
    throw refuse(
      'forbidden',
      'Budgets are set by the account, whose keys they bind; this key is below another one.',
    )
  return walletIn(acting, named)
}

const found = async ({ control }: Acting, walletId: string, name: string, its = '') =>
  shown(must((await control.store.tagBudgets.tagBudget({ walletId, tag: name, value: its })) ?? noSuch()))

export const budgetList = act({
  name: 'budget.list',
  summary: 'The budgets of tags and end users (the tag `user`), by tag and value, with what was spent.',
  reads: ['wallet_read'],
  input: {
    ...payer,
    tag: tag.optional(),
    after: z.string().optional().describe('Those after the budget with this id'),
    limit: count(1, LIST_MOST).describe(`${LIST_USUAL} if absent`),
  },
  shows: namedObject('BudgetList', {
    object: z.literal('list'),
    data: z.array(budgetShown),
    has_more: z.boolean(),
  }),
  does: async (acting, { tag: name, after, limit = LIST_USUAL, ...named }) => {
    const walletId = await walletOfBudgets(acting, named)
    const lines = await acting.control.store.tagBudgets.tagBudgets(walletId, {
      tag: name,
      after,
      most: limit + 1,
    })
    return {
      object: 'list' as const,
      data: lines.slice(0, limit).map(shown),
      has_more: lines.length > limit,
    }
  },
})

export const budgetGet = act({
  name: 'budget.get',
  summary: 'One budget, with what was spent.',
  reads: ['wallet_read'],
  input: which,
  shows: budgetShown,
  does: async (acting, { tag: name, value: its, ...named }) =>
    found(acting, await walletOfBudgets(acting, named), name, its),
})

export const budgetPut = act({
  name: 'budget.put',
  summary:
    "Sets all of the budget of a tag's value, or the default for values without one; answers once it applies on every process. What was spent goes on to count.",
  changes: ['rules'],
  input: {
    ...which,
    ...caps,
    values_max: whole(1, VALUES_MOST, `must be a whole number from 1 to ${VALUES_MOST}`)
      .optional()
      .describe(`Of a default: for how many values it makes budgets; ${VALUES_MOST} if absent`),
    beyond: z
      .enum(['refuse', 'other'], 'must be refuse or other')
      .optional()
      .describe(
        'Of a default: calls for more values are refused, as if absent, or count together as the value `other`',
      ),
  },
  strangers: `is not of a budget; those are value, ${capList.map(({ member }) => member).join(', ')}, values_max, beyond`,
  shows: budgetShown,
  does: async (
    acting,
    { tag: name, value: its = '', values_max: most, beyond, organisation, wallet, ...rest },
  ) => {
    const { control, who } = acting
    const walletId = await walletOfBudgets(acting, { organisation, wallet })
    if (its !== '' && (most ?? beyond) !== undefined)
      throw invalid(
        most === undefined ? 'beyond' : 'values_max',
        "'values_max' and 'beyond' are of a default: leave 'value' out.",
      )
    const own = capList.flatMap(({ name: cap, member }) => {
      const cap_usd = (rest as Readonly<Record<string, Nano | null | undefined>>)[member]
      return cap_usd == null ? [] : [[cap, cap_usd] as const]
    })
    if (own.length === 0)
      throw invalid(
        'monthly_cap_usd',
        `A budget has a cap: ${capList.map(({ member }) => `'${member}'`).join(', ')}, one of them at least.`,
      )
    const set = await control.store.tagBudgets.putTagBudget(
      {
        id: newIdOf('bud'),
        walletId,
        tag: name,
        value: its,
        caps: Object.fromEntries(own),
        ...(its === '' ? { valuesMax: most ?? VALUES_MOST, beyond: beyond ?? ('refuse' as const) } : {}),
      },
      who.actor,
    )
    if (set === 'too_many')
      throw refuse(
        'forbidden',
        'The wallet has as many budgets, or budgets on as many tags, as it may have; take one away first.',
      )
    await control.book.untilKnown(set.at)
    return found(acting, walletId, name, its)
  },
})

export const budgetDelete = act({
  name: 'budget.delete',
  summary:
    'Takes a budget away: its value then has the default of its tag, if there is one. With a default go the budgets that it made.',
  changes: ['rules'],
  input: which,
  shows: namedObject('BudgetDeleted', {
    tag: z.string(),
    value: z.string().nullable(),
    deleted: z.literal(true),
  }),
  does: async (acting, { tag: name, value: its = '', ...named }) => {
    const { control, who } = acting
    const walletId = await walletOfBudgets(acting, named)
    const removed = must(
      (await control.store.tagBudgets.removeTagBudget({ walletId, tag: name, value: its }, who.actor)) ??
        noSuch(),
    )
    await control.book.untilKnown(removed.at)
    return { tag: name, value: its === '' ? null : its, deleted: true as const }
  },
})
